"""New revisions of judgments: kept as drafts, then published.

A task's board is based on one judgment series. Subtopics and preferences supplement it in separate series; a
revision of these also creates a new revision of the board's series, so that one number identifies all inputs
of the scores. Machine judgments may have a separate series without a board.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from leaderboard.core import audit, policy
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import Qrels, QrelsRevision, Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.qrels import files as qrels_files
from leaderboard.scoring.ops.qrels import left_out, lines
from leaderboard.scoring.ops.qrels.files import (
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
from leaderboard.scoring.ops.qrels.left_out import LeftOutList, RevisionLeftOut, of_revision
from leaderboard.scoring.ops.qrels.lines import DRAFT, Origin
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut, with_queries
from leaderboard.trec.qrels.packed import unpack_judgments
from leaderboard.trec.qrels.preferences import Pair, PreferenceJudgments


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewRevision:
    """A new revision: judgments, change note, origin, and judgment series.

    distractors and left_out: None keeps those of the previous revision. A separate series has no scores.
    base: number of the board's revision that this one is based on, if that must still be the newest.
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
    """A stored revision; jobs: number of runs being scored under it."""

    id: int
    number: int
    judgments: int
    topics: int
    change: Change
    jobs: int
    warnings: tuple[Problem, ...]
    line: str


def revise(session: Session, viewer: Viewer, slug: str, new: NewRevision) -> Revision:
    """Add a revision to the task's judgments and queue all runs for scoring.

    The board shows the previous revision until all runs are scored. Raises Conflict if its base is no longer
    the newest, if nothing changed, or if origin or kind differs from the series: human and machine judgments
    are not mixed. Raises Invalid for a relevant distractor or a relevant document left out.
    """
    task = policy.own_task(session, viewer, slug)
    # Concurrent revisions would have the same number and parent. Only `_rescore` locks the task's row, after
    # the judgments, which may be many: a submission refers to that row and would wait for it.
    lock_key(session, f"revision of task {task.id}")
    board = newest(session, task.id)
    _require_base(board, new.base)
    if new.line == MAIN and is_companion(session, task.id, new.prepared.kind):
        revision, change = _add_companion(session, viewer, task, new, board)
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
    """Judgments (topic -> docno -> grade) of a new revision, merged with the newest or alone.

    Raises Invalid for an unknown mode and without judgments.
    """
    if mode not in ("replace", "merge"):
        raise Invalid(
            f"Judgments can replace the newest revision or be merged with it; {mode!r} is not a valid mode."
        )
    before = newest(session, task_id, line) if mode == "merge" else None
    whole = unpack_judgments(before.packed) if before is not None else {}
    for topic, grades in judgments.items():
        whole.setdefault(topic, {}).update(grades)
    prepared = of_grades(whole, "assessments")
    if not prepared.rows:
        raise Invalid("There are no judgments to publish.")
    return prepared


def publish_preferences(
    session: Session,
    viewer: Viewer,
    slug: str,
    pairs: Mapping[str, Mapping[Pair, float]],
    note: str,
    *,
    origin: str | None = None,
) -> Revision:
    """Add a revision of preferences (topic -> (better, worse) -> weight above 0); see `revise`."""
    if not any(pairs.values()):
        raise Invalid("There are no preferences to publish.")
    given = PreferenceJudgments({topic: {"": dict(weights)} for topic, weights in pairs.items() if weights})
    prepared = of_preferences(given, "preferences")
    new = NewRevision(prepared=prepared, note=note, by=Origin(origin))
    return revise(session, viewer, slug, new)


def unchanged(session: Session, task_id: int) -> PreparedQrels:
    """The board's newest judgments; raises Conflict without any."""
    board = newest(session, task_id)
    if board is None:
        raise Conflict(
            "The task has no judgments yet; add judgments first, or together with the distractors."
        )
    return lines.stored(session, board)


def is_companion(session: Session, task_id: int, kind: str) -> bool:
    """Whether judgments of a kind supplement those of the board instead of replacing them."""
    if kind == "preference":
        return True
    board = lines.find(session, task_id, MAIN)
    return kind == "subtopic" and board is not None and board.kind == "graded"


def target_of(session: Session, task_id: int, kind: str, line: str) -> str:
    """The series that receives judgments of a kind added to a given series."""
    return kind if line == MAIN and is_companion(session, task_id, kind) else line


def require_left_out(
    session: Session, task: Task, given: LeftOutList, prepared: PreparedQrels, line: str
) -> None:
    """Raise Invalid if the documents left out do not fit the judgments and their series."""
    if given.listed is NOTHING:
        return
    if line != MAIN or prepared.kind not in ("graded", "subtopic"):
        raise Invalid("Documents can be left out only with the graded judgments that the board is based on.")
    topics = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)).all()
    has_preferences = lines.find(session, task.id, "preference") is not None
    left_out.require_fitting(given, prepared.judgments, topics, has_preferences=has_preferences)


def _require_base(board: QrelsRevision | None, base: int | None) -> None:
    number = board.number if board is not None else 0
    if base is not None and base != number:
        raise Conflict(f"Revision {number} was published in the meantime. Preview the changes against it.")


