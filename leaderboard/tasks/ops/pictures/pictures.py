"""The logo and the picture of a task: set, described, removed, read."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.checksums import belonging_to, damaged
from leaderboard.core import policy
from leaderboard.core.picture_kinds import KINDS, PictureKind
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Task, TaskPicture
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.scoring.ops import setting_values
from leaderboard.tasks.ops.pictures.prepare import PreparedPicture

ADDRESS = 16
"""Number of digest digits in a picture's address."""
ALT_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class PictureHead:
    """The data of a picture on a page."""

    kind: str
    alt: str
    width: int
    height: int
    sha256: str

    @property
    def address(self) -> str:
        """Its name in addresses: another picture has another one."""
        return self.sha256[:ADDRESS]


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture's bytes and type; is_public: whether everybody may know of its task."""

    body: bytes
    mimetype: str
    is_public: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureRequest:
    """A request to set a picture: new bytes, or None to change only the text.

    seen: the stamp of the picture shown in the form, None if none was shown.
    """

    kind: PictureKind
    alt: str
    picture: PreparedPicture | None = None
    reason: str = ""
    seen: str | None = None


def kind_named(name: str) -> PictureKind:
    """The kind of that name; raises NotFound."""
    if name not in KINDS:
        raise NotFound(f"A task has a {' and a '.join(KINDS)}, and no {name[:40]!r}.")
    return KINDS[name]


def heads(session: Session, task_id: int) -> dict[str, PictureHead]:
    """Kind -> what is there of it."""
    found = session.scalars(select(TaskPicture).where(TaskPicture.task_id == task_id))
    return {row.kind: _head(row) for row in found}


def read(session: Session, viewer: Viewer, slug: str, address: str) -> PictureFile:
    """The picture of a task by the beginning of its digest.

    Raises NotFound if it no longer exists, and as `policy.visible_task` does; Damaged.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    rows = session.scalars(
        select(TaskPicture).where(TaskPicture.task_id == task.id).options(undefer(TaskPicture.body))
    )
    row = next((row for row in rows if row.sha256[:ADDRESS] == address), None)
    if row is None:
        raise NotFound(f"{task.name} has no such picture.")
    with belonging_to(f"task {task.id}"):
        body = whole_body(row.sha256, row.body)
    return PictureFile(body, KINDS[row.kind].mimetype, task.published_at is not None)


def whole_body(sha256: str, body: bytes) -> bytes:
    """The stored bytes; raises Damaged where they do not have the digest."""
    if hashlib.sha256(body).hexdigest() != sha256:
        raise damaged("bytes of a picture", "their digest does not match")
    return body


def stamp(head: PictureHead | None) -> str:
    """The stamp of the picture in a form, to detect later changes."""
    return setting_values.stamp(_words(head))


def put(session: Session, viewer: Viewer, slug: str, wanted: PictureRequest) -> PictureHead:
    """Give the task a logo or a picture, or the one it has another text.

    Raises Invalid without a text and without a picture to describe, Conflict where another one is there than
    was seen, and as `policy.own_task` does.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    row = _row(session, task, wanted.kind)
    before = _head(row) if row else None
    _refuse_unseen(session, viewer, task, wanted, before)
    alt, at = _checked(wanted, before), now(session)
    if row is None:
        row = TaskPicture(task_id=task.id, kind=wanted.kind.name)
    row.alt, row.created_at = alt, at
    if (given := wanted.picture) is not None:
        row.body, row.width, row.height = given.body, given.width, given.height
        row.sha256 = hashlib.sha256(given.body).hexdigest()
    session.add(row)
    session.flush()
    after = _head(row)
    _note(session, viewer, task, wanted, before, after)
    return after


def remove(session: Session, viewer: Viewer, slug: str, wanted: PictureRequest) -> None:
    """Remove the logo or picture of a task; raises NotFound if absent, and as `put` does."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    row = _row(session, task, wanted.kind)
    if row is None:
        raise NotFound(f"{task.name} has no {wanted.kind.name}.")
    before = _head(row)
    _refuse_unseen(session, viewer, task, wanted, before)
    session.delete(row)
    _note(session, viewer, task, wanted, before, None)


def _row(session: Session, task: Task, kind: PictureKind) -> TaskPicture | None:
    return session.scalar(
        select(TaskPicture).where(TaskPicture.task_id == task.id, TaskPicture.kind == kind.name)
    )


def _head(row: TaskPicture) -> PictureHead:
    return PictureHead(row.kind, row.alt, row.width, row.height, row.sha256)


def _refuse_unseen(
    session: Session, viewer: Viewer, task: Task, wanted: PictureRequest, before: PictureHead | None
) -> None:
    if wanted.seen is not None and wanted.seen != stamp(before):
        name = wanted.kind.name
        who = setting_values.who_changed(session, viewer, task, {name}, name)
        raise Conflict(f"{who} {setting_values.SAVE_AGAIN}", changed=[name])


def _checked(wanted: PictureRequest, before: PictureHead | None) -> str:
    """The text, in a line; raises Invalid."""
    alt, kind = " ".join(wanted.alt.split()), wanted.kind.name
    problems = []
    if wanted.picture is None and before is None:
        problems.append(Problem("needs a file.", "Choose a PNG, JPEG, WebP or GIF file.", field=kind))
    if not 1 <= len(alt) <= ALT_CHARACTERS:
        rule = f"must have 1 to {ALT_CHARACTERS} characters."
        remedy = "Describe what the picture shows, for screen readers."
        problems.append(Problem(rule, remedy, field="alt", value=alt[:40]))
    if problems:
        raise Invalid(f"The {kind} was not saved.", problems)
    return alt


def _note(
    session: Session,
    viewer: Viewer,
    task: Task,
    wanted: PictureRequest,
    before: PictureHead | None,
    after: PictureHead | None,
) -> None:
    name, reason = wanted.kind.name, " ".join(wanted.reason.split())
    setting_values.note_change(session, viewer, task, name, _words(before), _words(after), reason)


def _words(head: PictureHead | None) -> str:
    """A picture in the list of changes: its text, and digits that another one does not have."""
    return "" if head is None else f"{head.alt} ({head.width} × {head.height} pixels, {head.sha256[:8]})"
