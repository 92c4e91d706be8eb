"""The comparison of several runs as page, JSON, CSV and LaTeX, and the button that has it computed.

The routes of the first three are in web.comparisons, which tells comparisons of two runs from these.
"""

from dataclasses import replace
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.pages.comparisons import files, many
from leaderboard.pages.comparisons.many import Choice, ManyComparison, Pair
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import ranking_overlaps
from leaderboard.services.statistics.standings import ALPHA
from leaderboard.stats.orders.rbo import weight_of_top
from leaderboard.web import responses
from leaderboard.web.charts import Interval, IntervalChart, interval_chart
from leaderboard.web.charts.intervals import Kind
from leaderboard.web.charts.matrix import Matrix, matrix
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, wake, writing

blueprint = Blueprint("many_comparisons", __name__)

NUMBERS_UP_TO = 12
"""Runs up to which the cells of the matrix carry numbers."""
LINKS_UP_TO = 15
NOTES_UP_TO = 40
OVERLAPS_UP_TO = 20
"""Runs up to which all overlaps of rankings are shown, not only the largest."""
MOST_ALIKE = 20
EFFECTS_FROM = 1000
"""Topics from which on the cells carry effect sizes instead of p."""
STATE = ("measure", "method", "baseline", "edition")


def show(slug: str) -> ResponseReturnValue:
    """The page: every run against every other, or against a baseline."""
    found = _found(slug)
    html = render_template(
        "comparisons/many.html",
        found=found,
        args=_state(),
        matrix=_matrix(found) if found.pairs else None,
        chart=_chart(found),
        most_alike=_most_alike(found),
        overlaps=_overlaps(found) if len(found.runs) <= OVERLAPS_UP_TO else [],
        alpha=f"{ALPHA:.0%}",
        short_p=short_p,
        rbo=(ranking_overlaps.P, ranking_overlaps.DEPTH, weight_of_top(10, ranking_overlaps.P)),
    )
    return responses.page(html)


def show_json(slug: str) -> ResponseReturnValue:
    """The comparison as JSON."""
    return responses.as_json(files.as_json(_found(slug)))


def show_csv(slug: str) -> ResponseReturnValue:
    """All pairs as CSV."""
    return responses.as_csv(files.table(_found(slug)), f"{slug}-comparison")


def show_latex(slug: str) -> ResponseReturnValue:
    """The runs by one measure or several as a LaTeX table."""
    measures = request.args.getlist("measure")
    text = files.latex(reading(), viewer(), slug, _choice(), measures or (None,))
    return responses.as_latex(text, f"{slug}-comparison")


@blueprint.post("/tasks/<slug>/comparisons")
@rule(SIGNED_IN)
def ask(slug: str) -> ResponseReturnValue:
    """Have computed what the page of the comparison at this address waits for."""
    waiting = _found(slug).waiting
    if waiting:
        with writing() as session:
            for each in waiting:
                requests.ask(session, each.request)
        wake()
    return redirect(url_for("comparisons.compare", slug=slug, **_state()), 303)


def _found(slug: str) -> ManyComparison:
    measure = request.args.get("measure") or None
    return many.many_comparison(reading(), viewer(), slug, _choice(), measure)


def _choice() -> Choice:
    return Choice(
        run_ids=tuple(_number(text, "run") for text in request.args.getlist("run")),
        method=request.args.get("method") or None,
        baseline=_optional("baseline"),
        edition=_optional("edition"),
    )


def _optional(name: str) -> int | None:
    text = request.args.get(name, "")
    return _number(text, name) if text else None


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise NotFound(f"There is no {what} {text[:20]!r} here.")
    return int(text)


def _state() -> dict[str, Any]:
    """The parts of the address that choose what is shown, to be kept in links."""
    chosen = {key: request.args[key] for key in STATE if request.args.get(key)}
    return {"run": request.args.getlist("run"), **chosen}


