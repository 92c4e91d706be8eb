"""New revisions of judgments: numbered, immutable, each followed by the scoring of every run under it.

A task's board rests on one line of judgments. Subtopics and preferences stand beside it in lines of their
own; a revision of these makes a new revision of the board's line too, so that one number says all that
scores rest on. Judgments of a machine may have a line of their own that no board rests on.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, lock_row
from leaderboard.db.tables import Qrels, QrelsRevision, Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.services import audit, policy
from leaderboard.services.evaluations import editions
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import left_out, lines
from leaderboard.services.qrels.files import (
    KINDS,
    Change,
    Judged,
    PreparedQrels,
    compare,
    newest,
    of_grades,
    of_preferences,
)
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.qrels.left_out import LeftOutList
from leaderboard.services.qrels.lines import Origin
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut
from leaderboard.trec.qrels.packed_judgments import unpack_judgments
from leaderboard.trec.qrels.preferences import Pair, PreferenceJudgments


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
