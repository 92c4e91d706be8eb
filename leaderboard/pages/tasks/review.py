"""What reviewers see by a link: a team's own runs of a task under its pseudonym."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.services import shown_names
from leaderboard.services.boards import board
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.policy import Viewer
from leaderboard.services.pseudonyms import reviews
from leaderboard.services.tasks.head import TaskHead
from leaderboard.tables.record import Column, Place, Table


@dataclass(frozen=True, slots=True)
class ReviewedRun:
    """A run by its pseudonym, with its rank and what it got, as the board shows them."""

    name: str
    kind: str
    rank: int | None
    scores: dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage(TaskHead):
    """A team's own runs of a task for readers who are not to know the team."""

    pseudonym: str
    ranked_by: str
    ranked: int
    """How many runs of all teams have a rank."""
    measures: tuple[MeasureColumn, ...]
    runs: tuple[ReviewedRun, ...]


def review_page(session: Session, token: str) -> ReviewPage:
    """The runs that a link shows; NotFound where it does not work.

    Scores are those that everybody may see by now: a link opens nothing that a task holds back.
    """
    task, team_id, pseudonym = reviews.opened(session, token)
    names = shown_names.numbered_runs(session, task, {team_id: pseudonym})
    # A member's sight: a sealed task tells others not even which runs there are.
    shown = board.board(session, Viewer(team_ids=frozenset({team_id})), task.slug)
    own = (row for row in shown.rows if row.run_id in names)
    return ReviewPage(
        **shown.head,
        pseudonym=pseudonym,
        ranked_by=shown.ranked_by,
        ranked=sum(row.rank is not None for row in shown.rows) if shown.sight.means else 0,
        measures=shown.measures if shown.sight.means else (),
        runs=tuple(ReviewedRun(names[row.run_id], row.kind, row.rank, row.scores) for row in own),
    )


def table(page: ReviewPage) -> Table[ReviewedRun]:
    """The runs in the board's order."""

    def score(measure: MeasureColumn) -> Column[ReviewedRun]:
        digits = page.sight.decimals or measure.digits
        return Column(measure.key, lambda row: row.scores.get(measure.key), digits=digits)

    columns: list[Column[Any]] = [
        Column("run", lambda row: row.name, "Run"),
        Column("run_id", lambda row: row.run_id, shown=Place.DATA),
        Column("kind", lambda row: row.kind, "Kind"),
    ]
    if page.measures:
        columns.insert(0, Column("rank", lambda row: row.rank, "Rank", digits=0))
    of = (
        f" Ranks are among {page.ranked:,} ranked runs of all teams, by {page.ranked_by}."
        if page.ranked
        else ""
    )
    return Table(
        f"{page.slug}-{page.pseudonym}",
        f"Runs of {page.pseudonym} on {page.task}.{of}",
        [*columns, *(score(measure) for measure in page.measures)],
        page.runs,
    )
