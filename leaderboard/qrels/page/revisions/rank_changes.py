"""Old and new ranks of the runs of a board, and the agreement of the two rankings."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets import scoring
from leaderboard.answers.page.nuggets import facts as answers_facts
from leaderboard.answers.page.nuggets.facts import AnswersFacts
from leaderboard.boards.ops.rows import shared_ranks
from leaderboard.core import kinds, policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer, of_phase
from leaderboard.db.tables import Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.measures.naming import parse
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import Draft
from leaderboard.qrels.page.revisions import judgment_changes
from leaderboard.qrels.page.revisions.judgment_changes import Changes, GradeChange, TopicChange, TopicMeans
from leaderboard.scoring.ops import collections
from leaderboard.scoring.ops.evaluations.shown import Source, means, shown_edition
from leaderboard.scoring.ops.qrels import left_out, lines
from leaderboard.scoring.ops.qrels.files import MAIN, PreparedQrels, newest
from leaderboard.scoring.ops.qrels.left_out import LeftOutList
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import (
    RANKED_KIND,
    MeasureColumn,
    OfTask,
    column,
    not_chosen,
    shown_kind,
)
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.procedures import revision_scores
from leaderboard.scoring.ops.statistics.requests import Request, WaitingResult
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.orders.rank_correlation import tau_ap, tau_b
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from
from leaderboard.trec.qrels.left_out import NOTHING
from leaderboard.trec.read.lines import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChange:
    """A run before and after; missing ranks and scores are None."""

    run: RunName
    old_rank: Annotated[int | None, Shown(key="public_rank")]
    new_rank: Annotated[int | None, Shown(key="hidden_rank")]
    old: float | None
    new: float | None

    @property
    def moved(self) -> Annotated[int, Shown("Moved", key="moved_up")]:
        """Ranks gained; 0 unless ranked on both sides."""
        return 0 if self.old_rank is None or self.new_rank is None else self.old_rank - self.new_rank

    @property
    def difference(self) -> float | None:
        """New score minus old score."""
        return None if self.old is None or self.new is None else self.new - self.old


@dataclass(frozen=True, slots=True)
class RankChanges:
    """Two rankings of the same runs, in the new order; correlations are over ranked runs with both scores."""

    measure: MeasureColumn
    rows: tuple[RankChange, ...]
    tau: float | None
    tau_ap: float | None

    @property
    def moved(self) -> int:
        """Number of runs with a changed rank."""
        return sum(1 for row in self.rows if row.moved)

    @property
    def largest(self) -> RankChange | None:
        """The run that moved most; None if none moved."""
        most = max(self.rows, key=lambda row: abs(row.moved), default=None)
        return most if most is not None and most.moved else None

    @property
    def pairs(self) -> int:
        """Number of compared ranked runs."""
        return sum(1 for row in self.rows if row.old_rank is not None and row.new_rank is not None)


def rank_changes(
    runs: Sequence[RunName], old: Mapping[int, float], new: Mapping[int, float], by: MeasureColumn
) -> RankChanges:
    """Rank changes of the runs; old and new: printed scores by run id.

    Ranks are among official runs with both scores, ties share a rank, so that runs added in between do not
    move others. tau_AP uses the new ranking as reference.
    """
    sign = by.sign
    both = [run for run in runs if run.run_id in old and run.run_id in new and run.kind == RANKED_KIND]
    before = {run.run_id: sign * old[run.run_id] for run in both}
    after = {run.run_id: sign * new[run.run_id] for run in both}
    first, second = shared_ranks(before), shared_ranks(after)
    rows = [
        RankChange(
            run=run,
            old_rank=first.get(run.run_id),
            new_rank=second.get(run.run_id),
            old=old.get(run.run_id),
            new=new.get(run.run_id),
        )
        for run in runs
    ]

    def place(row: RankChange) -> tuple[bool, float, str]:
        return row.new is None, 0.0 if row.new is None else -sign * row.new, row.run.name

    estimate, truth = (np.array(list(scores.values()), dtype=np.float64) for scores in (before, after))
    return RankChanges(
        measure=by,
        rows=tuple(sorted(rows, key=place)),
        tau=tau_b(estimate, truth),
        tau_ap=tau_ap(estimate, truth),
    )


def scored_runs(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, run_ids: Collection[int]
) -> list[RunName]:
    """Non-withdrawn runs of the visible phase, by id, with names visible to the viewer."""
    left_out = not_chosen(session, task)
    names = shown_names.shown_names(session, viewer, task)
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.kind)
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None), *of_phase(access), Run.id.in_(run_ids))
        .order_by(Run.id)
    )
    return [
        RunName(
            run_id=row.id,
            name=names.run(row.id, row.name),
            team=names.team(row.team_id),
            kind=shown_kind(row.id, row.kind, left_out),
        )
        for row in rows
    ]


def facts(ranks: RankChanges) -> dict[str, Any]:
    """The changes as plain values at full precision."""
    return {
        "measure": ranks.measure.key,
        "tau": ranks.tau,
        "tau_ap": ranks.tau_ap,
        "runs": table(ranks, "", "").facts(),
    }


def table(ranks: RankChanges | None, name: str, caption: str) -> Table[RankChange]:
    """Table of the runs in the new order; None has no rows."""
    key = ranks.measure.key if ranks else "score"
    digits = ranks.measure.digits if ranks else None
    return Table(
        name,
        caption,
        columns_from(
            RankChange,
            Column("new_rank", lambda row: row.new_rank, "New rank", digits=0, shown=Place.PAGE),
            "run.name run.run_id run.team run.kind",
            Column("old_rank", lambda row: row.old_rank, "Old rank", digits=0),
            Column("new_rank", lambda row: row.new_rank, "New rank", digits=0, shown=~Place.PAGE),
            Column("moved_up", lambda row: row.moved, "Moved", digits=0, shown=~Place.PRINT),
            Column("new", lambda row: row.new, f"New {key}", digits=digits, shown=Place.PAGE),
            Column("old", lambda row: row.old, "Old", digits=digits),
            Column("new", lambda row: row.new, "New", digits=digits, shown=~Place.PAGE),
            Column(
                "difference",
                lambda row: row.difference,
                "Difference",
                words=lambda row: None if row.difference is None else f"{row.difference:+.{digits}f}",
                digits=digits,
            ),
        ),
        ranks.rows if ranks else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedJudgments(OfTask):
    """A set of judgments compared with the previous one, with rank changes."""

    """Whether the task is not published yet."""
    number: int
    """Number of the revision, or of the revision that the draft would become."""
    kind: str
    origin: str
    origin_name: str
    changes: Changes
    ranks: RankChanges | None
    why_no_ranks: str
    topics: Mapping[str, TopicMeans] = field(default_factory=dict)
    of_answers: AnswersFacts | None = None
    """Counts of answer judgments; None for others."""

    @property
    def stem(self) -> str:
        """Prefix of its file names."""
        return f"{self.slug}-revision-{self.number}"


def of_answers(
    session: Session, task: Task, prepared: PreparedQrels, titles: Mapping[str, str]
) -> AnswersFacts | None:
    """Counts of answer judgments as uploaded by organisers; None for others."""
    if prepared.kind != "answers":
        return None
    return answers_facts.of_judgments(session, task, scoring.opened(prepared.packed), titles)


def changed_titles(session: Session, task: Task) -> dict[str, str]:
    """Topic -> title, in task order."""
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    return {row.topic_id: row.title for row in rows}


def changed_facts(page: ChangedJudgments) -> dict[str, Any]:
    """Facts of both pages as plain values at full precision."""
    return {
        "task": page.slug,
        "kind": page.kind,
        "changes": judgment_changes.facts(page.changes),
        **({"answers": answers_facts.facts(page.of_answers)} if page.of_answers is not None else {}),
        "ranks": None if page.ranks is None else facts(page.ranks),
    }


def runs(page: ChangedJudgments) -> Table[RankChange]:
    """Table of the runs before and after, in the new order."""
    by = f" by {page.ranks.measure.key}" if page.ranks else ""
    caption = f"Ranks of the runs of {page.task}{by} before and under qrels revision {page.number}."
    return table(page.ranks, page.stem, caption)


def topics(page: ChangedJudgments) -> Table[TopicChange]:
    """Table of all topics before and after."""
    caption = f"Judgments of {page.task} by topic before and in qrels revision {page.number}."
    by = page.ranks.measure if page.ranks else None
    return judgment_changes.topic_table(page.changes, f"{page.stem}-topics", caption, page.topics, by)


def grades(page: ChangedJudgments) -> Table[GradeChange]:
    """Table of judgments by grade, before and after."""
    caption = f"Judgments of {page.task} by grade before and in qrels revision {page.number}."
    return judgment_changes.grade_table(page.changes, f"{page.stem}-grades", caption)


CHANGED_TABLES: Mapping[str, Callable[[ChangedJudgments], Table[Any]]] = {
    "runs": runs,
    "topics": topics,
    "grades": grades,
}


AT_ONCE_S = 2.0
"""Maximum time of a computation within a page request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutOfRuns:
    """Number of runs with documents left out, of all runs, and total number of documents."""

    runs: int
    of: int
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(ChangedJudgments):
    """The preview of a draft for its organiser."""

    prepared: PreparedQrels
    token: str
    line: str
    file_name: str
    note: str
    base: int
    """Number of the board's newest revision that the changes are relative to; 0 without one."""
    refused: str
    """Why it cannot be published; otherwise empty."""
    waiting: WaitingResult | None
    """The job that the ranks wait for."""
    lacking: tuple[str, ...]
    """Judged documents missing from the task's collection."""
    read_as: tuple[str, ...]
    """Sentences on how the file was read."""
    runs: int
    """Number of runs to be scored again."""
    left_out_of: LeftOutOfRuns | None
    """Documents left out found in the runs; None without any, or if ranks are unknown."""


