"""What a draft of judgments would change: judgments, topics, grades, and where every run would stand."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.measures.naming import parse
from leaderboard.pages.revisions import changed, judgment_changes, rank_changes
from leaderboard.pages.revisions.changed import ChangedJudgments, titles
from leaderboard.pages.revisions.judgment_changes import Changes
from leaderboard.pages.revisions.rank_changes import RankChanges
from leaderboard.services import collections, kinds, policy
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.shown import Source, means, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.qrels import left_out, lines
from leaderboard.services.qrels.files import newest
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.qrels.left_out import LeftOutList
from leaderboard.services.revisions import drafts, publish
from leaderboard.services.revisions.drafts import Draft
from leaderboard.services.runs.names import RunName
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import revision_scores
from leaderboard.services.statistics.requests import Request, WaitingResult
from leaderboard.stats.arrays import Arrays
from leaderboard.tables.record import Files
from leaderboard.trec.qrels.left_out import NOTHING
from leaderboard.trec.read.lines import shown

AT_ONCE_S = 2.0
"""What takes longer than this is not computed while the organiser waits for the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutOfRuns:
    """How many of how many runs have documents that are left out, and how often in all."""

    runs: int
    of: int
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(ChangedJudgments):
    """A draft as its organiser looks at it before it is published."""

    token: str
    line: str
    file_name: str
    note: str
    base: int
    """Number of the board's newest revision, 0 where there is none: what the changes are against."""
    refused: str
    """Why it cannot be published; empty where it can."""
    waiting: WaitingResult | None
    """The job that the ranks wait for."""
    lacking: tuple[str, ...]
    """Judged documents that the task's collection does not have."""
    read_as: tuple[str, ...]
    """How the file was read, in sentences."""
    runs: int
    """How many runs would be scored again."""
    left_out_of: LeftOutOfRuns | None
    """What the runs have of the documents left out; None where there are none, or the ranks are not known."""


def _lacking(session: Session, task: Task, draft: Draft) -> tuple[str, ...]:
    docnos = sorted({docno for grades in draft.prepared.judgments.values() for docno in grades})
    return tuple(map(shown, collections.lacking(session, task.collection_id, docnos)))


def preview(session: Session, viewer: Viewer, slug: str, token: str) -> Preview:
    """What a draft would change; raises NotFound where it is no longer kept."""
    task, sight = policy.visible_task(session, viewer, slug)
    draft = drafts.find(session, viewer, slug, token)
    board = newest(session, task.id)
    target = publish.target_of(session, task.id, draft.prepared.kind, draft.line)
    before = newest(session, task.id, target)
    beside = target != draft.line
    names = titles(session, task)
    old = lines.distractors_of(before)
    changes = judgment_changes.changes(
        lines.stored(session, before) if before is not None else None,
        draft.prepared,
        (old, old if beside else draft.distractors),
        names,
        task.level,
        (left_out.of_revision(before), NOTHING if beside else draft.left_out),
    )
    refused = _refusal(session, task, draft, target, changes)
    ranks, why, held = _ranks(session, viewer, task, sight, draft) if not refused else (None, "", None)
    base = board.number if board is not None else 0
    runs = select(func.count()).where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
    return Preview(
        of=task,
        number=base + 1,
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
        left_out_of=held,
        of_answers=changed.of_answers(session, task, draft.prepared, names),
    )


def facts(page: Preview) -> dict[str, Any]:
    """The preview as plain values at full precision."""
    return {
        **changed.facts(page),
        "revision": page.number,
        "line": page.line,
        "refused": page.refused,
        **_held(page),
    }


def _held(page: Preview) -> dict[str, Any]:
    return {"left_out_of": asdict(page.left_out_of)} if page.left_out_of is not None else {}


FILES = Files(facts=facts, tables=changed.TABLES)


def _refusal(session: Session, task: Task, draft: Draft, target: str, changes: Changes) -> str:
    """Why the draft cannot be published as it is; empty where it can."""
    total = changes.total
    same = not (total.added or total.changed or total.removed)
    gone = left_out.of_revision(newest(session, task.id, target)) if target == draft.line else draft.left_out
    others = changes.distractors_added or changes.distractors_removed
    if same and not others and left_out.are_same(gone, draft.left_out):
        return "Nothing is new in these judgments: they are the newest revision already."
    if target != MAIN and draft.line == MAIN and newest(session, task.id) is None:
        return "The task has no graded judgments yet; add these first."
    try:
        lines.fitting(session, task, draft.prepared.kind, draft.by, target)
        lines.require_irrelevant(draft.prepared.judgments, draft.distractors)
        publish.require_left_out(session, task, LeftOutList(draft.left_out), draft.prepared, target)
    except (Conflict, Invalid) as error:
        return error.message
    return ""


def _ranks(
    session: Session, viewer: Viewer, task: Task, sight: Sight, draft: Draft
) -> tuple[RankChanges | WaitingResult | None, str, LeftOutOfRuns | None]:
    """Where the runs of the board would stand, or why that cannot be said; what is left out of them."""
    if draft.line != MAIN and draft.prepared.kind == "answers":
        return None, "The board by this line is known once it is published; the task’s board stays.", None
    if draft.line != MAIN:
        return None, "No score rests on this line of judgments, so no rank changes.", None
    if not kinds.judged_by(draft.prepared.kind).ranks_documents:
        return None, "Ranks by these are known once they are published and all runs scored.", None
    shown = shown_edition(session, task, sight)
    if shown.edition is None or shown.source is None:
        return None, "No board is shown yet, so there are no ranks to change.", None
    by = column(parse(shown.edition.primary_measure))
    scored = means(session, shown.edition, sight.topic_set, keys=(by.key,))
    old = {run_id: scores[by.key] for run_id, scores in scored.items()}
    if not old:
        return None, "No run is scored yet, so there are no ranks to change.", None
    runs = rank_changes.scored_runs(session, viewer, task, sight, list(old))
    request = _request(session, shown.source, by, draft, runs)
    try:
        arrays = _values(session, request, draft)
    except LeaderboardError as error:
        return None, error.message, None
    if isinstance(arrays, WaitingResult):
        return arrays, "", None
    new = dict(zip(request.run_ids, arrays["value"].tolist(), strict=True))
    return rank_changes.rank_changes(runs, old, new, by), "", _of_runs(arrays)


def _of_runs(arrays: Arrays) -> LeftOutOfRuns | None:
    if "left_out" not in arrays:
        return None
    held = arrays["left_out"].astype(np.int64)
    return LeftOutOfRuns(runs=int((held > 0).sum()), of=len(held), documents=int(held.sum()))


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
    """The runs' values: known, computed here and now where that is quick, else by a job."""
    known = requests.find(session, request)
    if not isinstance(known, WaitingResult):
        return known
    entries = session.scalar(select(func.sum(Run.entries)).where(Run.id.in_(request.run_ids))) or 0
    if int(entries) * revision_scores.ENTRY_S > AT_ONCE_S:
        return known
    computed = revision_scores.compute(
        session, draft.revision_id, request.run_ids, request.measure, request.source.dialect, lambda _: None
    )
    return requests.kept.put(request.digest, computed)
