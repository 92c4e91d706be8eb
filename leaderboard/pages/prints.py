"""Tables as they are printed: fewer columns than the files of full precision, and a caption that says all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaderboard.pages.boards.intervals import IntervalsPage
from leaderboard.pages.comparisons.pair import PairPage
from leaderboard.pages.scores import measure_orders
from leaderboard.pages.scores.measure_agreement import COEFFICIENTS
from leaderboard.pages.scores.measure_orders import OrdersPage
from leaderboard.services.evaluations.shown import Basis, rests_on


@dataclass(frozen=True, slots=True)
class Printed:
    """A table to be printed; digits are the decimals of a column's numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str
    digits: Mapping[str, int] = field(default_factory=dict)


def of_orders(found: OrdersPage) -> Printed:
    """Every coefficient for every two measures."""
    header, rows = measure_orders.table(found)
    heads = ["True order", "Order", *(each.title for each in COEFFICIENTS.values())]
    assert len(heads) == len(header), "a column for each coefficient"
    caption = f"{found.task}: agreement of the orders of {_counted(len(found.runs), 'run')} by two measures"
    return Printed(heads, rows, f"{caption}{_under(found.basis)}.", dict.fromkeys(heads[2:], 3))


def of_intervals(found: IntervalsPage) -> Printed:
    """Rank, mean and the intervals of both."""
    value = f"{found.ranked_by}"
    header = ["Rank", "Run", value, "95% interval", "Rank range", "Rank alone", "First in"]
    digits = found.measure.digits
    body = [
        [
            *(row.rank, row.run, row.value, _span(row.mean_low, row.mean_high, digits)),
            *(_span(row.rank_low, row.rank_high), _span(row.marginal_low, row.marginal_high)),
            None if row.first is None else f"{row.first:.1%}",
        ]
        for row in found.rows
    ]
    caption = (
        f"{found.task}: runs by {found.ranked_by}{_under(found.basis)}, with the 95% t interval of each "
        f"mean, the range of ranks from all pairs ({found.comparison}), the 95% interval of each rank alone "
        "and the share of resamples in which the run comes first."
    )
    return Printed(header, body, caption, {value: digits})


def of_pair(page: PairPage) -> Printed:
    """Two runs on every topic, best of the first run first."""
    header = ["Topic", page.first.name, page.second.name, "Difference"]
    body = [[each.topic_id, each.first, each.second, each.difference] for each in page.topics]
    caption = (
        f"{page.task}: {page.measure.key} of {page.first.name} and {page.second.name} by topic"
        f"{_under(page.basis)}; {page.measure.direction} is better."
    )
    return Printed(header, body, caption, dict.fromkeys(header, page.measure.digits))


def _under(basis: Basis | None) -> str:
    return "" if basis is None else f", under {rests_on(basis.revision, basis.topics, basis.dialect)}"


def _span(low: float | None, high: float | None, digits: int = 0) -> str | None:
    return None if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