def _lacking(session: Session, task: Task, draft: Draft) -> tuple[str, ...]:
    docnos = sorted({docno for grades in draft.prepared.judgments.values() for docno in grades})
    return tuple(map(shown, collections.lacking(session, task.collection_id, docnos)))


def preview(session: Session, viewer: Viewer, slug: str, token: str) -> Preview:
    """The preview of a draft; raises NotFound if it has expired."""
    task, access = policy.visible_task(session, viewer, slug)
    draft = revisions.find_draft(session, viewer, slug, token)
    board = newest(session, task.id)
    target = revisions.target_of(session, task.id, draft.prepared.kind, draft.line)
    before = newest(session, task.id, target)
    is_separate = target != draft.line
    names = changed_titles(session, task)
    old = lines.distractors_of(before)
    changes = judgment_changes.changes(
        lines.stored(session, before) if before is not None else None,
        draft.prepared,
        (old, old if is_separate else draft.distractors),
        names,
        task.level,
        (left_out.of_revision(before), NOTHING if is_separate else draft.left_out),
    )
    refused = _refusal(session, task, draft, target, changes)
    ranks, why, of_runs = _ranks(session, viewer, task, access, draft) if not refused else (None, "", None)
    base = board.number if board is not None else 0
    runs = select(func.count()).where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
    return Preview(
        of=task,
        number=base + 1,
        prepared=draft.prepared,
        token=token,
        line=draft.line,
        kind=draft.prepared.kind,
        origin=draft.by.kind or "human",
        origin_name=draft.by.name,
        file_name=draft.prepared.file_name,
        note=draft.note,
        base=base,
        changes=changes,
        refused=refused,
        ranks=ranks if isinstance(ranks, RankChanges) else None,
        waiting=ranks if isinstance(ranks, WaitingResult) else None,
        why_no_ranks=why,
        lacking=_lacking(session, task, draft),
        read_as=tuple(map(str, draft.prepared.warnings)),
        runs=session.scalar(runs) or 0,
        left_out_of=of_runs,
        of_answers=of_answers(session, task, draft.prepared, names),
    )