def _matrix(found: ManyComparison) -> Matrix:
    count = len(found.runs)
    empty: list[list[Any]] = [[None] * count for _ in range(count)]
    notes, lines, links = ([list(row) for row in empty] for _ in range(3))
    for pair in found.pairs if count <= NOTES_UP_TO else ():
        for each in (pair, many.turned(pair)):
            notes[each.first][each.second] = _words(found, each)
            lines[each.first][each.second] = _lines(found, each)
            links[each.first][each.second] = _link(found, each) if count <= LINKS_UP_TO else None
    made = matrix(
        [each.run.name for each in found.runs],
        found.verdicts,
        notes=notes if count <= NOTES_UP_TO else None,
        lines=lines if count <= NUMBERS_UP_TO else None,
        hrefs=[url_for("runs.show", run_id=each.run.run_id) for each in found.runs],
        cell_hrefs=links if count <= LINKS_UP_TO else None,
    )
    return made if count <= NOTES_UP_TO else _without_words(made)


def _without_words(found: Matrix) -> Matrix:
    """The matrix with nothing to read where a cell is pointed at: of many runs that were most of the page."""
    rows = (replace(row, cells=tuple(replace(cell, label="") for cell in row.cells)) for row in found.rows)
    return replace(found, rows=tuple(rows))


def _link(found: ManyComparison, pair: Pair) -> str:
    one, two = (found.runs[each].run.run_id for each in (pair.first, pair.second))
    return url_for("comparisons.compare", slug=found.slug, a=one, b=two, measure=found.measure.key)


def _words(found: ManyComparison, pair: Pair) -> str:
    return f"{pair.difference:+.{found.measure.digits}f}, p {short_p(pair.adjusted)}"


def _lines(found: ManyComparison, pair: Pair) -> tuple[str, str]:
    difference = f"{pair.difference:+.{found.measure.digits}f}"
    if found.topics >= EFFECTS_FROM:
        return difference, "" if pair.effect is None else f"d {pair.effect:+.2f}"
    return difference, f"p {short_p(pair.adjusted)}"


def short_p(p: float) -> str:
    """A p to three places, never as the 0 it is not.

    >>> short_p(0.0123), short_p(1e-9), short_p(0.0), short_p(1.0)
    ('.012', '< .001', '0', '1')
    """
    if p in (0, 1):
        return f"{p:.0f}"
    return "< .001" if p < 0.0005 else f"{p:.3f}".removeprefix("0")


def _chart(found: ManyComparison) -> IntervalChart | None:
    """Each run's difference from the baseline, with its paired interval."""
    if found.baseline is None or not found.pairs:
        return None
    intervals = []
    for each in found.runs:
        link = url_for("runs.show", run_id=each.run.run_id)
        if each.against is None:
            intervals.append(Interval(each.run.name, 0.0, 0.0, 0.0, "reference", link))
            continue
        pair = each.against.pair
        low, high = (
            float(f"{sign}inf") if end is None else end for sign, end in (("-", pair.low), ("+", pair.high))
        )
        kind: Kind = "highlight" if each.against.verdict else "plain"
        intervals.append(Interval(each.run.name, pair.difference, low, high, kind, link))
    return interval_chart(intervals, digits=found.measure.digits)


def _most_alike(found: ManyComparison) -> list[Pair]:
    """The pairs whose rankings overlap most, for more runs than a matrix of numbers can show."""
    known = [pair for pair in found.pairs if pair.overlap is not None]
    return sorted(known, key=lambda pair: -(pair.overlap or 0.0))[:MOST_ALIKE]


def _overlaps(found: ManyComparison) -> list[list[float | None]]:
    """The overlap of every two rankings; none on the diagonal."""
    square: list[list[float | None]] = [[None] * len(found.runs) for _ in found.runs]
    for pair in found.pairs:
        square[pair.first][pair.second] = square[pair.second][pair.first] = pair.overlap
    return square
