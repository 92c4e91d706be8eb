"""A task's board as page, JSON, CSV and LaTeX."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import Row
from leaderboard.boards.page import cards, snapshot, tables
from leaderboard.boards.page import intervals as boards_intervals
from leaderboard.boards.page import view as board_views
from leaderboard.boards.page.cards import task_data
from leaderboard.boards.page.view import BASELINE, MEANS, BoardChoice, Bounds, Coverage, View
from leaderboard.boards.web.cards import heads
from leaderboard.boards.web.cards.heads import Head
from leaderboard.core.policy import Viewer
from leaderboard.errors import NotFound
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.scoring.ops.statistics.requests import computing
from leaderboard.scoring.ops.statistics.standings import PairOfRuns, Place, Standing
from leaderboard.tables.record import counted
from leaderboard.web import actions, filters, http
from leaderboard.web.addresses import FLAGS, MANY, STATE, addresses_by_id, is_usual, kept, whole
from leaderboard.web.charts import Interval, IntervalChart, Pair, ParetoChart, interval_chart, pareto_chart
from leaderboard.web.charts.ranges import BoardMeans, Kind, MeanOfRun, board_means
from leaderboard.web.filters import score, without
from leaderboard.web.http import own_origin
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

LENGTH = "AnswerLength"
UNITS = {"nfkc-words": "words after NFKC", "words": "words", "characters": "characters"}
LEAST_DRAWN = 2


@dataclass(frozen=True, slots=True)
class LengthChart:
    """A chart of scores by length, with its number of runs and the unit of length."""

    chart: ParetoChart
    runs: int
    unit: str


def against_length(view: View) -> LengthChart | None:
    """The scatter plot of score by length; None without lengths or with fewer than two runs."""
    by = view.board.by
    length = next(
        (column.key for column in view.board.measures if parse(column.key).measure.name == LENGTH), None
    )
    if length is None or view.board.answers is None:
        return None
    runs = [
        Pair(row.run, words, value, url_for("runs.show", run_id=row.run_id))
        for row in view.all_rows
        if (value := row.scores.get(by.key)) is not None and (words := row.scores.get(length)) is not None
    ]
    if len(runs) < LEAST_DRAWN:
        return None
    direction: Literal["higher", "lower"] = "lower" if by.lower_is_better else "higher"
    chart = pareto_chart(runs, direction=direction, digits=by.digits)
    return LengthChart(chart, len(runs), UNITS[str(parse(length).params["unit"])])


STATES = {
    "waiting": "waiting for judgments",
    "queued": "queued",
    "running": "being scored",
    "failed": "scoring failed",
}
"""Text shown instead of scores, by state."""
BAR = 66.0
"""Width of the bar of all other runs, in pixels."""
RANKS = 48.0
"""Width of the axis of ranks, in pixels."""
NOT_SETTLED = "Not the best: at least one run with a dot is better, but it is undecided which."
SCORED = frozenset({"done", "valid"})


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A table row with everything needed to render it."""

    row: Row
    place: Place | None
    coverage: Coverage | None
    bounds: Bounds | None
    css: str
    """CSS classes of the row: own, like (the marked run), marked, cut (each above beats each below)."""
    is_like_marked: bool
    is_outside: bool
    """Whether the run is probably outside the pool."""
    may_be_ticked: bool
    is_ticked: bool
    waiting: str
    """Why the run has no scores; otherwise empty."""
    href: str
    mark_href: str
    """Address of the board with the runs not significantly different from this one marked."""
    score: Markup
    """Score by the ranking measure."""
    mean: Markup
    """Mean on the common axis; empty if not drawn."""
    ranks: Markup
    """Rank range on the axis of all ranks; empty if not compared."""
    verdict: Markup
    """Numbers of wins, undecided pairs and losses; empty if not compared."""
    others: Markup
    """Cells of the other measures."""


