"""New revisions of judgments: kept as drafts, then published.

A task's board rests on one line of judgments. Subtopics and preferences stand beside it in lines of their
own; a revision of these makes a new revision of the board's line too, so that one number says all that
scores rest on. Judgments of a machine may have a line of their own that no board rests on.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import Qrels, QrelsRevision, Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.services import audit, policy
from leaderboard.services.actions import Action
from leaderboard.services.evaluations import editions
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files as qrels_files
from leaderboard.services.qrels import left_out, lines
from leaderboard.services.qrels.files import (
    KINDS,
    MAIN,
    Change,
    Judged,
    PreparedQrels,
    as_task,
    compare,
    newest,
    of_grades,
    of_preferences,
)
from leaderboard.services.qrels.left_out import LeftOutList, RevisionLeftOut, of_revision
from leaderboard.services.qrels.lines import DRAFT, Origin
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut, with_queries
from leaderboard.trec.qrels.packed_judgments import unpack_judgments
from leaderboard.trec.qrels.preferences import Pair, PreferenceJudgments
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewRevision:
    """A revision to be: judgments, what is new in them, who judged, and the line they go to.

    distractors and left_out None are those of the revision before. A line of another name than the board's
    has no scores; base is the number of the board's revision that this one was made from, where that must
    still be the newest.
    """

    prepared: PreparedQrels
    note: str
    by: Origin = Origin()
    distractors: Collection[bytes] | None = None
    left_out: LeftOut | None = None
    line: str = MAIN
    base: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A stored revision; jobs is how many runs are being scored under it."""

    id: int
    number: int
    judgments: int
    topics: int
    change: Change
    jobs: int
    warnings: tuple[Problem, ...]
    line: str


def revise(session: Session, viewer: Viewer, slug: str, new: NewRevision) -> Revision:
    """Add a revision to the task's judgments and queue the scoring of every run under it.

    The board keeps showing the revision before until all runs are scored. Raises Conflict where its base is
    no longer the newest, where nothing is new, or where origin or kind differs from that of the line: human
    and machine judgments are not mixed. Raises Invalid for a distractor, or a document left out, that is
    relevant.
    """
    task = policy.own_task(session, viewer, slug)
    # Two revisions at once would have the same number and parent. The task's row is held by `_rescore` only,
    # after the judgments, which may be many: a submission refers to that row and would wait for it.
    lock_key(session, f"revision of task {task.id}")
    board = newest(session, task.id)
    _require_base(board, new.base)
    if new.line == MAIN and is_companion(session, task.id, new.prepared.kind):
        revision, change = _add_beside(session, viewer, task, new, board)
    else:
        revision, change = _add_line(session, viewer, task, new)
    queued = _rescore(session, task, revision) if new.line == MAIN else 0
    prepared = new.prepared
    facts = {"number": revision.number, "sha256": prepared.sha256, "kind": prepared.kind, "line": new.line}
    audit.record(session, viewer, "qrels.revise", f"task:{task.id}", **facts)
    return Revision(
        id=revision.id,
        number=revision.number,
        judgments=prepared.size,
        topics=len(prepared.topics),
        change=change,
        jobs=queued,
        warnings=prepared.warnings,
        line=new.line,
    )


def settled(
    session: Session, task_id: int, judgments: Judged, *, mode: str = "replace", line: str = MAIN
) -> PreparedQrels:
    """Judgments (topic -> docno -> grade) as a revision would hold them, merged with the newest or alone.

    Raises Invalid for another mode and where there is no judgment.
    """
    if mode not in ("replace", "merge"):
        raise Invalid(f"Judgments replace the newest revision or are merged with it, not {mode!r}.")
    before = newest(session, task_id, line) if mode == "merge" else None
    whole = unpack_judgments(before.packed) if before is not None else {}
    for topic, grades in judgments.items():
        whole.setdefault(topic, {}).update(grades)
    made = of_grades(whole, "assessments")
    if not made.rows:
        raise Invalid("There is no judgment to publish.")
    return made


