"""The heat map of all scores, runs by topics, as page, JSON, CSV and LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from leaderboard.boards.page.scores import heat_maps
from leaderboard.boards.page.scores.heat_maps import Choice, HeatMap
from leaderboard.boards.page.scores.table import ComparedRun
from leaderboard.core import policy
from leaderboard.scoring.ops.evaluations.shown import FloatArray
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.charts import heat_bounds, heat_difference_bounds
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("heat_maps", __name__)

STATE = ("measure", "rows", "columns", "topic", "run", "show", "runs", "topics")
MOST_LINKED = 1_500
"""Maximum number of cells that all link; in larger maps only those of a selected run or topic do."""

ROUNDING = 1e-9
"""A score that is less than a step's end by no more than this has reached it."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A run with rendered cells, because rendering thousands one by one is slow."""

    run: ComparedRun
    mean: float
    is_own: bool
    cells: Markup


@blueprint.get("/tasks/<slug>/heatmap")
@rule(PUBLIC, carries="edition")
def show(slug: str) -> ResponseReturnValue:
    """Scores of all runs on all topics."""
    page = _map(slug)
    html = render_template(
        "boards/scores/heat_map.html",
        page=page,
        rows=_rows(page),
        medians=_medians(page),
        orders=(heat_maps.ROWS, heat_maps.COLUMNS),
        args=kept(STATE),
        hundredths=_in_hundredths(page),
        all_linked=_all_linked(page),
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/heatmap.<form:form>")
@rule(PUBLIC)
def export(slug: str, form: str) -> ResponseReturnValue:
    """The complete heat map as a file."""
    return http.export(form, heat_maps.FILES, _map(slug, whole=True))


def _map(slug: str, *, whole: bool = False) -> HeatMap:
    given = request.args
    choice = Choice(
        measure=given.get("measure") or None,
        rows=given.get("rows") or "score",
        columns=given.get("columns") or "order",
        topic=given.get("topic", ""),
        run=given.get("run", type=int),
        difference=given.get("show") == "difference",
        runs_page=given.get("runs", 1, type=int),
        topics_page=given.get("topics", 1, type=int),
        whole=whole,
    )
    return heat_maps.heat_map(reading(), viewer(), slug, choice)


def _rows(page: HeatMap) -> tuple[ShownRow, ...]:
    """Rows of runs with coloured cells."""
    all_linked = _all_linked(page)
    linked = [all_linked or topic.topic_id == page.choice.topic for topic in page.topics]
    cells = _Cells(page, page.choice.difference)
    rows = []
    for run, mean, values in zip(page.runs, page.means, page.values, strict=True):
        hrefs = None
        if any(linked) or run.run_id == page.choice.run:
            chosen = run.run_id == page.choice.run
            hrefs = [
                _ranking(run, topic.topic_id) if chosen or leads else ""
                for topic, leads in zip(page.topics, linked, strict=True)
            ]
        mine = policy.owns(viewer(), run.team_id)
        rows.append(ShownRow(run, mean, mine, cells.row(values, hrefs)))
    return tuple(rows)


def _medians(page: HeatMap) -> Markup:
    """Cells of the topic medians; uncoloured if colours show differences from them."""
    medians = np.array([topic.median or 0.0 for topic in page.topics])
    return _Cells(page, False, is_coloured=not page.choice.difference).row(medians)


def _all_linked(page: HeatMap) -> bool:
    """Whether each score links to its ranking."""
    return bool(page.scores.size <= MOST_LINKED)


def _ranking(run: ComparedRun, topic_id: str) -> str:
    return url_for("rankings.show", run_id=run.run_id, topic_id=topic_id)


def _in_hundredths(page: HeatMap) -> bool:
    """Whether all scores are in [0, 1], so that cells can show hundredths."""
    return page.low >= 0.0 and page.high <= 1.0


class _Cells:
    """Renders values as cells, with one cached string per colour and text."""

    def __init__(self, page: HeatMap, difference: bool, *, is_coloured: bool = True) -> None:
        bounds = heat_difference_bounds(page.widest) if difference else heat_bounds(page.low, page.high)
        self._steps = [name for name, _, _ in bounds] if is_coloured else ["none"] * len(bounds)
        if difference and page.widest <= 0.0:
            self._steps = ["level"] * len(bounds)
        self._edges = np.array([low for _, low, _ in bounds[1:]])
        self._difference = difference
        self._scale = 100.0 if _in_hundredths(page) else 1.0
        self._decimals = 0 if self._scale > 1 or max(page.high, -page.low) >= 100 else 1
        self._made: dict[tuple[int, float], Markup] = {}

    def row(self, values: FloatArray, hrefs: Sequence[str] | None = None) -> Markup:
        """The cells of a row; with addresses, those that have one are links."""
        steps = np.searchsorted(self._edges, values + ROUNDING, side="right").tolist()
        shown = np.round(values * self._scale, self._decimals).tolist()
        if hrefs is not None:
            texts = zip(steps, shown, hrefs, strict=True)
            return Markup("").join(self._cell(step, self._text(value), href) for step, value, href in texts)
        by_key = self._made
        cells = []
        for key in zip(steps, shown, strict=True):
            if key not in by_key:
                by_key[key] = self._cell(key[0], self._text(key[1]), "")
            cells.append(by_key[key])
        return Markup("").join(cells)

    def _cell(self, step: int, text: str, href: str) -> Markup:
        if href:
            return Markup('<td class="{}"><a href="{}">{}</a></td>').format(self._steps[step], href, text)
        return Markup('<td class="{}">{}</td>').format(self._steps[step], text)

    def _text(self, value: float) -> str:
        text = f"{abs(value):.{self._decimals}f}"
        if value < 0:
            return f"−{text}"
        return f"+{text}" if self._difference and value > 0 else text
