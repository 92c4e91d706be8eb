"""Comparisons at one address: two runs (`a`, `b`), several (`run`, repeated), or a form."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.comparisons.page import matrix, pair, pair_tables
from leaderboard.comparisons.page.matrix import AllPairs, MatrixChoice
from leaderboard.comparisons.page.pair import RECALLS, PairedDocument, PairPage
from leaderboard.comparisons.page.pair_tables import short_p
from leaderboard.comparisons.web import many
from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.stats.orders.rbo import weight_of_top
from leaderboard.stats.standing import RECOMMENDED, ROPE
from leaderboard.web import http, marks
from leaderboard.web.addresses import PACKED, READ_BY_ALL, kept, whole
from leaderboard.web.charts import (
    BarChart,
    Curve,
    Difference,
    LineChart,
    Pair,
    Ranked,
    RankingsChart,
    ScatterChart,
    line_chart,
    rankings_chart,
    scatter_chart,
    signed_bars,
)
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

LARGEST, SMALLEST, ACROSS = 30, 8, 1150
"""Sides of a cell in pixels, and how wide all cells may be together."""
NAMED_FROM = 11
"""From this cell size on, names are also shown above the columns."""
LETTER = 0.62


@dataclass(frozen=True, slots=True)
class MatrixDrawing:
    """Sides in pixels; paths by the class of their cells; a baseline for each row's name."""

    cell: int
    left: int
    top: int
    width: int
    height: int
    font: int
    paths: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


