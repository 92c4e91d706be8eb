"""The judges' board: judges ranked by the agreement of their boards with the task's reference."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row, read_rows
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Edition, Task
from leaderboard.errors import Invalid, NotFound
from leaderboard.judges.ops import field as fields
from leaderboard.judges.ops import scoring, sending, store
from leaderboard.judges.ops.field import CircularAgreement, JudgedField, JudgeEntry, circularity
from leaderboard.judges.ops.imported import declared_of
from leaderboard.scoring.ops import agreements
from leaderboard.scoring.ops.agreements import RANKED_BY, JudgeAgreement, JudgesBoard, RankBy
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, Source, shown_edition
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, TaskHead
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.boards.align import Reference
from leaderboard.trec.boards.packing import KeptBoard, KeptReference


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLine(RunName):
    """A judge on the board.

    value: ranking value. rank None with a reason why. low, high: rank range; beats: number of
    judges that it is significantly better than: None if the verdicts do not cover it.
    """

    rank: int | None
    value: float | None
    why: Annotated[str, Shown(key="note", shown=Place.DATA)]
    agreement: JudgeAgreement
    circular: CircularAgreement
    low: Annotated[int | None, Shown(key="rank_low", shown=Place.DATA)]
    high: Annotated[int | None, Shown(key="rank_high", shown=Place.DATA)]
    may_be_best: Annotated[bool, Shown(shown=Place.DATA)]
    beats: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePage(TaskHead):
    """Shared head of the pages of judges: the reference, and the ranking of judges.

    has_runs: whether the runs of the reference are on this site, so that labels can be scored.
    """

    reference: Reference | None
    source: str
    is_machine: bool
    has_runs: bool
    rank_by: RankBy


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesPage(ReferencePage):
    """The judges of a task, best first, unranked ones last; board None without a reference.

    unscored: judges with labels but no board. waiting: progress of the lower bounds, while an
    evaluator computes them.
    """

    lines: tuple[JudgeLine, ...]
    board: JudgesBoard | None
    unscored: tuple[str, ...] = ()
    waiting: WaitingResult | None = None

    @property
    def name(self) -> str:
        """Base name of the page's tables."""
        return f"{self.slug}-judges"

    @property
    def best(self) -> tuple[JudgeLine, ...]:
        """Judges that may be the best on topics like these."""
        return tuple(line for line in self.lines if line.may_be_best)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SeenReference:
    """The reference of the shown edition; edition and kept are None without one."""

    head: ReferencePage
    task: Task
    edition: Edition | None
    kept: KeptReference | None
    primary: str
    source: Source | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SeenJudges:
    """Data of a page of judges; runs are those with boards, by name; boards by their ids.

    unscored: judges with labels that have not scored any run of the reference.
    """

    head: ReferencePage
    rows: dict[str, Row]
    judged: JudgedField | None
    reference: SeenReference
    boards: dict[int, KeptBoard] = field(default_factory=dict)
    unscored: tuple[str, ...] = ()
    waiting: WaitingResult | None = None


def judges_page(session: Session, viewer: Viewer, slug: str, rank_by: str = "") -> JudgesPage:
    """The judges' board; raises as `seen_judges` does."""
    seen = seen_judges(session, viewer, slug, rank_by)
    head, judged = seen.head, seen.judged
    lines = tuple(line_of(viewer, seen, name) for name in _names(judged)) if judged is not None else ()
    return JudgesPage(
        **head_of(head),
        lines=lines,
        board=judged.board if judged is not None else None,
        unscored=seen.unscored,
        waiting=seen.waiting,
    )


def seen_reference(session: Session, viewer: Viewer, slug: str, rank_by: str = "") -> SeenReference:
    """The reference of judges; a few statements.

    Raises NotFound for a task that accepts no boards and while the reference is hidden, Invalid for
    an unknown ranking of judges.
    """
    task, access = policy.visible_task(session, viewer, slug)
    if task.kind != sending.KIND:
        raise NotFound(f"{task.name} takes {task.kind}, so it has no judges.")
    if not access.details:
        raise NotFound(f"{access.why} The reference and the agreement of judges with it are shown then.")
    shown = shown_edition(session, task, access)
    primary = shown.edition.primary_measure if shown.edition is not None else task.primary_measure
    by = _rank_by(rank_by, primary)
    kept = _reference(session, shown)
    head = ReferencePage(
        of=task,
        access=access,
        basis=shown.basis,
        reference=kept.reference if kept is not None else None,
        source=kept.source if kept is not None else "",
        is_machine=kept is not None and kept.is_machine,
        has_runs=kept is not None and kept.origin is not None,
        rank_by=by,
    )
    return SeenReference(
        head=head, task=task, edition=shown.edition, kept=kept, primary=primary, source=shown.source
    )