def listed(
    view: View,
    rows: Iterable[Row],
    viewer: Viewer,
    args: dict[str, Any],
    marked: int | None,
    means: BoardMeans | None,
) -> tuple[ListedRow, ...]:
    """Rows as shown to a reader, in order; args: kept query parameters, marked: a run id.

    Cells of every row are rendered here: large boards have thousands, and macros would dominate the time.
    """
    shown, places = view.board, view.board.places
    by, decimals = shown.by, shown.access.decimals
    others = [column for column in view.measures if column.key != by.key]
    like, cuts, ticked = _like(view, marked), view.cuts, frozenset(args.get("ticked", ()))
    run_address = addresses_by_id("runs.show", "run_id")
    state: dict[str, Any] = {**without(args, "run"), "run": ""}
    mark_address = url_for("boards.board", slug=shown.slug, **state)
    return tuple(
        ListedRow(
            row=row,
            place=places.get(row.run_id),
            coverage=view.coverage.get(row.run_id),
            bounds=view.bounds.get(row.run_id),
            css=_classes(
                own=row.team_id in viewer.team_ids,
                like=row.run_id in like,
                marked=row.run_id == marked,
                cut=row.run_id in cuts,
            ),
            is_like_marked=row.run_id in like,
            is_outside=row.run_id in view.outside,
            may_be_ticked=shown.access.details and row.state == "done",
            is_ticked=str(row.run_id) in ticked,
            waiting="" if row.state in SCORED else STATES.get(row.state, row.state),
            href=run_address(row.run_id),
            mark_href=(mark_href := f"{mark_address}{row.run_id}"),
            mean=_mean(row, places.get(row.run_id), means),
            ranks=_ranks(row, places.get(row.run_id), len(places)),
            verdict=_verdict(row, places.get(row.run_id), len(places), mark_href),
            score=Markup(_score(row, by, decimals)),
            others=Markup("".join(_other(row, column, decimals) for column in others)),
        )
        for row in rows
    )


def _other(row: Row, column: MeasureColumn, decimals: int | None) -> str:
    """Cell of a measure that does not rank the board; on a phone it carries its own heading."""
    name = escape(column.short)
    return f'<td class="number" data-head="{name}">{_score(row, column, decimals)}</td>'


@dataclass(frozen=True, slots=True)
class Lead:
    """The leader of a board, the second run, and the difference between them.

    difference: of the means, as the measure prints them, with its paired 95% interval; None for a single run.
    """

    leader: Row
    second: Row | None
    difference: PairOfRuns | None


def lead_of(shown: Board) -> Lead | None:
    """Leader and lead; None if the runs have not been compared, or there are too few topics to rank them."""
    if not isinstance(shown.standing, Standing) or not shown.standing.may_be_best:
        return None
    ranked = [row for row in shown.rows if row.run_id in shown.places]
    if not ranked:
        return None
    leader, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    pairs = boards.differences(reading(), shown, leader.run_id, [second.run_id]) if second else {}
    pair = pairs.get(second.run_id) if second else None
    if pair is not None:
        # A pair is the second run less the leader; the page states the leader's lead.
        pair = replace(pair, difference=-pair.difference, low=-pair.high, high=-pair.low)
    return Lead(leader, second, pair)


def _score(row: Row, column: MeasureColumn, decimals: int | None) -> str:
    """Score of a run by a measure as HTML, with the number of topics if partial."""
    digits = decimals or column.digits
    if (partial := row.partial.get(column.key)) is None:
        return score(row.scores[column.key], digits)
    topics = f"{partial.judged} of {counted(partial.topics, 'topic')}"
    return f'<span class="dim partial">{score(partial.mean, digits)} <small>{topics}</small></span>'


def _mean(row: Row, place: Place | None, means: BoardMeans | None) -> Markup:
    """Drawing of a run's mean in its cell, see `BoardMeans`."""
    if means is None or (cell := means.cells.get(row.run_id)) is None:
        return Markup("")
    kind = "top" if place is not None and place.best_set else "mark"
    return Markup(
        f'<svg class="chart mean" viewBox="0 0 {means.width} {means.height}" role="img"'
        f' aria-label="{cell.label}"><title>{cell.label}</title><use href="#field"></use>'
        f'<path class="span" d="M{cell.low} {means.middle}H{cell.high}"></path>'
        f'<circle class="{kind}" cx="{cell.x}" cy="{means.middle}" r="3.5"></circle></svg>'
    )


def _ranks(row: Row, place: Place | None, runs: int) -> Markup:
    """Band from the lowest to the highest rank, as high as the row, so that bands of neighbours join."""
    if place is None or not runs:
        return Markup("")
    each = RANKS / runs
    low = round(each * (place.rank_low - 1), 1)
    width = round(each * (place.rank_high - place.rank_low + 1), 1)
    at = "" if row.rank is None else f'<path class="span" d="M{each * (row.rank - 0.5):.1f} 0V36"></path>'
    kind = "band top" if place.best_set else "band"
    return Markup(
        '<svg class="chart ranks" viewBox="0 0 48 36" preserveAspectRatio="none" role="img"'
        f' aria-label="rank {place.rank_low} to {place.rank_high}">'
        f'<rect class="{kind}" x="{low}" width="{width}" height="36"></rect>{at}</svg>'
    )