def preview_facts(page: Preview) -> dict[str, Any]:
    """The preview as plain values at full precision."""
    return {
        **changed_facts(page),
        "revision": page.number,
        "line": page.line,
        "refused": page.refused,
        **_left_out_facts(page),
    }


def _left_out_facts(page: Preview) -> dict[str, Any]:
    return {"left_out_of": asdict(page.left_out_of)} if page.left_out_of is not None else {}


PREVIEW_FILES = Files(facts=preview_facts, tables=CHANGED_TABLES)


def _refusal(session: Session, task: Task, draft: Draft, target: str, changes: Changes) -> str:
    """Why the draft cannot be published; otherwise empty."""
    total = changes.total
    same = not (total.added or total.changed or total.removed)
    gone = left_out.of_revision(newest(session, task.id, target)) if target == draft.line else draft.left_out
    others = changes.distractors_added or changes.distractors_removed
    if same and not others and left_out.are_same(gone, draft.left_out):
        return "These judgments are identical to the newest revision."
    if target != MAIN and draft.line == MAIN and newest(session, task.id) is None:
        return "The task has no graded judgments yet; add them first."
    try:
        lines.fitting(session, task, draft.prepared.kind, draft.by, target)
        lines.require_irrelevant(draft.prepared.judgments, draft.distractors)
        revisions.require_left_out(session, task, LeftOutList(draft.left_out), draft.prepared, target)
    except (Conflict, Invalid) as error:
        return error.message
    return ""