def publish_preferences(
    session: Session,
    viewer: Viewer,
    slug: str,
    pairs: Mapping[str, Mapping[Pair, float]],
    note: str,
    *,
    origin: str | None = None,
) -> Revision:
    """Make a revision of preferences (topic -> (better, worse) -> weight above 0); see `revise`."""
    if not any(pairs.values()):
        raise Invalid("There is no preference to publish.")
    given = PreferenceJudgments({topic: {"": dict(weights)} for topic, weights in pairs.items() if weights})
    prepared = of_preferences(given, "preferences")
    new = NewRevision(prepared=prepared, note=note, by=Origin(origin))
    return revise(session, viewer, slug, new)


def unchanged(session: Session, task_id: int) -> PreparedQrels:
    """The board's newest judgments; raises Conflict where there are none."""
    board = newest(session, task_id)
    if board is None:
        raise Conflict("The task has no judgments yet; add these first, or together with the distractors.")
    return lines.stored(session, board)


def is_companion(session: Session, task_id: int, kind: str) -> bool:
    """Whether judgments of a kind stand beside those of the board instead of taking their place."""
    if kind == "preference":
        return True
    board = lines.find(session, task_id, MAIN)
    return kind == "subtopic" and board is not None and board.kind == "graded"


def target_of(session: Session, task_id: int, kind: str, line: str) -> str:
    """The name of the line that judgments of a kind go to when they are added to a line."""
    return kind if line == MAIN and is_companion(session, task_id, kind) else line


def require_left_out(
    session: Session, task: Task, given: LeftOutList, prepared: PreparedQrels, line: str
) -> None:
    """Raise Invalid where what is left out does not fit judgments that go to a line of the task."""
    if given.listed is NOTHING:
        return
    if line != MAIN or prepared.kind not in ("graded", "subtopic"):
        raise Invalid("Documents are left out of the graded judgments that the board rests on, of no others.")
    topics = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)).all()
    beside = lines.find(session, task.id, "preference") is not None
    left_out.require_fitting(given, prepared.judgments, topics, has_preferences=beside)


def _require_base(board: QrelsRevision | None, base: int | None) -> None:
    number = board.number if board is not None else 0
    if base is not None and base != number:
        raise Conflict(f"Revision {number} came in the meantime; look at what changes against it.")


def _add_line(session: Session, viewer: Viewer, task: Task, new: NewRevision) -> tuple[QrelsRevision, Change]:
    """A revision of a line of grades, or of subtopics where the line has such."""
    prepared, line = new.prepared, new.line
    qrels = lines.fitting(session, task, prepared.kind, new.by, line)
    qrels = qrels or lines.new(session, task, prepared.kind, new.by, line)
    parent = newest(session, task.id, line)
    before = lines.stored(session, parent).facts if parent is not None else {}
    old = lines.distractors_of(parent)
    others = old if new.distractors is None else frozenset(new.distractors)
    leaves = left_out.of_revision(parent) if new.left_out is None else new.left_out
    same = others == old and left_out.are_same(leaves, left_out.of_revision(parent))
    if parent is not None and before == prepared.facts and same:
        raise Conflict(f"These judgments are revision {parent.number} already; nothing was added.")
    lines.require_irrelevant(prepared.judgments, others)
    require_left_out(session, task, LeftOutList(leaves), prepared, line)
    revision = lines.add(session, viewer, qrels, parent, prepared, new.note, others, leaves=leaves)
    return revision, compare(before, prepared.facts)


def _add_beside(
    session: Session, viewer: Viewer, task: Task, new: NewRevision, board: QrelsRevision | None
) -> tuple[QrelsRevision, Change]:
    """A revision of subtopics or preferences, and one of the board's judgments that stands for both."""
    prepared, name = new.prepared, new.prepared.kind
    if board is None:
        raise Conflict(
            f"The task has no graded judgments yet; add these first: {KINDS[name]} stand beside them."
        )
    qrels = lines.fitting(session, task, name, new.by, name)
    qrels = qrels or lines.new(session, task, name, new.by, name)
    parent = newest(session, task.id, name)
    before = lines.stored(session, parent).facts if parent is not None else {}
    if before == prepared.facts:
        raise Conflict(f"These {KINDS[name]} are there already; nothing was added.")
    leaves = left_out.of_revision(board)
    if name == "preference":
        left_out.require_fitting(LeftOutList(leaves), {}, leaves.by_topic, has_preferences=True)
    lines.add(session, viewer, qrels, parent, prepared, new.note)
    # Whether the second column holds subtopics is answered by those that stand beside it now.
    same = replace(lines.stored(session, board), warnings=())
    others = lines.distractors_of(board)
    line = session.get_one(Qrels, board.qrels_id)
    revision = lines.add(session, viewer, line, board, same, new.note, others, leaves=leaves)
    return revision, compare(before, prepared.facts)


