"""All reproductions of a task: one row a run, its levels from left to right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Task
from leaderboard.errors import NotFound
from leaderboard.pages.reproductions.pairs import PairRow, pair_rows
from leaderboard.pages.scores import fields
from leaderboard.pages.scores.table import ScoreTable, comparable, require_details, score_table
from leaderboard.services import policy
from leaderboard.services.evaluations.columns import MeasureColumn, column_of
from leaderboard.services.evaluations.shown import shown_edition
from leaderboard.services.policy import Viewer
from leaderboard.services.reproductions import links, thresholds
from leaderboard.services.reproductions.links import KIND, ReproductionLink
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.services.tasks.head import TaskHead
from leaderboard.stats.reproductions.levels import Thresholds
from leaderboard.stats.reproductions.numbers import threshold_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionHead(TaskHead):
    """The head of a page of reproductions, by one measure."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Those that runs can be compared by."""
    thresholds: Thresholds

    @property
    def threshold_lines(self) -> list[str]:
        """Where the words begin, a line a number."""
        return threshold_lines(self.thresholds, same_topics=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionsPage(ReproductionHead):
    """A task's reproductions, by the names of their originals."""

    rows: tuple[PairRow, ...]
    waiting: tuple[WaitingResult, ...]
    """Orders of documents that are not computed yet."""


@dataclass(frozen=True, slots=True)
class ComparedTask:
    """A task of rankings with its scores by the measure of the page, and what its runs reproduce."""

    task: Task
    table: ScoreTable
    measures: tuple[MeasureColumn, ...]
    thresholds: Thresholds
    links: Sequence[ReproductionLink]

    def head(self) -> dict[str, Any]:
        """The fields of ReproductionHead by name."""
        return {
            **self.table.head,
            "measure": self.table.measure,
            "measures": self.measures,
            "thresholds": self.thresholds,
        }


def compared_task(session: Session, viewer: Viewer, slug: str, measure: str | None) -> ComparedTask:
    """What every page of reproductions starts from.

    Raises NotFound for an unknown task, for one whose runs are not rankings, and while scores by topic are
    held back; UnknownMeasure for a measure that is not on the board.
    """
    table = score_table(session, viewer, slug, measure)
    task = table.of
    if task.kind != KIND:
        raise NotFound(f"{task.name} takes {task.kind}; only rankings are reproduced.")
    edition = session.get_one(Edition, table.source.edition_id)
    return ComparedTask(
        task=task,
        table=table,
        measures=comparable(fields.columns_of(edition)),
        thresholds=thresholds.of_setting(task.reproduction_thresholds),
        links=links.links_of(session, task.id, table.sight.phase_id),
    )


def reproductions_page(
    session: Session, viewer: Viewer, slug: str, measure: str | None = None
) -> ReproductionsPage:
    """A task's reproductions by a measure, the primary one unless said otherwise; raises as compared_task."""
    try:
        of = compared_task(session, viewer, slug, measure)
    except NotFound:
        if (empty := _without_board(session, viewer, slug)) is None:
            raise
        return empty
    own = {link.run_id for link in of.links}
    rows = pair_rows(session, viewer, of.links, of.table, of.thresholds, with_orders=own)
    return ReproductionsPage(
        **of.head(), rows=tuple(rows), waiting=tuple(one for row in rows for one in row.waiting)
    )


def _without_board(session: Session, viewer: Viewer, slug: str) -> ReproductionsPage | None:
    """The page of a task of rankings that has no board yet; None where that is not the reason."""
    task, sight = policy.visible_task(session, viewer, slug)
    require_details(sight)
    if task.kind != KIND or shown_edition(session, task, sight).edition is not None:
        return None
    return ReproductionsPage(
        of=task,
        sight=sight,
        basis=None,
        measure=column_of(task.primary_measure),
        measures=(),
        thresholds=thresholds.of_setting(task.reproduction_thresholds),
        rows=(),
        waiting=(),
    )
