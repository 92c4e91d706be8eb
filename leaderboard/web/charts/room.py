"""The small drawings of a judging room: ranks that a run may still have, judgments by the minute."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import Scale

LEFT, RIGHT = 2.0, 98.0
GAP = 0.2
"""The share of a bar's step that is left free."""


@dataclass(frozen=True, slots=True)
class RankCell:
    """A run between the first and the last rank: where it is and may come to stand, in percent across."""

    at: float
    soon: tuple[float, float]
    later: tuple[float, float]


@dataclass(frozen=True, slots=True)
class BarStrip:
    """Bars side by side, as a path in a box of so many units across and one up."""

    width: int
    path: str


def rank_cell(rank: int, soon: tuple[int, int], later: tuple[int, int], runs: int) -> RankCell:
    """Where a run's rank and the ranges of its ranks lie, the first rank at the left.

    >>> rank_cell(2, (1, 3), (1, 3), 3)
    RankCell(at=50.0, soon=(2.0, 98.0), later=(2.0, 98.0))
    """
    across = Scale(1.0, max(2.0, runs), LEFT, RIGHT)
    ends = [(across(first), across(last)) for first, last in (soon, later)]
    return RankCell(across(rank), *ends)


def bar_strip(values: Sequence[float], highest: float) -> BarStrip:
    """A bar for each value, of full height at the highest; of 0 there is none.

    >>> bar_strip([1, 0, 2], 2)
    BarStrip(width=3, path='M0.1 1V0.5h0.8V1zM2.1 1V0h0.8V1z')
    """
    bars = (
        f"M{place + GAP / 2:g} 1V{1 - min(1.0, value / highest):.3g}h{1 - GAP:g}V1z"
        for place, value in enumerate(values)
        if value > 0
    )
    return BarStrip(len(values), "".join(bars))