def _rescore(session: Session, task: Task, revision: QrelsRevision) -> int:
    """Build an edition under the revision where the task is published; how many runs are queued."""
    # From here to the commit no run comes in, and none misses the new edition; nor is the task published.
    lock_row(session, Task, task.id)
    if task.published_at is None:
        return 0
    editions.build(session, task, revision)
    runs = select(func.count()).where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
    return session.scalar(runs) or 0


def judged_rounds(
    session: Session, task_id: int, prepared: PreparedQrels | None, wish: RevisionLeftOut | None
) -> tuple[PreparedQrels, LeftOutList | None]:
    """The judgments, None for the board's newest ones, and what they leave out: None where nothing is asked.

    Of a residual round they are those sent, else those of the later revision that none of the earlier ones
    judges. Raises Invalid for a revision that the task does not have, or whose judgments are not graded, and
    for one that is both earlier and later.
    """
    made, given = _judged(session, task_id, prepared, wish)
    if wish is not None and wish.query:
        given = given or LeftOutList()
        given = replace(given, listed=with_queries(given.listed, made.topics))
    return made, given


def _judged(
    session: Session, task_id: int, prepared: PreparedQrels | None, wish: RevisionLeftOut | None
) -> tuple[PreparedQrels, LeftOutList | None]:
    if wish is None or not wish.earlier:
        return prepared or unchanged(session, task_id), None if wish is None else wish.given
    if wish.given.path is not None:
        raise Invalid("Documents left out are those of a file, or those of earlier revisions, not both.")
    revisions = _graded(session, task_id, wish)
    renamed = wish.given.renamed
    earlier = {number: revisions[number].judgments for number in wish.earlier}
    if prepared is not None:
        return prepared, LeftOutList(left_out.judged_before(earlier, renamed), None, renamed)
    later = max(revisions) if wish.later is None else wish.later
    if later in earlier:
        raise Invalid(
            f"Revision {later} is to be left out, and its judgments are to stay.",
            [Problem("is an earlier round already.", "Send judgments, or choose another.", field="later")],
        )
    new, gone = left_out.residual(revisions[later].judgments, earlier, renamed)
    named = replace(new, file_name=revisions[later].file_name)
    return named, LeftOutList(gone, None, renamed)


def wished(
    path: Path | None,
    changed: Path | None = None,
    *,
    earlier: Sequence[int] = (),
    later: int | None = None,
    drop: bool = False,
    query: bool = False,
) -> RevisionLeftOut | None:
    """What is asked for of documents left out: a list, a residual round, nothing (drop); None: as before.

    changed: a file of docnos that changed; query: the document whose docno is the topic's id too. Raises
    Invalid with the lines at fault, and for what contradicts.
    """
    if drop and (path is not None or earlier or query):
        raise Invalid("Documents are to be left out, and none are to be left out: choose one of these.")
    if later is not None and not earlier:
        raise Invalid("New judgments of a later revision need earlier ones that they are new against.")
    if changed is not None and path is None and not earlier:
        raise Invalid("Changed docnos are those of documents left out; name a list of them too.")
    if path is None and not earlier and not drop and not query:
        return None
    return RevisionLeftOut(left_out.listed(path, changed), tuple(earlier), later, query)


