"""The comparison of several runs as page, JSON, CSV and LaTeX, and the form that starts it.

The routes of the page and its files are in web.comparisons, which distinguishes two runs from several.
"""

from dataclasses import replace
from math import inf
from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.comparisons.page import many, many_tables
from leaderboard.comparisons.page.many import NUMBERS_UP_TO, Choice, ComparisonRow, ManyComparison, Pair
from leaderboard.comparisons.page.pair_tables import short_p
from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.scoring.ops.statistics.procedures import ranking_overlaps
from leaderboard.stats.orders.rbo import weight_of_top
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.tables.record import counted
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import Interval, IntervalChart, interval_chart
from leaderboard.web.charts.matrix import Matrix, matrix
from leaderboard.web.charts.ranges import Kind
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("many_comparisons", __name__)

LINKS_UP_TO = 15
NOTES_UP_TO = 40
OVERLAPS_UP_TO = 20
"""Maximum number of runs for which all overlaps are shown, not only the largest."""
MOST_ALIKE = 20
EFFECTS_FROM = 1000
"""Number of topics from which cells show effect sizes instead of p."""
VISITORS_MEASURES = 2
STATE = ("measure", "method", "baseline", "edition")


def show(slug: str) -> ResponseReturnValue:
    """The page: all pairs of runs, or comparisons with a baseline."""
    page = _page(slug)
    html = render_template(
        "comparisons/many.html",
        page=page,
        table=many_tables.runs(page),
        alike=many_tables.alike(page),
        args=_state(),
        matrix=_matrix(page) if page.pairs else None,
        chart=_chart(page),
        most_alike=MOST_ALIKE,
        most_measures=VISITORS_MEASURES,
        overlaps=_overlaps(page) if len(page.runs) <= OVERLAPS_UP_TO else [],
        alpha=f"{LEVEL:.1%}",
        rbo=(ranking_overlaps.P, ranking_overlaps.DEPTH, weight_of_top(10, ranking_overlaps.P)),
    )
    return http.page(html)


def export(slug: str, form: str) -> ResponseReturnValue:
    """All pairs as a file; in print the runs by one or more measures, unless a table is named."""
    if form not in http.PRINTED or "table" in request.args:
        return http.export(form, many_tables.FILES, _page(slug))
    measures = request.args.getlist("measure")
    _require_few(measures)
    table = many_tables.means(reading(), viewer(), slug, _choice(), measures or (None,))
    return http.table_file(form, table)


def _require_few(measures: list[str]) -> None:
    """Raise Invalid if a visitor requests many measures, since each is a separate comparison."""
    if len(measures) > VISITORS_MEASURES and viewer().account_id is None:
        rule = f"can have at most {VISITORS_MEASURES} measures at once without an account."
        remedy = "Sign in, or choose fewer measures."
        problem = Problem(rule, remedy, field="measure", value=str(len(measures)))
        raise Invalid("Too many measures for one table.", [problem])


actions.add_to(blueprint, (many.COMPUTE,))


def _page(slug: str) -> ManyComparison:
    return many.many_comparison(reading(), viewer(), slug, _choice())


def _choice() -> Choice:
    try:
        return fields.read(Choice, actions.sent(Choice, request.args))
    except Invalid as error:
        raise NotFound(error.message) from error


def _state() -> dict[str, Any]:
    """Query parameters to keep in links."""
    return {"run": request.args.getlist("run"), **kept(STATE)}


def _matrix(page: ManyComparison) -> Matrix:
    count = len(page.runs)
    empty: list[list[Any]] = [[None] * count for _ in range(count)]
    notes, lines, links = ([list(row) for row in empty] for _ in range(3))
    for pair in page.pairs if count <= NOTES_UP_TO else ():
        for cell in (pair, many.turned(pair)):
            notes[cell.first][cell.second] = _note(page, cell)
            lines[cell.first][cell.second] = _lines(page, cell)
            links[cell.first][cell.second] = _link(page, cell) if count <= LINKS_UP_TO else None
    verdict_matrix = matrix(
        [row.run.name for row in page.runs],
        page.verdicts,
        notes=notes if count <= NOTES_UP_TO else None,
        lines=lines if count <= NUMBERS_UP_TO else None,
        hrefs=[url_for("runs.show", run_id=row.run.run_id) for row in page.runs],
        cell_hrefs=links if count <= LINKS_UP_TO else None,
    )
    return verdict_matrix if count <= NOTES_UP_TO else _without_labels(verdict_matrix)


def _without_labels(verdict_matrix: Matrix) -> Matrix:
    """The matrix without tooltips, which would be most of the page for many runs."""
    rows = (
        replace(row, cells=tuple(replace(cell, label="") for cell in row.cells))
        for row in verdict_matrix.rows
    )
    return replace(verdict_matrix, rows=tuple(rows))


def _link(page: ManyComparison, pair: Pair) -> str:
    first_id, second_id = (page.runs[place].run.run_id for place in (pair.first, pair.second))
    return url_for("comparisons.compare", slug=page.slug, a=first_id, b=second_id)


def _note(page: ManyComparison, pair: Pair) -> str:
    needed = f", about {counted(pair.needed, 'topic')} needed" if pair.needed else ""
    return f"{pair.difference:+.{page.measure.digits}f}, p {short_p(pair.adjusted)}{needed}"


def _lines(page: ManyComparison, pair: Pair) -> tuple[str, ...]:
    difference = f"{pair.difference:+.{page.measure.digits}f}"
    needed = (counted(pair.needed, "topic"),) if pair.needed else ()
    if page.topics >= EFFECTS_FROM:
        return difference, "" if pair.effect is None else f"d {pair.effect:+.2f}", *needed
    return difference, f"p {short_p(pair.adjusted)}", *needed


def _chart(page: ManyComparison) -> IntervalChart | None:
    """Chart of differences from the baseline, with paired intervals."""
    if page.baseline is None or not page.pairs:
        return None
    return interval_chart([_interval(row) for row in page.runs], digits=page.measure.digits)


def _interval(row: ComparisonRow) -> Interval:
    link = url_for("runs.show", run_id=row.run.run_id)
    if row.against is None:
        return Interval(row.run.name, 0.0, 0.0, 0.0, "reference", link)
    pair = row.against.pair
    low = -inf if pair.low is None else pair.low
    high = inf if pair.high is None else pair.high
    kind: Kind = "highlight" if row.against.verdict else "plain"
    return Interval(row.run.name, pair.difference, low, high, kind, link)


def _overlaps(page: ManyComparison) -> list[list[float | None]]:
    """Matrix of overlaps; None on the diagonal."""
    square: list[list[float | None]] = [[None] * len(page.runs) for _ in page.runs]
    for pair in page.pairs:
        square[pair.first][pair.second] = square[pair.second][pair.first] = pair.overlap
    return square