def _ranks(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, draft: Draft
) -> tuple[RankChanges | WaitingResult | None, str, LeftOutOfRuns | None]:
    """Rank changes of the board's runs or why they are unknown, and documents left out of them."""
    if draft.line != MAIN and draft.prepared.kind == "answers":
        return (
            None,
            "The board by this judgment series is computed after publishing; the task’s board stays.",
            None,
        )
    if draft.line != MAIN:
        return None, "No scores use this judgment series, so no ranks change.", None
    if not kinds.judged_by(draft.prepared.kind).ranks_documents:
        return None, "Ranks are known once these judgments are published and all runs are scored.", None
    shown = shown_edition(session, task, access)
    if shown.edition is None or shown.source is None:
        return None, "No board is shown yet, so there are no ranks to change.", None
    by = column(parse(shown.edition.primary_measure))
    scored = means(session, shown.edition, access.topic_set, keys=(by.key,))
    old = {run_id: scores[by.key] for run_id, scores in scored.items()}
    if not old:
        return None, "No run is scored yet, so there are no ranks to change.", None
    runs = scored_runs(session, viewer, task, access, list(old))
    request = _request(session, shown.source, by, draft, runs)
    try:
        arrays = _values(session, request, draft)
    except LeaderboardError as error:
        return None, error.message, None
    if isinstance(arrays, WaitingResult):
        return arrays, "", None
    new = dict(zip(request.run_ids, arrays["value"].tolist(), strict=True))
    return rank_changes(runs, old, new, by), "", _of_runs(arrays)


def _of_runs(arrays: Arrays) -> LeftOutOfRuns | None:
    if "left_out" not in arrays:
        return None
    left_out = arrays["left_out"].astype(np.int64)
    return LeftOutOfRuns(runs=int((left_out > 0).sum()), of=len(left_out), documents=int(left_out.sum()))


def _request(
    session: Session, source: Source, by: MeasureColumn, draft: Draft, runs: list[RunName]
) -> Request:
    ids = tuple(run.run_id for run in runs)
    digests = session.execute(select(Run.id, Run.ranking_sha256).where(Run.id.in_(ids)))
    ranking = {row.id: row.ranking_sha256 for row in digests}
    sha256 = revision_scores.draft_inputs(session, draft.revision_id).sha256
    rests_on = replace(source, revision_id=draft.revision_id, revision_sha256=sha256)
    return Request(
        procedure=revision_scores.PROCEDURE,
        method="",
        source=rests_on,
        measure=by.key,
        measure_version=by.version,
        run_ids=ids,
        rankings=tuple(ranking[run_id] for run_id in ids),
    )


def _values(session: Session, request: Request, draft: Draft) -> Arrays | WaitingResult:
    """Values of the runs: cached, computed synchronously if fast, otherwise by a job."""
    result = requests.find(session, request)
    if not isinstance(result, WaitingResult):
        return result
    entries = session.scalar(select(func.sum(Run.entries)).where(Run.id.in_(request.run_ids))) or 0
    if int(entries) * revision_scores.ENTRY_S > AT_ONCE_S:
        return result
    computed = revision_scores.compute(
        session, draft.revision_id, request.run_ids, request.measure, request.source.dialect, lambda _: None
    )
    return requests.kept.put(request.digest, computed)