def numbers(text: str) -> tuple[int, ...]:
    """Numbers of revisions from a text, such as `1, 2`; raises Invalid for anything else.

    >>> numbers("2 1,2"), numbers("")
    ((1, 2), ())
    """
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and len(word) < MOST_DIGITS for word in words):
        problem = Problem(
            "lists the numbers of earlier revisions.", "Write them as 1, 2.", field="earlier", value=text[:40]
        )
        raise Invalid("Earlier revisions are given by their numbers, such as 1, 2.", [problem])
    return tuple(sorted({int(word) for word in words}))


MOST_DIGITS = 10


def _graded(session: Session, task_id: int, wish: RevisionLeftOut) -> dict[int, PreparedQrels]:
    """Number -> what is judged, of the revisions that are asked for, and of the newest."""
    rows: Sequence[QrelsRevision] = session.scalars(
        select(QrelsRevision)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN, Qrels.kind == "graded")
        .order_by(QrelsRevision.number)
        .options(*qrels_files.WHOLE)
    ).all()
    known = {row.number: row for row in rows}
    asked = [*wish.earlier, *([] if wish.later is None else [wish.later])]
    if missing := [number for number in asked if number not in known]:
        has = ", ".join(map(str, known)) or "none"
        problem = Problem(
            "The task has no such revision of graded judgments.",
            f"It has {has}.",
            field="earlier",
            value=str(missing[0]),
        )
        raise Invalid(f"There is no revision {missing[0]} of graded judgments; there is {has}.", [problem])
    return {number: lines.stored(session, known[number]) for number in {*asked, max(known)}}


KEPT = timedelta(days=1)
TOKEN_BYTES = 16
NOTE_CHARACTERS = 300


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """What would be published: judgments, their line, who judged, distractors, what is left out."""

    token: str
    line: str
    by: Origin
    prepared: PreparedQrels
    distractors: frozenset[bytes]
    left_out: LeftOut
    note: str
    revision_id: int
    """Of the draft itself: its packed judgments are stored like those of any revision."""


def keep_draft(
    session: Session,
    viewer: Viewer,
    slug: str,
    prepared: PreparedQrels | None,
    note: str,
    *,
    origin: str | None = None,
    origin_name: str = "",
    distractors: Collection[bytes] | None = None,
    left_out: RevisionLeftOut | None = None,
    line: str = MAIN,
) -> str:
    """Keep judgments to be looked at; the token that finds them again.

    prepared None are the board's newest ones, with other documents beside them; distractors and left_out
    None are those of the line's newest revision. Drafts older than a day are dropped. Raises as
    `revisions.revise` where it is clear by now that they cannot be published, and Invalid without a note.
    """
    task = policy.own_task(session, viewer, slug)
    if not 0 < len(note.strip()) <= NOTE_CHARACTERS:
        problem = Problem("says what is new in this revision.", "Write a sentence.", field="note")
        raise Invalid(
            f"A revision needs a note of at most {NOTE_CHARACTERS} characters: the board's history shows it.",
            [problem],
        )
    if prepared is not None and prepared.kind in ("graded", "subtopic", "preference"):
        topics = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id))
        prepared = as_task(prepared, topics.all())
    judged, given = judged_rounds(session, task.id, prepared, left_out)
    by = Origin(origin, origin_name)
    target = target_of(session, task.id, judged.kind, line)
    fitting = lines.fitting(session, task, judged.kind, by, target)
    before = newest(session, task.id, line)
    others = lines.distractors_of(before) if distractors is None else distractors
    lines.require_irrelevant(judged.judgments, others)
    given = given or LeftOutList(of_revision(before) if target == line else NOTHING)
    require_left_out(session, task, given, judged, target)
    _drop_old(session, task.id)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    known = Origin(fitting.origin, fitting.origin_name) if fitting is not None else by
    kept = lines.new(session, task, judged.kind, known, f"{DRAFT}{token} {line}")
    lines.add(session, viewer, kept, None, judged, note, others, leaves=given.listed, listed=False)
    return token


