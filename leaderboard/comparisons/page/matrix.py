"""All ranked runs of a board against each other, at a glance."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.boards.ops.rows import Row
from leaderboard.boards.page.scores.table import comparable, require_details
from leaderboard.core.policy import Viewer
from leaderboard.scoring.ops.evaluations.shown import FloatArray
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import Standing
from leaderboard.stats.pairs.condensed import square

Order = Literal["rank", "topics"]
STEPS = 3
"""Shades of a difference."""


@dataclass(frozen=True, slots=True)
class MatrixChoice:
    """Choice of runs and display: a measure, an order, words of a run's name, a team."""

    measure: str | None = None
    order: Order = "rank"
    search: str = ""
    team: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class AllPairs:
    """Verdicts and differences of the chosen runs, (n, n) each, in their order.

    signs: 1 where the row's run is significantly better, -1 where it is significantly worse, else 0.
    steps: the size of the difference in thirds of the largest one, 1 to 3.
    """

    rows: tuple[Row, ...]
    signs: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, ...], ...]
    largest: float
    decided: int
    """Pairs of the chosen runs that differ significantly."""

    @property
    def pairs(self) -> int:
        """Number of pairs among the chosen runs."""
        return len(self.rows) * (len(self.rows) - 1) // 2


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixPage(TaskHead):
    """The runs that can be compared, and what is known of all pairs of them.

    rows: all scored runs in the board's order. pairs is None until the runs have been compared, where
    fewer than two are chosen, and where there are too few topics.
    """

    rows: tuple[Row, ...]
    teams: tuple[str, ...]
    measures: tuple[MeasureColumn, ...]
    measure: MeasureColumn
    choice: MatrixChoice
    pairs: AllPairs | None
    method: str
    waiting: WaitingResult | None
    why_not: str
    """Why there is no comparison, where neither pairs nor waiting says it."""


def matrix_page(session: Session, viewer: Viewer, slug: str, choice: MatrixChoice) -> MatrixPage:
    """Return the matrix of a board; raises NotFound while comparisons are hidden."""
    shown = board.board(session, viewer, slug, choice.measure)
    require_details(shown.access)
    rows = tuple(row for row in shown.rows if row.scores.get(shown.sorted_by) is not None)
    standing = shown.standing
    pairs = _pairs(standing, rows, choice) if isinstance(standing, Standing) else None
    return MatrixPage(
        **shown.head,
        rows=rows,
        teams=tuple(sorted({row.team for row in rows if row.team})),
        measures=comparable(shown.measures),
        measure=shown.by,
        choice=choice,
        pairs=pairs,
        method=standing.method.title if isinstance(standing, Standing) else "",
        waiting=standing if isinstance(standing, WaitingResult) else None,
        why_not="" if pairs or not shown.sentences else shown.sentences[0],
    )


def _pairs(standing: Standing, rows: tuple[Row, ...], choice: MatrixChoice) -> AllPairs | None:
    chosen = [row for row in rows if row.run_id in standing.places and _is_chosen(row, choice)]
    if len(chosen) < 2:
        return None
    place = {run_id: at for at, run_id in enumerate(standing.run_ids)}
    at = np.array([place[row.run_id] for row in chosen])
    difference = standing.sign * square(standing.table.difference, len(standing.run_ids), mirrored=-1)
    if choice.order == "topics":
        at = at[_by_topics(_correlations(standing)[np.ix_(at, at)])]
        by_id = {row.run_id: row for row in chosen}
        chosen = [by_id[standing.run_ids[here]] for here in at.tolist()]
    signs, sizes = standing.verdicts.signs[np.ix_(at, at)], np.abs(difference[np.ix_(at, at)])
    largest = float(sizes.max())
    steps = np.clip(np.ceil(STEPS * sizes / (largest or 1.0)), 1, STEPS).astype(int)
    return AllPairs(
        rows=tuple(chosen),
        signs=tuple(map(tuple, signs.tolist())),
        steps=tuple(map(tuple, steps.tolist())),
        largest=largest,
        decided=int(np.count_nonzero(signs > 0)),
    )


def _is_chosen(row: Row, choice: MatrixChoice) -> bool:
    words = choice.search.casefold().split()
    text = f"{row.run} {row.team}".casefold()
    return (not choice.team or row.team == choice.team) and all(word in text for word in words)


def _correlations(standing: Standing) -> FloatArray:
    """Correlations of the runs' scores by topic, (n, n), from the intervals of runs and of pairs.

    All intervals have the same multiplier, so it cancels out of r = (a² + b² - d²) / 2ab.
    """
    half = np.array([standing.half_widths.get(run_id, 0.0) for run_id in standing.run_ids])
    width = (standing.table.high - standing.table.low) / 2
    apart = square(width, len(half), mirrored=1)
    product = 2 * np.outer(half, half)
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = (half[:, None] ** 2 + half[None, :] ** 2 - apart**2) / product
    correlations: FloatArray = np.nan_to_num(np.clip(alike, -1, 1), nan=0.0, posinf=0.0, neginf=0.0)
    return correlations


def _by_topics(alike: FloatArray) -> list[int]:
    """An order that groups runs that do well on the same topics: average linkage.

    alike: (n, n), the runs best first; of two groups that join, the one with the better best run is first.
    Source: Sokal and Michener 1958.

    >>> _by_topics(np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.1], [0.9, 0.1, 1.0]]))
    [0, 2, 1]
    """
    groups = [[at] for at in range(len(alike))]
    near = alike.astype(float)
    np.fill_diagonal(near, -np.inf)
    while len(groups) > 1:
        first, second = sorted(divmod(int(np.argmax(near)), len(groups)))
        first_size, second_size = len(groups[first]), len(groups[second])
        joined = (first_size * near[first] + second_size * near[second]) / (first_size + second_size)
        near[first], near[:, first] = joined, joined
        near[first, first] = -np.inf
        near = np.delete(np.delete(near, second, axis=0), second, axis=1)
        better, worse = sorted((groups[first], groups.pop(second)), key=min)
        groups[first] = better + worse
    return groups[0]
