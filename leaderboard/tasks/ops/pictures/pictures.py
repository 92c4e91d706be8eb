"""The logo and the picture of a task: set, described, removed, read."""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.checksums import belonging_to, damaged
from leaderboard.core import policy
from leaderboard.core.actions import Action, File, Given
from leaderboard.core.picture_kinds import KINDS, PictureKind
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Task, TaskPicture
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.scoring.ops import setting_values
from leaderboard.tasks.ops.pictures.prepare import PreparedPicture, prepare

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
class PictureChange:
    """A change to a picture."""

    reason: Annotated[str, Field(title="Reason (shown to participants)", help="Why it was changed.")] = ""
    seen: Annotated[str | None, Field(title="Picture seen", is_carried=True)] = None
    """The stamp of the picture shown in the form, None if none was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureText(PictureChange):
    """The text of a picture, and the reason for a change."""

    alt: Annotated[str, Field(title="Alternative text, for screen readers", help="What it shows.")]


def kind_named(name: str) -> PictureKind:
    """The kind of that name; raises NotFound."""
    if name not in KINDS:
        raise NotFound(f"A task has a {' and a '.join(KINDS)}, and no {name[:40]!r}.")
    return KINDS[name]


def heads(session: Session, task_id: int) -> dict[str, PictureHead]:
    """Kind -> what is there of it."""
    rows = session.scalars(select(TaskPicture).where(TaskPicture.task_id == task_id))
    return {row.kind: _head(row) for row in rows}


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


def put(
    session: Session, viewer: Viewer, slug: str, kind: str, given: PreparedPicture | None, text: PictureText
) -> PictureHead:
    """Give the task a logo or a picture, or, without new bytes, the one it has another text.

    Raises Invalid without a text and without a picture to describe, Conflict where another one is there than
    was seen, and as `policy.own_task` does.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    row = _row(session, task, kind_named(kind))
    before = _head(row) if row else None
    _refuse_unseen(session, viewer, task, kind, before, text)
    alt, at = _checked(kind, text, has_file=given is not None or row is not None), now(session)
    if row is None:
        row = TaskPicture(task_id=task.id, kind=kind)
    row.alt, row.created_at = alt, at
    if given is not None:
        row.body, row.width, row.height = given.body, given.width, given.height
        row.sha256 = hashlib.sha256(given.body).hexdigest()
    session.add(row)
    session.flush()
    after = _head(row)
    _note(session, viewer, task, kind, before, after, text)
    return after


def remove(session: Session, viewer: Viewer, slug: str, kind: str, asked: PictureChange) -> str:
    """Remove the logo or picture of a task; its kind. Raises NotFound if absent, and as `put` does."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    row = _row(session, task, kind_named(kind))
    if row is None:
        raise NotFound(f"{task.name} has no {kind}.")
    before = _head(row)
    _refuse_unseen(session, viewer, task, kind, before, asked)
    session.delete(row)
    _note(session, viewer, task, kind, before, None, asked)
    return kind


def _row(session: Session, task: Task, kind: PictureKind) -> TaskPicture | None:
    return session.scalar(
        select(TaskPicture).where(TaskPicture.task_id == task.id, TaskPicture.kind == kind.name)
    )


def _head(row: TaskPicture) -> PictureHead:
    return PictureHead(row.kind, row.alt, row.width, row.height, row.sha256)


def _refuse_unseen(
    session: Session, viewer: Viewer, task: Task, kind: str, before: PictureHead | None, asked: PictureChange
) -> None:
    if asked.seen is not None and asked.seen != stamp(before):
        who = setting_values.who_changed(session, viewer, task, {kind}, kind)
        raise Conflict(f"{who} {setting_values.SAVE_AGAIN}", changed=[kind])


def _checked(kind: str, asked: PictureText, *, has_file: bool) -> str:
    """The text, in a line; raises Invalid."""
    alt = " ".join(asked.alt.split())
    problems = []
    if not has_file:
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
    kind: str,
    before: PictureHead | None,
    after: PictureHead | None,
    asked: PictureChange,
) -> None:
    reason = " ".join(asked.reason.split())
    setting_values.note_change(session, viewer, task, kind, _words(before), _words(after), reason)


def _words(head: PictureHead | None) -> str:
    """A picture in the list of changes: its text, and digits that another one does not have."""
    return "" if head is None else f"{head.alt} ({head.width} × {head.height} pixels, {head.sha256[:8]})"


def _own(session: Session, viewer: Viewer, slug: str, kind: str) -> None:
    policy.own_task(session, viewer, slug)
    kind_named(kind)


def _prepare(given: Given, _: PictureText) -> PreparedPicture | None:
    file = given.files.get("file")
    return prepare(file.path, kind_named(given.at[1])) if file else None


_AT: Any = {"path": "/tasks/<slug>/pictures/<kind>", "page": "settings.show", "may": _own}
PUT = Action(
    name="put_picture",
    summary="Set the logo or picture of a task",
    more="The body is the file: PNG, JPEG, WebP or the first frame of a GIF, of at most 5 MB. It is scaled "
    "and re-encoded on a white background. kind: logo or picture.",
    method="PUT",
    form="/tasks/<slug>/settings/pictures/<kind>",
    record=PictureText,
    file=File(field="file", body="PICTURE", prepare=_prepare),
    act=put,
    **_AT,
)
REMOVE = Action(
    name="remove_picture",
    summary="Remove the logo or picture of a task",
    method="DELETE",
    form="/tasks/<slug>/settings/pictures/<kind>/remove",
    record=PictureChange,
    act=remove,
    done=lambda _, kind: f"{kind} removed",
    **_AT,
)