def draw(pairs: AllPairs) -> MatrixDrawing:
    """Draw the matrix; neighbours of one shade in a row are one line, as thick as a cell."""
    count = len(pairs.rows)
    cell = max(SMALLEST, min(LARGEST, ACROSS // count))
    font = min(13, cell)
    names = tuple(row.run if len(row.run) <= 24 else f"{row.run[:23]}…" for row in pairs.rows)
    left = int(max(map(len, names)) * font * LETTER) + 8
    top = left if cell >= NAMED_FROM else 4
    return MatrixDrawing(
        cell=cell,
        left=left,
        top=top,
        width=left + cell * count,
        height=top + cell * count,
        font=font,
        paths=_paths(pairs, cell, left, top),
        names=names,
    )


def _paths(pairs: AllPairs, cell: int, left: int, top: int) -> tuple[tuple[str, str], ...]:
    drawn: defaultdict[str, list[str]] = defaultdict(list)
    ends: dict[str, tuple[int, int]] = {}
    for at, (signs, steps) in enumerate(zip(pairs.signs, pairs.steps, strict=True)):
        kinds = list(map(_kind, signs, steps))
        kinds[at] = "self"
        start = 0
        for to in range(1, len(kinds) + 1):
            if to < len(kinds) and kinds[to] == kinds[start]:
                continue
            if kinds[start] != "self":
                x, y = left + start * cell, top + at * cell + cell // 2
                before = ends.get(kinds[start], (0, 0))
                across = (to - start) * cell - 1
                # Relative to the line before: the numbers stay short, and compress well.
                drawn[kinds[start]].append(f"m{x - before[0]} {y - before[1]}h{across}")
                ends[kinds[start]] = (x + across, y)
            start = to
    return tuple((kind, "".join(parts)) for kind, parts in sorted(drawn.items()))


def _kind(sign: int, step: int) -> str:
    return "level" if not sign else f"{'up' if sign > 0 else 'down'}-{step}"


blueprint = Blueprint("comparisons", __name__)

DEFAULT_P = 0.9
PERSISTENCES = (0.8, 0.9, 0.95, 0.98)
"""Persistences of rank-biased overlap offered on the page."""
TOP = 10
LONGEST = 200
ROWS_AT_FIRST = 200
MOST_LINKED = 600
"""Maximum number of topics with one mark each in a chart, and in a selection list."""
STATE = ("a", "b", "measure", "p", "topic", "margin")


@blueprint.get("/tasks/<slug>/compare")
@rule(PUBLIC, is_computed=True, carries="edition")
def compare(slug: str) -> ResponseReturnValue:
    """Two runs side by side, several with one correction, or the form to choose runs."""
    if _are_two():
        a, b = request.args.getlist("run")
        return redirect(url_for("comparisons.compare", slug=slug, a=a, b=b, **kept(("measure",))), 303)
    if _several():
        return many.show(slug)
    if not _chosen():
        return _choose(slug)
    return http.page(_pair_html(_pair(slug)))


def _choose(slug: str) -> ResponseReturnValue:
    """The matrix of all pairs and the form to choose two by name; two names lead to their page."""
    args = request.args
    choice = MatrixChoice(
        measure=args.get("measure") or None,
        order="topics" if args.get("order") == "topics" else "rank",
        search=args.get("q", "").strip()[:LONGEST],
        team=args.get("team", ""),
    )
    page = matrix.matrix_page(reading(), viewer(), slug, choice)
    problems = {}
    if "first" in args and "second" in args:
        ids = {row.run: row.run_id for row in page.rows}
        first, second = (ids.get(args[name].strip()) for name in ("first", "second"))
        if first and second and first != second:
            state = kept(("measure",))
            return redirect(url_for("comparisons.compare", slug=slug, a=first, b=second, **state), 303)
        problems = {
            name: f"No scored run is named {args[name][:LONGEST]!r}. Choose a run from the list."
            for name in ("first", "second")
            if args[name].strip() not in ids
        } or {"second": "Choose two different runs."}
    html = render_template(
        "comparisons/choose.html",
        page=page,
        sent=args,
        picked=next((row for row in page.rows if str(row.run_id) == args.get("run")), None),
        drawing=draw(page.pairs) if page.pairs else None,
    )
    return http.page(marks.marked(html, problems) if problems else html)


def _pair_html(page: PairPage) -> str:
    links = _links(page)
    chosen = next((topic for topic in page.topics if topic.topic_id == page.topic), None)
    return render_template(
        "comparisons/pair.html",
        page=page,
        tables={name: table(page) for name, table in pair_tables.FILES.tables.items()},
        chosen=chosen,
        chosen_table=pair_tables.rankings_of_topic(chosen) if chosen and chosen.alike else None,
        args=kept(STATE, flags=["all"]),
        rows=page.topics if "all" in request.args else page.topics[:ROWS_AT_FIRST],
        recommended=RECOMMENDED,
        rope=ROPE,
        short_p=short_p,
        against_margin=_against_margin(page),
        bars=_bars(page, links),
        scatter_chart=_scatter(page, links),
        most_listed=MOST_LINKED,
        curves=_curves(page),
        overlap=_overlap(page),
        side_by_side=_side_by_side(page),
        persistences=sorted({*PERSISTENCES, page.p}),
        weight=weight_of_top(TOP, page.p),
    )


def _against_margin(page: PairPage) -> list[str]:
    """Sentences on the first run against the second and the margin."""
    if page.gated is None:
        return []
    return pair.sentences(page.gated, page.first.name, page.second.name, page.measure.digits)


@blueprint.get("/tasks/<slug>/compare.<form:form>")
@rule(PUBLIC, is_computed=True)
def export(slug: str, form: str) -> ResponseReturnValue:
    """Two runs by topic, or all pairs of several, as a file."""
    if _several() or (form in http.PRINTED and not _chosen()):
        return many.export(slug, form)
    return http.export(form, pair_tables.FILES, _pair(slug))


def _are_two() -> bool:
    """Whether exactly two runs are selected without other settings, so that the pair page applies."""
    return len(request.args.getlist("run")) == 2 and not request.args.keys() - {"run", PACKED, *READ_BY_ALL}


def _several() -> bool:
    return len(request.args.getlist("run")) > 1


def _chosen() -> bool:
    return bool(request.args.get("a") and request.args.get("b"))


def _pair(slug: str) -> PairPage:
    if not _chosen():
        raise NotFound("Name the runs: ?a= and ?b=, or ?run= at least twice.")
    return pair.pair_page(
        reading(),
        viewer(),
        slug,
        _run("a"),
        _run("b"),
        request.args.get("measure") or None,
        topic=request.args.get("topic") or None,
        p=_persistence(),
        margin=_margin(),
    )


def _run(name: str) -> int:
    text = request.args[name]
    run_id = whole(text)
    if run_id is None:
        raise NotFound(f"Run {text[:20]!r} does not exist here.")
    return run_id


def _persistence() -> float:
    text = request.args.get("p", str(DEFAULT_P))
    try:
        p = float(text)
    except ValueError:
        p = 0.0
    if not 0.05 <= p <= 0.999:
        problem = Problem("must be a number from 0.05 to 0.999.", "Try 0.9.", field="p", value=text[:20])
        raise Invalid("The persistence of rank-biased overlap is not valid.", [problem])
    return p


def _margin() -> float | None:
    text = request.args.get("margin") or None
    if text is None:
        return None
    try:
        margin = float(text)
    except ValueError:
        margin = -1.0
    if not 0 <= margin < float("inf"):
        problem = Problem("must be a number of at least 0.", "Try 0.01.", field="margin", value=text[:20])
        raise Invalid("The margin is not valid.", [problem])
    return margin


def _bars(page: PairPage, links: Mapping[str, str]) -> BarChart:
    differences = [
        Difference(topic.topic_id, topic.difference, links.get(topic.topic_id)) for topic in page.topics
    ]
    return signed_bars(differences, digits=page.measure.digits)


def _scatter(page: PairPage, links: Mapping[str, str]) -> ScatterChart:
    pairs = [
        Pair(topic.topic_id, topic.first, topic.second, links.get(topic.topic_id)) for topic in page.topics
    ]
    return scatter_chart(pairs, digits=page.measure.digits)


def _curves(page: PairPage) -> LineChart:
    runs = zip((page.first, page.second), page.rankings.precision, strict=True)
    return line_chart(
        [Curve(run.name, list(zip(RECALLS, points.tolist(), strict=True))) for run, points in runs]
    )


def _overlap(page: PairPage) -> LineChart | None:
    alike = page.rankings.comparison
    if alike is None:
        return None
    points = [(float(depth), value) for depth, value in enumerate(alike.overlap_by_depth.tolist(), start=1)]
    return line_chart([Curve("overlap", points)])


def _side_by_side(page: PairPage) -> RankingsChart | None:
    both = page.side_by_side
    if both is None:
        return None
    sides = ([_ranked(page, document) for document in side] for side in (both.first, both.second))
    return rankings_chart(*sides, level=page.level)


def _ranked(page: PairPage, document: PairedDocument) -> Ranked:
    # Without a topic, only documents with stored text have a page.
    link = url_for("rankings.document", slug=page.slug, docno=document.docno, topic=page.topic)
    return Ranked(document.docno, document.grade, link, document.elsewhere, document.title)


def _links(page: PairPage) -> dict[str, str]:
    """Topic -> address of both rankings side by side; empty with too many topics."""
    if len(page.topics) > MOST_LINKED:
        return {}
    chosen = {**kept(STATE, flags=["all"]), "_anchor": "topic"}
    return {
        topic.topic_id: url_for("comparisons.compare", slug=page.slug, **{**chosen, "topic": topic.topic_id})
        for topic in page.topics
    }
