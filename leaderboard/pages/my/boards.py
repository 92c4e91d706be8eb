"""The boards of many tasks by their primary measures, as far as one account sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, QrelsRevision
from leaderboard.pages.my.tasks import SeenTask
from leaderboard.services.evaluations import choices, over_topics
from leaderboard.services.evaluations.answers import primary_scores
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn, column_of
from leaderboard.services.evaluations.damaged import whole_editions
from leaderboard.services.evaluations.shown import source_of
from leaderboard.services.statistics import requests, standings
from leaderboard.services.statistics.standings import Place, RankedRun, Standing
from leaderboard.stats.pairs.methods import method


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnBoard:
    """The board of a task by its primary measure, as far as the account sees it."""

    by: MeasureColumn
    scores: Mapping[int, float]
    left_out: frozenset[int]
    ranked: tuple[Any, ...]
    """The ranked runs, in no order."""
    places: Mapping[int, Place]

    def rank(self, run_id: int) -> int | None:
        """The run's rank; None where it has none."""
        if all(run.id != run_id for run in self.ranked):
            return None
        mine = self.by.sign * self.scores[run_id]
        return 1 + sum(self.by.sign * self.scores[run.id] > mine for run in self.ranked)


def boards_of(session: Session, tasks: Mapping[int, SeenTask], runs: Sequence[Any]) -> dict[int, OwnBoard]:
    """The boards by task; two statements, and those that `my_page` names."""
    current = whole_editions(
        session,
        select(Edition, QrelsRevision)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(Edition.task_id.in_(tasks), Edition.state == "current"),
    )
    editions = {row.Edition.task_id: row for row in current if tasks[row.Edition.task_id].sight.means}
    shown = [(row.Edition, tasks[task_id].sight) for task_id, row in editions.items()]
    scores = primary_scores(session, shown)
    of_task: dict[int, list[Any]] = {task_id: [] for task_id in tasks}
    for run in runs:
        of_task[run.task_id].append(run)
    return {
        task_id: _board(session, of, editions.get(task_id), scores, of_task[task_id])
        for task_id, of in tasks.items()
    }


def _board(
    session: Session, of: SeenTask, row: Any, scores: Mapping[int, float], runs: Sequence[Any]
) -> OwnBoard:
    left_out = choices.not_chosen(session, of.task) if of.closed else frozenset[int]()
    by = column_of(row.Edition.primary_measure if row else of.task.primary_measure)
    own = {run.id: scores[run.id] for run in runs if run.id in scores and not of.sight.hides(by.key)}
    ranked = tuple(
        run
        for run in runs
        if run.id in own and run.kind == RANKED_KIND and run.withdrawn_at is None and run.id not in left_out
    )
    return OwnBoard(
        by=by,
        scores=own,
        left_out=left_out,
        ranked=ranked,
        places=_places(session, of, row, by, own, ranked) if row else {},
    )


def _places(
    session: Session,
    of: SeenTask,
    row: Any,
    by: MeasureColumn,
    scores: Mapping[int, float],
    ranked: Sequence[Any],
) -> Mapping[int, Place]:
    """The ranges of ranks that the board shows; none where details are held back, or still to be computed."""
    if not of.sight.details or not ranked or by.aggregate not in requests.COMPARED_AGGREGATES:
        return {}
    source = over_topics.narrowed(
        source_of(row.Edition, row.QrelsRevision, of.sight.topic_set), row.Edition, by.key
    )
    runs = [RankedRun(run.id, run.ranking_sha256, run.name, scores[run.id]) for run in ranked]
    compared = method(of.task.comparison)
    standing = standings.of_runs(session, source, (by.key, by.version), by.sign, runs, compared)
    return standing.places if isinstance(standing, Standing) else {}