def seen_judges(session: Session, viewer: Viewer, slug: str, rank_by: str = "") -> SeenJudges:
    """All judges compared with the reference of the shown edition; a few statements.

    Excludes judges whose labels are not scored yet. Raises as `seen_reference` does.
    """
    seen = seen_reference(session, viewer, slug, rank_by)
    head, kept = seen.head, seen.kept
    if kept is None or seen.edition is None:
        return SeenJudges(head=head, rows={}, judged=None, reference=seen)
    rows = {row.run_id: row for row in read_rows(session, viewer, seen.task, head.access, seen.edition, ())}
    boards = store.of_runs(session, [(run_id, row.run) for run_id, row in rows.items()], seen.edition)
    waiting, least = _least(session, seen, rows, boards)
    entries = [_entry(rows[run_id], board, least) for run_id, board in boards.items()]
    plan = agreements.plan_of(seen.task.comparison, seen.primary, kept.reference)
    judged = fields.judged_field(kept, entries, plan, head.rank_by)
    return SeenJudges(
        head=head,
        rows={rows[run_id].run: rows[run_id] for run_id in boards},
        judged=judged,
        reference=seen,
        boards=boards,
        waiting=waiting,
        unscored=tuple(sorted(row.run for run_id, row in rows.items() if run_id not in boards)),
    )


def head_of(head: ReferencePage) -> dict[str, Any]:
    """The shared head of the pages of judges, by name."""
    return {
        head_field.name: getattr(head, head_field.name) for head_field in dataclasses.fields(ReferencePage)
    }


def line_of(viewer: Viewer, seen: SeenJudges, name: str) -> JudgeLine:
    """The row of the judge with a name."""
    assert seen.judged is not None, "a judge is compared with a reference"
    board, run = seen.judged.board, seen.rows[name]
    row = next(row for row in board.rows if row.agreement.judge == name)
    verdicts, place = board.verdicts, row.place
    has_verdict = verdicts is not None and place is not None
    return JudgeLine(
        **run.named(viewer),
        rank=row.rank,
        value=row.value,
        why=row.why,
        agreement=row.agreement,
        circular=circularity(row.agreement, seen.judged.facts),
        low=int(verdicts.rank_low[place]) if verdicts is not None and has_verdict else None,
        high=int(verdicts.rank_high[place]) if verdicts is not None and has_verdict else None,
        may_be_best=bool(verdicts.may_be_best[place]) if verdicts is not None and has_verdict else False,
        beats=int(verdicts.beats[place]) if verdicts is not None and has_verdict else None,
    )


def _names(judged: JudgedField) -> list[str]:
    return [row.agreement.judge for row in judged.board.rows]


def _rank_by(asked: str, primary: str) -> RankBy:
    if not asked:
        return fields.BY_MEASURE.get(primary, "tau_b")
    rank_by = next((by for by in RANKED_BY if by == asked), None)
    if rank_by is None:
        raise Invalid(f"Judges cannot be ranked by {asked[:40]!r}. Choose one of {', '.join(RANKED_BY)}.")
    return rank_by


def _reference(session: Session, shown: ShownEdition) -> KeptReference | None:
    """The reference of an edition on scored topics, None without an edition."""
    if shown.edition is None or shown.source is None:
        return None
    kept = sending.of_revision(session, shown.edition.revision_id)
    topics = shown.source.topics
    if set(topics) >= set(kept.reference.topics):
        return kept
    return replace(kept, reference=fields.over_topics(kept.reference, topics))


def _least(
    session: Session, seen: SeenReference, rows: Mapping[int, Row], boards: Mapping[int, KeptBoard]
) -> tuple[WaitingResult | None, Mapping[int, float | None]]:
    """Lower bound of each judge, or its progress; computed here if that is quick."""
    assert seen.kept is not None, "there is a reference"
    assert seen.source is not None, "a reference belongs to an edition"
    reference = seen.kept.reference
    if boards and scoring.is_slow(len(rows), *reference.scores.shape):
        digests = {run_id: row.ranking_sha256 for run_id, row in rows.items()}
        bounds = scoring.find_bounds(session, seen.source, digests)
        if not isinstance(bounds, WaitingResult):
            return None, bounds
        if bounds.state in ("queued", "running"):
            return bounds, {}
    plan = agreements.plan_of(seen.task.comparison, seen.primary, reference)
    return None, {
        run_id: agreements.agreement_of(seen.kept, board, plan).least for run_id, board in boards.items()
    }


def _entry(row: Row, board: KeptBoard, least: Mapping[int, float | None]) -> JudgeEntry:
    has_rank = row.kind == RANKED_KIND and row.is_ranked
    bound = least.get(row.run_id)
    return JudgeEntry(board, declared_of(row), has_rank, bound, is_least_known=row.run_id in least)