def _verdict(row: Row, place: Place | None, runs: int, mark_href: str) -> Markup:
    """Bar and numbers of wins, undecided pairs and losses."""
    if place is None:
        return Markup("")
    each = BAR / (runs - 1) if runs > 1 else 0.0
    beats_to = round(each * place.beats, 1)
    beaten_from = round(BAR - each * max(place.named, place.beaten_by), 1)
    bar = f'<rect class="plus" width="{beats_to}" height="6"></rect>' if beats_to else ""
    if beaten_from < BAR:
        width = round(BAR - beaten_from, 1)
        bar += f'<rect class="minus" x="{beaten_from}" y="2" width="{width}" height="2"></rect>'
    undecided, beaten_by = "0", f"{place.beaten_by}"
    if place.undecided:
        label = f"{place.undecided}: highlight the runs not significantly different from {escape(row.run)}"
        undecided = f'<a href="{escape(mark_href)}" aria-label="{label}">{place.undecided}</a>'
    if place.beaten_by and not place.named:
        beaten_by = f'<abbr title="{NOT_SETTLED}">{place.beaten_by}+</abbr>'
    return Markup(
        '<svg class="chart bar" viewBox="0 0 66 6" aria-hidden="true">'
        '<rect class="box" width="66" height="6"></rect>'
        f"{bar}</svg> <small>{place.beats} · {undecided} · {beaten_by}</small>"
    )


def _like(view: View, marked: int | None) -> frozenset[int]:
    """Ids of the runs not significantly different from the marked one."""
    standing = view.board.standing
    if isinstance(standing, Standing) and marked is not None and marked in view.board.places:
        return standing.undecided_with(marked)
    return frozenset()


def _classes(**flags: bool) -> str:
    return " ".join(name for name, is_on in flags.items() if is_on)


blueprint = Blueprint("boards", __name__)

ROWS_AT_FIRST = 150
CHART_AT_FIRST = 60
"""Number of runs in the plot of differences, unless all are requested."""
FILTER_FROM = 10
"""Minimum number of runs for which the search form is always shown."""
CHOSEN = ("measure", "edition", "at", "one", "group")
"""Query parameters that select the board itself; the others select the view."""
FILTERS = ("q", "team", "kind", "tag", "field", "value", "own", "independent")
LONGEST = 200


def _html(view: View) -> str:
    shown, args = view.board, _state()
    if shown.sorted_by == shown.primary:
        args.pop("measure", None)
        is_usual("measure")
    rows = view.rows if "all" in args else view.rows[:ROWS_AT_FIRST]
    marked, reference = whole(args.get("run")), _reference(shown)
    charted = _charted((*view.baselines, *rows), shown, reference)
    means = _means(shown) if MEANS in view.extras else None
    return render_template(
        "boards/board.html",
        board=shown,
        view=view,
        baselines=listed(view, view.baselines, viewer(), args, marked, means),
        rows=listed(view, rows, viewer(), args, marked, means),
        args=args,
        filters=FILTERS,
        is_long=len(shown.rows) >= FILTER_FROM,
        ticked_elsewhere=_ticked_elsewhere(shown, args, (*view.baselines, *rows)),
        marked=next((row for row in shown.rows if row.run_id == marked), None),
        reference=reference,
        means=means,
        lead=lead_of(shown),
        chart=_chart(shown, reference, charted if "all" in args else charted[:CHART_AT_FIRST]),
        cut=CHART_AT_FIRST if len(charted) > CHART_AT_FIRST and "all" not in args else 0,
        lengths=against_length(view),
        reliability=boards_intervals.of_board(reading(), shown),
        waiting=next(iter(shown.waiting), None),
        citation=snapshot.of_board(shown, _address(shown)),
        methods=snapshot.methods(shown, _address(shown)).plain,
        card_head=_head(shown),
    )


@http.with_files(blueprint, "/tasks/<slug>", _html, tables.FILES, endpoint="export")
@rule(PUBLIC, carries="edition")
def board(slug: str) -> View:
    """The board: runs ranked by the selected measure, with sentences on their order."""
    return board_views.view(reading(), viewer(), _board(slug), _wish())


actions.add_to(
    blueprint,
    [
        computing(
            "standing", lambda _, __, slug: _board(slug).waiting, "/tasks/<slug>/standing", "boards.board"
        )
    ],
)


@blueprint.get("/tasks/<slug>/methods.<any(txt, tex, bib):form>")
@rule(PUBLIC)
def show_methods(slug: str, form: str) -> ResponseReturnValue:
    """The methods paragraph of this board as text or LaTeX, and its citations as BibTeX."""
    shown = _board(slug)
    texts, name = snapshot.methods(shown, _address(shown)), f"{slug}-methods"
    if form == "txt":
        return http.as_text(texts.plain, name)
    return http.as_latex(texts.latex, name) if form == "tex" else http.as_bibtex(texts.bibtex, name)