def _add_line(session: Session, viewer: Viewer, task: Task, new: NewRevision) -> tuple[QrelsRevision, Change]:
    """Add a revision of graded or subtopic judgments to a series."""
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
        raise Conflict(f"These judgments are identical to revision {parent.number}; nothing was added.")
    lines.require_irrelevant(prepared.judgments, others)
    require_left_out(session, task, LeftOutList(leaves), prepared, line)
    revision = lines.add(session, viewer, qrels, parent, prepared, new.note, others, leaves=leaves)
    return revision, compare(before, prepared.facts)


def _add_companion(
    session: Session, viewer: Viewer, task: Task, new: NewRevision, board: QrelsRevision | None
) -> tuple[QrelsRevision, Change]:
    """Add a revision of subtopics or preferences, and a combined revision of the board's judgments."""
    prepared, name = new.prepared, new.prepared.kind
    if board is None:
        raise Conflict(
            f"The task has no graded judgments yet; add them first, because {KINDS[name]} supplement them."
        )
    qrels = lines.fitting(session, task, name, new.by, name)
    qrels = qrels or lines.new(session, task, name, new.by, name)
    parent = newest(session, task.id, name)
    before = lines.stored(session, parent).facts if parent is not None else {}
    if before == prepared.facts:
        raise Conflict(f"These {KINDS[name]} already exist; nothing was added.")
    leaves = left_out.of_revision(board)
    if name == "preference":
        left_out.require_fitting(LeftOutList(leaves), {}, leaves.by_topic, has_preferences=True)
    lines.add(session, viewer, qrels, parent, prepared, new.note)
    # The companion subtopics now settle the meaning of the second column, so its warning is obsolete.
    same = replace(lines.stored(session, board), warnings=())
    others = lines.distractors_of(board)
    line = session.get_one(Qrels, board.qrels_id)
    revision = lines.add(session, viewer, line, board, same, new.note, others, leaves=leaves)
    return revision, compare(before, prepared.facts)


def _rescore(session: Session, task: Task, revision: QrelsRevision) -> int:
    """Build an edition under the revision if the task is published; returns the number of queued runs."""
    # Until the commit, no run can be added without the new edition, and the task cannot be published.
    lock_row(session, Task, task.id)
    if task.published_at is None:
        return 0
    editions.build(session, task, revision)
    runs = select(func.count()).where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
    return session.scalar(runs) or 0


def judged_rounds(
    session: Session, task_id: int, prepared: PreparedQrels | None, leaving_out: RevisionLeftOut | None
) -> tuple[PreparedQrels, LeftOutList | None]:
    """The judgments (None: the board's newest) and documents left out (None: no request).

    In a residual round, the judgments are the uploaded ones, or those of the later revision absent from the
    earlier ones. Raises Invalid for an unknown revision, for one without graded judgments, and for one that
    is both earlier and later.
    """
    judged, given = _judged(session, task_id, prepared, leaving_out)
    if leaving_out is not None and leaving_out.query:
        given = given or LeftOutList()
        given = replace(given, listed=with_queries(given.listed, judged.topics))
    return judged, given


def _judged(
    session: Session, task_id: int, prepared: PreparedQrels | None, leaving_out: RevisionLeftOut | None
) -> tuple[PreparedQrels, LeftOutList | None]:
    if leaving_out is None or not leaving_out.earlier:
        return prepared or unchanged(session, task_id), None if leaving_out is None else leaving_out.given
    if leaving_out.given.path is not None:
        raise Invalid("Take the documents left out from a file or from earlier revisions, not both.")
    revisions = _graded(session, task_id, leaving_out)
    renamed = leaving_out.given.renamed
    earlier = {number: revisions[number].judgments for number in leaving_out.earlier}
    if prepared is not None:
        return prepared, LeftOutList(left_out.judged_before(earlier, renamed), None, renamed)
    later = max(revisions) if leaving_out.later is None else leaving_out.later
    if later in earlier:
        raise Invalid(
            f"Revision {later} cannot be both left out and used for its new judgments.",
            [
                Problem(
                    "is already an earlier round.",
                    "Upload judgments, or choose another revision.",
                    field="later",
                )
            ],
        )
    new, gone = left_out.residual(revisions[later].judgments, earlier, renamed)
    named = replace(new, file_name=revisions[later].file_name)
    return named, LeftOutList(gone, None, renamed)


def read_left_out(
    path: Path | None,
    changed: Path | None = None,
    *,
    earlier: Sequence[int] = (),
    later: int | None = None,
    drop: bool = False,
    query: bool = False,
) -> RevisionLeftOut | None:
    """The requested documents left out: a list, a residual round, nothing (drop); None: unchanged.

    changed: a file of changed docnos; query: also leave out the document whose docno is the topic id. Raises
    Invalid with the offending lines, and for contradictory settings.
    """
    if drop and (path is not None or earlier or query):
        raise Invalid("The request both names documents to leave out and leaves out none; choose one.")
    if later is not None and not earlier:
        raise Invalid("New judgments of a later revision also need the earlier revisions to compare with.")
    if changed is not None and path is None and not earlier:
        raise Invalid("Changed docnos apply to documents left out; also provide a list of these documents.")
    if path is None and not earlier and not drop and not query:
        return None
    return RevisionLeftOut(left_out.listed(path, changed), tuple(earlier), later, query)


