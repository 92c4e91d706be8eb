"""Rankings by measure as files and tables: coefficients, power, moves, standardised scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard.boards.page.scores.measure_orders import (
    COEFFICIENTS,
    CoefficientReading,
    OrderedRun,
    OrdersPage,
    PairOfOrders,
    PairsToldApart,
    RunMove,
    StandardisedOrder,
    StandardisedRun,
    better_values,
)
from leaderboard.errors import NotFound
from leaderboard.scoring.ops.evaluations.shown import rests_on
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


@dataclass(frozen=True, slots=True)
class TwoOrders:
    """Two measures, the first as reference, with every coefficient by name."""

    truth: MeasureColumn
    order: MeasureColumn
    values: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Power:
    """A measure and the number of significantly different pairs of runs."""

    measure: MeasureColumn
    apart: PairsToldApart


@dataclass(frozen=True, slots=True)
class MovedRun:
    """A run whose rank changes between two measures."""

    run: OrderedRun
    move: RunMove


def facts(page: OrdersPage) -> dict[str, Any]:
    """The rankings as plain values at full precision."""
    basis = page.basis
    return {
        "task": page.slug,
        "revision": basis.revision if basis else None,
        "edition": basis.edition if basis else None,
        "dialect": basis.dialect if basis else None,
        "topics": basis.topics if basis else None,
        "measures": powers(page).facts(),
        "comparison": page.comparison,
        "said": page.why_empty,
        "coefficients": table(page).facts(),
        "rows": [_run_facts(page, run) for run in page.runs],
        "standardised": _standardised_facts(page.standardised),
    }


def table(page: OrdersPage) -> Table[TwoOrders]:
    """Table of all coefficients for every two measures."""
    columns: list[Column[TwoOrders]] = [
        Column("true_order", lambda row: row.truth.key, "Reference"),
        Column("order", lambda row: row.order.key, "Compared"),
        *(_coefficient_column(name) for name in COEFFICIENTS),
    ]
    runs = f"{len(page.runs):,} {'run' if len(page.runs) == 1 else 'runs'}"
    basis = page.basis
    under = (
        f", under {rests_on(basis.revision, basis.topics, basis.dialect, basis.left_out)}" if basis else ""
    )
    caption = f"{page.task}: agreement of the rankings of {runs} by two measures{under}."
    return Table(f"{page.slug}-measures", caption, columns, _two_orders(page))


def powers(page: OrdersPage) -> Table[Power]:
    """Table of the significantly different pairs of ranked runs by measure."""
    columns = columns_from(
        Power,
        "measure.key measure.version measure.direction apart.told_apart apart.pairs",
        Column(
            "discriminative_power",
            lambda row: row.apart.share,
            "Significant pairs",
            title=f"{page.comparison}, 5%",
            words=lambda row: power_in_words(row.apart),
            digits=2,
        ),
    )
    rows = [Power(*row) for row in zip(page.columns, page.told_apart, strict=True)]
    caption = (
        f"{page.task}: pairs of ranked runs significantly different by each measure ({page.comparison}, 5%)."
    )
    return Table(f"{page.slug}-power", caption, columns, rows)


def readings(page: OrdersPage) -> Table[CoefficientReading]:
    """Table of every coefficient for the two compared measures."""
    pair = _pair(page)
    columns: list[Column[CoefficientReading]] = [
        Column("coefficient", _reading_title, "Coefficient"),
        Column("value", lambda row: row.value, "Value", digits=3),
        Column("words", lambda row: _reading_words(pair, row), "Meaning", shown=Place.PAGE),
    ]
    caption = f"Agreement of the rankings by {pair.first.key} and {pair.second.key}."
    return Table(f"{page.slug}-coefficients", caption, columns, pair.readings)


def moves(page: OrdersPage) -> Table[MovedRun]:
    """Table of runs whose rank changes between the two measures, largest moves first."""
    pair = _pair(page)
    first, second = page.columns.index(pair.first), page.columns.index(pair.second)
    columns = columns_from(
        MovedRun,
        "run.name run.run_id run.team",
        _value_column(pair.first, first),
        "move.first_rank",
        _value_column(pair.second, second),
        "move.second_rank",
        Column(
            "move", lambda row: row.move.move, "Move", words=lambda row: up_or_down(row.move.move), digits=0
        ),
    )
    rows = [MovedRun(page.runs[move.at], move) for move in pair.moves if move.move]
    caption = (
        f"The largest moves from the ranking by {pair.first.key} to that by {pair.second.key}. "
        "Ties share a rank."
    )
    return Table(f"{page.slug}-moves", caption, columns, rows)


def standardised(page: OrdersPage) -> Table[StandardisedRun]:
    """Table of the ranking by standardised scores next to the raw one."""
    order = page.standardised
    if order is None:
        raise NotFound("No standardisation selected. Choose one with ?standardised=.")
    columns = columns_from(
        StandardisedRun,
        "run run_id standardised standardised_rank",
        Column("score", lambda row: row.value, order.column.key, digits=order.column.digits),
        "rank",
        Column(
            "move",
            lambda row: row.move,
            "Move",
            words=lambda row: up_or_down(row.move),
            digits=0,
            shown=~Place.DATA,
        ),
    )
    caption = f"The ranking by standardised {order.column.key} next to the raw one."
    return Table(f"{page.slug}-standardised", caption, columns, order.runs)


FILES = Files(
    facts=facts,
    tables={
        "coefficients": table,
        "power": powers,
        "closely": readings,
        "moves": moves,
        "standardised": standardised,
    },
)


def power_in_words(apart: PairsToldApart) -> str | None:
    """The share of significantly different pairs in percent, None if unknown."""
    return None if apart.share is None else f"{100 * apart.share:.0f}%"


def up_or_down(move: int) -> str:
    """The number of ranks that a run moves, with an arrow.

    >>> up_or_down(2), up_or_down(-1), up_or_down(0)
    ('▲ 2', '▼ 1', '–')
    """
    if not move:
        return "–"
    return f"▲ {move}" if move > 0 else f"▼ {-move}"


def _pair(page: OrdersPage) -> PairOfOrders:
    if page.pair is None:
        raise NotFound(page.why_empty or "There are no two rankings to compare.")
    return page.pair


def _two_orders(page: OrdersPage) -> Sequence[TwoOrders]:
    if page.why_empty:
        return []
    better = better_values([run.values for run in page.runs], page.columns)
    return [
        TwoOrders(
            truth,
            order,
            {
                name: coefficient.compute(better[second], better[first])
                for name, coefficient in COEFFICIENTS.items()
            },
        )
        for first, truth in enumerate(page.columns)
        for second, order in enumerate(page.columns)
        if first != second
    ]


def _coefficient_column(name: str) -> Column[TwoOrders]:
    return Column(name, lambda row: row.values[name], COEFFICIENTS[name].title, digits=3)


def _value_column(measure: MeasureColumn, at: int) -> Column[MovedRun]:
    return Column(measure.key, lambda row: row.run.values[at], digits=measure.digits)


def _reading_title(reading: CoefficientReading) -> str:
    return (
        f"{reading.coefficient.title}, reference {reading.truth}"
        if reading.truth
        else reading.coefficient.title
    )


def _reading_words(pair: PairOfOrders, reading: CoefficientReading) -> str:
    sentences = [f"The ranking by {reading.truth} is the reference."] if reading.truth else []
    if reading.truth in ("", pair.first.key):
        sentences.append(reading.coefficient.words)
    return " ".join(sentences)


def _run_facts(page: OrdersPage, run: OrderedRun) -> dict[str, Any]:
    keys = [measure.key for measure in page.columns]
    return {
        "run": run.name,
        "run_id": run.run_id,
        "team": run.team,
        "scores": dict(zip(keys, run.values, strict=True)),
        "ranks": dict(zip(keys, run.ranks, strict=True)),
    }


def _standardised_facts(order: StandardisedOrder | None) -> dict[str, Any] | None:
    if order is None:
        return None
    return {
        "form": order.form,
        "measure": order.column.key,
        "reference": "all ranked runs",
        "tau_b": order.tau_b,
        "said": order.why_missing,
        "rows": [
            {
                "run": run.run,
                "run_id": run.run_id,
                "score": run.value,
                "rank": run.rank,
                "standardised": run.standardised,
                "standardised_rank": run.standardised_rank,
            }
            for run in order.runs
        ],
    }