def find_draft(session: Session, viewer: Viewer, slug: str, token: str) -> Draft:
    """A kept draft; raises NotFound where there is none, or it is no longer kept."""
    task = policy.own_task(session, viewer, slug)
    row = session.execute(
        select(Qrels, QrelsRevision)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(
            Qrels.task_id == task.id,
            Qrels.name.startswith(f"{DRAFT}{token} ", autoescape=True),
            QrelsRevision.created_at > now(session) - KEPT,
        )
        .options(*qrels_files.WHOLE)
    ).one_or_none()
    if row is None:
        raise NotFound("These judgments are no longer kept: they are for a day. Send them again.")
    qrels, revision = row
    return Draft(
        token=token,
        line=qrels.name.split(" ", 2)[2],
        by=Origin(qrels.origin, qrels.origin_name),
        prepared=lines.stored(session, revision),
        distractors=lines.distractors_of(revision),
        left_out=of_revision(revision),
        note=revision.note,
        revision_id=revision.id,
    )


def publish(session: Session, viewer: Viewer, slug: str, token: str, *, base: int | None = None) -> Revision:
    """Make a revision of a draft, which is gone then; raises as `revisions.revise`."""
    draft = find_draft(session, viewer, slug, token)
    new = NewRevision(
        prepared=draft.prepared,
        note=draft.note,
        by=draft.by,
        distractors=draft.distractors,
        left_out=draft.left_out,
        line=draft.line,
        base=base,
    )
    made = revise(session, viewer, slug, new)
    _drop(session, draft)
    return made


def discard(session: Session, viewer: Viewer, slug: str, token: str) -> None:
    """Give a draft up."""
    _drop(session, find_draft(session, viewer, slug, token))


def _drop(session: Session, draft: Draft) -> None:
    line = select(QrelsRevision.qrels_id).where(QrelsRevision.id == draft.revision_id).scalar_subquery()
    session.execute(delete(Qrels).where(Qrels.id == line))


def _drop_old(session: Session, task_id: int) -> None:
    old = (
        select(Qrels.id)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(
            Qrels.task_id == task_id,
            Qrels.name.startswith(DRAFT, autoescape=True),
            QrelsRevision.created_at <= now(session) - KEPT,
        )
    )
    session.execute(delete(Qrels).where(Qrels.id.in_(old)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What was looked at before."""

    base: Annotated[
        int | None,
        Field(
            title="Revision before",
            help="The number of the revision that the changes were looked at against; null: the newest.",
            least=0,
        ),
    ] = None


ACTIONS = (
    Action(
        name="publish_revision",
        summary="Make a revision of a draft",
        more="Every run is scored under it, and the board changes when all are.",
        path="/tasks/<slug>/revisions/drafts/<token>/publish",
        form="/tasks/<slug>/revisions/drafts/<token>",
        record=Publication,
        act=lambda session, viewer, slug, token, asked: publish(
            session, viewer, slug, token, base=asked.base
        ),
        done=lambda _, made: f"revision {made.number}",
        status=201,
    ),
    Action(
        name="discard_revision",
        summary="Discard a draft of a revision",
        method="DELETE",
        path="/tasks/<slug>/revisions/drafts/<token>",
        form="/tasks/<slug>/revisions/drafts/<token>/discard",
        page="revisions.index",
        act=discard,
        done=lambda *_: "draft discarded",
    ),
)


PARTS = ("qrels", "distractors", "left_out", "changed_docnos")


@contextmanager
def parts_of(path: Path) -> Iterator[Mapping[str, Path]]:
    """Part -> file of a zip or tar, each named by its part, such as qrels.txt; gone afterwards.

    Raises Invalid for another kind of file, or a file in it that is named otherwise, TooLarge beyond limits.
    """
    names = ", ".join(PARTS)
    kind = kind_of(path, DEFAULT_LIMITS)
    if not kind:
        raise Invalid(f"Several parts come as a zip or tar of files named {names}.")
    files: dict[str, Path] = {}
    with TemporaryDirectory(prefix="judgments-") as folder:
        for member in unbundled(path, kind, Path(folder), DEFAULT_LIMITS, len(PARTS)):
            name = base_name(member.name)
            part = name.split(".")[0]
            if part not in PARTS or member.path is None or part in files:
                why = str(member.problem or f"Name each file by one of {names}, once.")
                raise Invalid(f"The archive holds {name}. {why}")
            files[part] = member.path
        yield files