def numbers(text: str) -> tuple[int, ...]:
    """Revision numbers from a text, such as `1, 2`; raises Invalid for anything else.

    >>> numbers("2 1,2"), numbers("")
    ((1, 2), ())
    """
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and len(word) < MOST_DIGITS for word in words):
        problem = Problem(
            "must be a list of numbers of earlier revisions.",
            "Write them as 1, 2.",
            field="earlier",
            value=text[:40],
        )
        raise Invalid("Earlier revisions must be given as numbers, such as 1, 2.", [problem])
    return tuple(sorted({int(word) for word in words}))


MOST_DIGITS = 10


def _graded(session: Session, task_id: int, leaving_out: RevisionLeftOut) -> dict[int, PreparedQrels]:
    """Number -> judgments of the requested revisions and of the newest."""
    rows: Sequence[QrelsRevision] = session.scalars(
        select(QrelsRevision)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN, Qrels.kind == "graded")
        .order_by(QrelsRevision.number)
        .options(*qrels_files.WHOLE)
    ).all()
    by_number = {row.number: row for row in rows}
    asked = [*leaving_out.earlier, *([] if leaving_out.later is None else [leaving_out.later])]
    if missing := [number for number in asked if number not in by_number]:
        has = ", ".join(map(str, by_number)) or "none"
        problem = Problem(
            "The task has no such revision of graded judgments.",
            f"It has {has}.",
            field="earlier",
            value=str(missing[0]),
        )
        raise Invalid(
            f"Revision {missing[0]} of graded judgments does not exist; existing ones: {has}.", [problem]
        )
    return {number: lines.stored(session, by_number[number]) for number in {*asked, max(by_number)}}


KEPT = timedelta(days=1)
TOKEN_BYTES = 16
NOTE_CHARACTERS = 300


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A draft: judgments, series, origin, distractors and documents left out."""

    token: str
    line: str
    by: Origin
    prepared: PreparedQrels
    distractors: frozenset[bytes]
    left_out: LeftOut
    note: str
    revision_id: int
    """Revision id of the draft itself: its packed judgments are stored like those of any revision."""


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
    """Store judgments as a draft; returns its token.

    prepared None: the board's newest judgments, with other distractors or documents left out. distractors and
    left_out None: those of the series' newest revision. Deletes drafts older than a day. Raises as
    `revisions.revise` if the draft can never be published, and Invalid without a note.
    """
    task = policy.own_task(session, viewer, slug)
    if not 0 < len(note.strip()) <= NOTE_CHARACTERS:
        problem = Problem("must say what is new in this revision.", "Write one sentence.", field="note")
        raise Invalid(
            f"A revision needs a change note of at most {NOTE_CHARACTERS} characters, for its history.",
            [problem],
        )
    if prepared is not None and prepared.kind in ("graded", "subtopic", "preference"):
        prepared = as_task(prepared, lines.titles(session, task.id))
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
    whose = Origin(fitting.origin, fitting.origin_name) if fitting is not None else by
    kept = lines.new(session, task, judged.kind, whose, f"{DRAFT}{token} {line}")
    lines.add(session, viewer, kept, None, judged, note, others, leaves=given.listed, listed=False)
    return token


def find_draft(session: Session, viewer: Viewer, slug: str, token: str) -> Draft:
    """A stored draft; raises NotFound if it does not exist or has expired."""
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
        raise NotFound("This draft has expired: drafts are kept for one day. Upload the judgments again.")
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
    """Publish a draft as a revision and delete the draft; raises as `revisions.revise`."""
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
    revision = revise(session, viewer, slug, new)
    _drop(session, draft)
    return revision


def discard(session: Session, viewer: Viewer, slug: str, token: str) -> None:
    """Discard a draft."""
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
    """The previewed state."""

    base: Annotated[
        int | None,
        Field(
            title="Revision before",
            help="Number of the revision that the preview was based on; null: the newest.",
            least=0,
        ),
    ] = None


PUBLISH = Action(
    name="publish_revision",
    summary="Publish a draft as a revision",
    more="All runs are scored under it, and the board switches when all are done.",
    path="/tasks/<slug>/revisions/drafts/<token>/publish",
    form="/tasks/<slug>/revisions/drafts/<token>",
    record=Publication,
    act=lambda session, viewer, slug, token, asked: publish(session, viewer, slug, token, base=asked.base),
    done=lambda _, revision: f"revision {revision.number}",
    status=201,
)
DISCARD = Action(
    name="discard_revision",
    summary="Discard a draft revision",
    method="DELETE",
    path="/tasks/<slug>/revisions/drafts/<token>",
    form="/tasks/<slug>/revisions/drafts/<token>/discard",
    page="revisions.index",
    act=discard,
    done=lambda *_: "draft discarded",
)
ACTIONS = (PUBLISH, DISCARD)