def _board(slug: str) -> Board:
    return boards.board(
        reading(),
        viewer(),
        slug,
        request.args.get("measure"),
        _edition(),
        one_per_team=request.args.get("one") == "team",
        group=_words("group") or None,
        at=filters.as_of(reading(), request.args["at"]) if request.args.get("at") else None,
        topics=frozenset(topic for given in request.args.getlist("topics") for topic in given.split()),
    )


def _wish() -> BoardChoice:
    args = request.args
    return BoardChoice(
        search=_words("q"),
        team=_words("team"),
        kind=_words("kind"),
        tag=_words("tag"),
        field=_words("field"),
        value=_words("value"),
        own="own" in args,
        independent="independent" in args,
        columns=tuple(filter(None, args.getlist("columns"))),
        in_line=args.get("pin") == "no",
        bounds="bounds" in args,
        ranges="ranges" in args,
    )


def _words(name: str) -> str:
    return request.args.get(name, "").strip()[:LONGEST]


def _edition() -> int | None:
    text = request.args.get("edition")
    if text is None:
        return None
    number = whole(text)
    if number is None:
        raise NotFound(f"This board has no edition {text[:20]!r}.")
    return number


def _address(shown: Board) -> str:
    """The permanent address of this board, for a citation."""
    state = kept(CHOSEN, lists=("topics",))
    if shown.basis is not None and "at" not in state:
        state["edition"] = shown.basis.edition
    return own_origin() + url_for("boards.board", slug=shown.slug, **state)


def _head(shown: Board) -> Head | None:
    """Link preview of the board; None for an edition, date, group or topics chosen by the address."""
    if {*CHOSEN, "topics"} & request.args.keys():
        return None
    head = heads.for_visitors(lambda: cards.of_board(shown))
    return head and replace(head, dataset=heads.dataset_block(task_data(reading(), viewer(), shown)))


def _means(shown: Board) -> BoardMeans | None:
    """Means of the ranked runs with intervals on a common axis; None if unknown."""
    standing = shown.standing
    if not isinstance(standing, Standing):
        return None
    halves, by = standing.half_widths, shown.by.key
    values = {row.run_id: value for row in shown.rows if (value := row.scores[by]) is not None}
    ranked = {
        run_id: MeanOfRun(values[run_id], halves.get(run_id))
        for run_id in standing.run_ids
        if run_id in values
    }
    baselines = [values[row.run_id] for row in shown.rows if row.kind == BASELINE and row.run_id in values]
    topics = standing.topics if shown.by.aggregate == "sum" else 1
    return board_means(ranked, baselines, scale=topics, digits=shown.by.digits)


def _state() -> dict[str, Any]:
    return kept(("measure", "edition", *STATE), flags=FLAGS, lists=MANY)


def _ticked_elsewhere(shown: Board, args: dict[str, Any], rows: tuple[Row, ...]) -> list[int]:
    """Selected runs hidden by a filter, which stay selected."""
    ticked = set(args.get("ticked", ())) - {str(row.run_id) for row in rows}
    return [row.run_id for row in shown.rows if str(row.run_id) in ticked and row.state == "done"]


def _reference(shown: Board) -> Row | None:
    """The reference run: the requested one, such as a baseline, else the leader."""
    scored = [row for row in shown.rows if row.scores.get(shown.sorted_by) is not None]
    run_id = whole(request.args.get("reference"))
    leader = next((row for row in scored if row.run_id in shown.places), None)
    return next((row for row in scored if row.run_id == run_id), leader) if shown.places else None


def _charted(rows: tuple[Row, ...], shown: Board, reference: Row | None) -> list[Row]:
    """Listed rows in the plot of differences: ranked runs and the reference."""
    return [row for row in rows if row.run_id in shown.places or row is reference]


def _chart(shown: Board, reference: Row | None, rows: list[Row]) -> IntervalChart | None:
    """Plot of differences from the reference, with paired intervals."""
    if reference is None:
        return None
    pairs = boards.differences(reading(), shown, reference.run_id, [row.run_id for row in rows])
    if not pairs:
        return None
    drawn = [row for row in rows if row.run_id in pairs or row.run_id == reference.run_id]
    address = addresses_by_id("runs.show", "run_id")
    intervals = [_interval(shown, row, pairs.get(row.run_id), address(row.run_id)) for row in drawn]
    return interval_chart(intervals, digits=shown.by.digits)


def _interval(shown: Board, row: Row, pair: PairOfRuns | None, link: str) -> Interval:
    if pair is None:
        return Interval(row.run, 0.0, 0.0, 0.0, "reference", link)
    kind: Kind = "highlight" if shown.places[row.run_id].best_set else "plain"
    return Interval(row.run, pair.difference, pair.low, pair.high, kind, link)
