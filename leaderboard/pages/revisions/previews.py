"""What a draft of judgments would change: judgments, topics, grades, and where every run would stand."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.measures.grammar import parse
from leaderboard.pages.revisions import judgment_changes, rank_changes
from leaderboard.pages.revisions.judgment_changes import Changes
from leaderboard.pages.revisions.rank_changes import RankChanges, ScoredRun
from leaderboard.services import policy
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.shown import Source, means, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.qrels import lines
from leaderboard.services.qrels.files import newest
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.revisions import drafts, publish
from leaderboard.services.revisions.drafts import Draft
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import revision_scores
from leaderboard.services.statistics.requests import Request, Waiting
from leaderboard.stats.arrays import Arrays

AT_ONCE_S = 2.0
"""What takes longer than this is not computed while the organiser waits for the page."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A draft as its organiser looks at it before it is published."""

    task: str
    slug: str
    is_draft: bool
    token: str
    line: str
    kind: str
    origin: str
    origin_name: str
    file_name: str
    note: str
    base: int
    """Number of the board's newest revision, 0 where there is none: what the changes are against."""
    changes: Changes
    refused: str
    """Why it cannot be published; empty where it can."""
    ranks: RankChanges | Waiting | None
    """None where no run is scored, or no score rests on these judgments."""
    why_no_ranks: str
    runs: int
    """How many runs would be scored again."""
    level: int

    @property
    def number(self) -> int:
        """The number of the revision that it would be on the board's line."""
        return self.base + 1


def preview(session: Session, viewer: Viewer, slug: str, token: str) -> Preview:
    """What a draft would change; raises NotFound where it is not kept any more."""
    task, sight = policy.visible_task(session, viewer, slug)
    draft = drafts.find(session, viewer, slug, token)
    board = newest(session, task.id)
    target = publish.target_of(session, task.id, draft.prepared.kind, draft.line)
    before = newest(session, task.id, target)
    titles = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    beside = target != draft.line
    old = lines.distractors_of(before)
    found = judgment_changes.changes(
        lines.stored(session, before) if before is not None else None,
        draft.prepared,
        (old, old if beside else draft.distractors),
        {row.topic_id: row.title for row in titles},
        task.level,
    )
    refused = _refusal(session, task, draft, target, found)
    ranks, why = _ranks(session, viewer, task, sight, draft) if not refused else (None, "")
    runs = select(func.count()).where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
    return Preview(
        task=task.name,
        slug=task.slug,
        is_draft=task.published_at is None,
        token=token,
        line=draft.line,
        kind=draft.prepared.kind,
        origin=draft.by.kind or "human",
        origin_name=draft.by.name,
        file_name=draft.prepared.file_name,
        note=draft.note,
        base=board.number if board is not None else 0,
        changes=found,
        refused=refused,
        ranks=ranks,
        why_no_ranks=why,
        runs=session.scalar(runs) or 0,
        level=task.level,
    )


def as_json(found: Preview) -> dict[str, Any]:
    """The preview as plain values at full precision."""
    ranks = rank_changes.as_json(found.ranks) if isinstance(found.ranks, RankChanges) else None
    return {
        "task": found.slug,
        "revision": found.number,
        "kind": found.kind,
        "line": found.line,
        "changes": judgment_changes.as_json(found.changes),
        "refused": found.refused,
        "ranks": ranks,
    }


def _refusal(session: Session, task: Task, draft: Draft, target: str, found: Changes) -> str:
    """Why the draft cannot be published as it is; empty where it can."""
    total = found.total
    same = not (total.added or total.changed or total.removed)
    if same and not (found.distractors_added or found.distractors_removed):
        return "Nothing is new in these judgments: they are the newest revision already."
    if target != MAIN and draft.line == MAIN and newest(session, task.id) is None:
        return "The task has no graded judgments yet; add these first."
    try:
        lines.fitting(session, task, draft.prepared.kind, draft.by, target)
        lines.require_irrelevant(draft.prepared.judgments, draft.distractors)
    except (Conflict, Invalid) as error:
        return error.message
    return ""


def _ranks(
    session: Session, viewer: Viewer, task: Task, sight: Sight, draft: Draft
) -> tuple[RankChanges | Waiting | None, str]:
    """Where the runs of the board would stand, or why that cannot be said."""
    if draft.line != MAIN:
        return None, "No score rests on this line of judgments, so no rank changes."
    shown = shown_edition(session, task, sight)
    if shown.edition is None or shown.source is None:
        return None, "No board is shown yet, so there are no ranks to change."
    by = column(parse(shown.edition.primary_measure))
    old = {
        run_id: found[by.key]
        for run_id, found in means(session, shown.edition, sight.topic_set, keys=(by.key,)).items()
    }
    if not old:
        return None, "No run is scored yet, so there are no ranks to change."
    runs = scored_runs(session, viewer, task, list(old))
    wanted = _request(session, shown.source, by, draft, runs)
    try:
        arrays = _found(session, wanted, draft)
    except LeaderboardError as error:
        return None, error.message
    if isinstance(arrays, Waiting):
        return arrays, ""
    new = dict(zip(wanted.run_ids, arrays["value"].tolist(), strict=True))
    return rank_changes.rank_changes(runs, old, new, by), ""


def scored_runs(session: Session, viewer: Viewer, task: Task, run_ids: list[int]) -> list[ScoredRun]:
    """The runs by id, with the names this viewer may read, without those that were withdrawn."""
    names = policy.team_names(session, viewer, task)
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.kind)
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None), Run.id.in_(run_ids))
        .order_by(Run.id)
    )
    return [ScoredRun(row.id, row.name, names.get(row.team_id, ""), row.kind) for row in rows]


def _request(
    session: Session, source: Source, by: MeasureColumn, draft: Draft, runs: list[ScoredRun]
) -> Request:
    ids = tuple(run.run_id for run in runs)
    digests = session.execute(select(Run.id, Run.ranking_sha256).where(Run.id.in_(ids)))
    ranking = {row.id: row.ranking_sha256 for row in digests}
    sha256 = revision_scores.draft_inputs(session, draft.revision_id).sha256
    rests_on = Source(
        *(source.edition_id, draft.revision_id, sha256, source.dialect, source.topic_set),
        topics=source.topics,
        places=source.places,
    )
    return Request(
        procedure=revision_scores.PROCEDURE,
        method="",
        source=rests_on,
        measure=by.key,
        measure_version=by.version,
        run_ids=ids,
        rankings=tuple(ranking[run_id] for run_id in ids),
    )


def _found(session: Session, wanted: Request, draft: Draft) -> Arrays | Waiting:
    """The runs' values: known, computed here and now where that is quick, else by a job."""
    found = requests.find(session, wanted)
    if not isinstance(found, Waiting):
        return found
    entries = session.scalar(select(func.sum(Run.entries)).where(Run.id.in_(wanted.run_ids))) or 0
    if int(entries) * revision_scores.ENTRY_S > AT_ONCE_S:
        return found
    facts = draft.revision_id, wanted.run_ids, wanted.measure, wanted.source.dialect
    return requests.kept.put(wanted.digest, revision_scores.compute(session, *facts, lambda _: None))
