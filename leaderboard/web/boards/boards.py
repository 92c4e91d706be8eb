"""A task's board as page, JSON, CSV and LaTeX."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.errors import NotFound
from leaderboard.measures.naming import parse
from leaderboard.pages import cards
from leaderboard.pages.boards import intervals as boards_intervals
from leaderboard.pages.boards import snapshot, tables
from leaderboard.pages.boards import view as board_views
from leaderboard.pages.boards.view import BASELINE, MEANS, BoardChoice, Bounds, Coverage, View
from leaderboard.pages.cards import task_data
from leaderboard.services.boards import board as boards
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.choices import MeasureColumn
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.services.statistics.standings import PairOfRuns, Place, Standing
from leaderboard.tables.words import counted
from leaderboard.web import moments, responses
from leaderboard.web.addresses import addresses_by_id, kept, whole
from leaderboard.web.boards.carried import FLAGS, MANY, STATE, is_usual
from leaderboard.web.cards import datasets, heads
from leaderboard.web.cards.heads import Head
from leaderboard.web.charts import Interval, IntervalChart, Pair, ParetoChart, interval_chart, pareto_chart
from leaderboard.web.charts.planes import BoardMeans, MeanOfRun, board_means
from leaderboard.web.charts.ranges import Kind
from leaderboard.web.filters import score, without
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.security import own_origin
from leaderboard.web.session import have_computed, reading, viewer

LENGTH = "AnswerLength"
UNITS = {"nfkc-words": "words after NFKC", "words": "words", "characters": "characters"}
LEAST_DRAWN = 2


@dataclass(frozen=True, slots=True)
class LengthChart:
    """The chart, how many runs it draws, and what length is counted in."""

    chart: ParetoChart
    runs: int
    unit: str


def against_length(view: View) -> LengthChart | None:
    """Each listed run's score against its length; None without lengths or two runs."""
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
"""What stands in place of scores."""
BAR = 66.0
"""The width of a bar of all other runs."""
NOT_SETTLED = "Not the best: some run with a dot is better; which one is not settled."
SCORED = frozenset({"done", "valid"})


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row with all that its line of the table shows."""

    row: Row
    place: Place | None
    coverage: Coverage | None
    bounds: Bounds | None
    css: str
    """The classes of its line: own, like (the marked run), marked, cut (each above beats each below)."""
    is_like_marked: bool
    is_outside: bool
    """Whether it is probably outside of the pool."""
    may_be_ticked: bool
    is_ticked: bool
    waiting: str
    """Why it has no scores; empty where it has."""
    href: str
    mark_href: str
    """The board with the runs that this one cannot be told apart from marked."""
    score: Markup
    """What it got by the measure that the board is ranked by."""
    mean: Markup
    """Its mean on the axis of all; empty where that is not drawn."""
    verdict: Markup
    """How many runs it beats, how many are undecided, how many beat it; empty where it has no place."""
    others: Markup
    """The cells of the other measures."""


def listed(
    view: View,
    rows: Iterable[Row],
    viewer: Viewer,
    args: dict[str, Any],
    marked: int | None,
    means: BoardMeans | None,
) -> tuple[ListedRow, ...]:
    """The rows as a reader is shown them, in order; args are what the address keeps, marked is a run's id.

    Cells that every row has are written here: of a large board there are some thousand, and macros for them
    take longer than all else.
    """
    shown, places = view.board, view.board.places
    by, held = shown.by, shown.sight.decimals
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
            may_be_ticked=shown.sight.details and row.state == "done",
            is_ticked=str(row.run_id) in ticked,
            waiting="" if row.state in SCORED else STATES.get(row.state, row.state),
            href=run_address(row.run_id),
            mark_href=(mark_href := f"{mark_address}{row.run_id}"),
            mean=_mean(row, places.get(row.run_id), means),
            verdict=_verdict(row, places.get(row.run_id), len(places), mark_href),
            score=Markup(_score(row, by, held)),
            others=Markup(
                "".join(f'<td class="number">{_score(row, column, held)}</td>' for column in others)
            ),
        )
        for row in rows
    )


def _score(row: Row, column: MeasureColumn, held: int | None) -> str:
    """What a run got by a measure, as HTML; where that is over some topics only, over how many."""
    digits = held or column.digits
    if (partial := row.partial.get(column.key)) is None:
        return score(row.scores[column.key], digits)
    topics = f"{partial.judged} of {counted(partial.topics, 'topic')}"
    return f'<span class="dim partial">{score(partial.mean, digits)} <small>{topics}</small></span>'


def _mean(row: Row, place: Place | None, means: BoardMeans | None) -> Markup:
    """The drawing of a run's mean in its cell, see `BoardMeans`."""
    if means is None or (cell := means.cells.get(row.run_id)) is None:
        return Markup("")
    kind = "top" if place is not None and place.best_set else "mark"
    return Markup(
        f'<svg class="chart mean" viewBox="0 0 {means.width} {means.height}" role="img"'
        f' aria-label="{cell.label}"><title>{cell.label}</title><use href="#field"></use>'
        f'<path class="span" d="M{cell.low} {means.middle}H{cell.high}"></path>'
        f'<circle class="{kind}" cx="{cell.x}" cy="{means.middle}" r="3.5"></circle></svg>'
    )


def _verdict(row: Row, place: Place | None, runs: int, mark_href: str) -> Markup:
    """A bar of the other runs, those that a run beats and those that beat it, and their numbers."""
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
        label = f"{place.undecided}: mark the runs that {escape(row.run)} cannot be told apart from"
        undecided = f'<a href="{escape(mark_href)}" aria-label="{label}">{place.undecided}</a>'
    if place.beaten_by and not place.named:
        beaten_by = f'<abbr title="{NOT_SETTLED}">{place.beaten_by}+</abbr>'
    return Markup(
        '<svg class="chart bar" viewBox="0 0 66 6" aria-hidden="true">'
        '<rect class="box" width="66" height="6"></rect>'
        f"{bar}</svg>\n  <small>{place.beats} · {undecided} · {beaten_by}</small>"
    )


def _like(view: View, marked: int | None) -> frozenset[int]:
    """The runs that the marked one cannot be told apart from."""
    standing = view.board.standing
    if isinstance(standing, Standing) and marked is not None and marked in view.board.places:
        return standing.undecided_with(marked)
    return frozenset()


def _classes(**flags: bool) -> str:
    return " ".join(name for name, is_on in flags.items() if is_on)


blueprint = Blueprint("boards", __name__)

ROWS_AT_FIRST = 150
CHART_AT_FIRST = 60
"""Runs in the plot of differences of a board that was not asked for whole."""
FILTER_FROM = 10
"""Runs from which on a board offers to be searched without being asked."""
CHOSEN = ("measure", "edition", "at", "one", "group")
"""Parts of the address that choose the board itself; the others choose what of it is shown."""
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
        chart=_chart(shown, reference, charted if "all" in args else charted[:CHART_AT_FIRST]),
        cut=CHART_AT_FIRST if len(charted) > CHART_AT_FIRST and "all" not in args else 0,
        lengths=against_length(view),
        reliability=boards_intervals.of_board(reading(), shown),
        waiting=shown.standing if isinstance(shown.standing, WaitingResult) else None,
        citation=snapshot.of_board(shown, _address(shown)),
        methods=snapshot.methods(shown, _address(shown)).plain,
        card_head=_head(shown),
    )


@responses.with_files(blueprint, "/tasks/<slug>", _html, tables.FILES, endpoint="export")
@rule(PUBLIC)
def board(slug: str) -> View:
    """The board: runs ranked by the measure chosen, and what may be said of their order."""
    return board_views.view(reading(), viewer(), _board(slug), _wish())


@blueprint.post("/tasks/<slug>/standing")
@rule(SIGNED_IN)
def standing(slug: str) -> ResponseReturnValue:
    """Have the comparison computed that the board at this address waits for."""
    waiting = _board(slug).standing
    have_computed([waiting] if isinstance(waiting, WaitingResult) else [])
    return redirect(url_for("boards.board", slug=slug, **_state()), 303)


@blueprint.get("/tasks/<slug>/methods.<any(txt, tex, bib):form>")
@rule(PUBLIC)
def show_methods(slug: str, form: str) -> ResponseReturnValue:
    """What the board at this address did, for a paper: as text, as LaTeX, and all that it cites."""
    shown = _board(slug)
    said, name = snapshot.methods(shown, _address(shown)), f"{slug}-methods"
    if form == "txt":
        return responses.as_text(said.plain, name)
    return responses.as_latex(said.latex, name) if form == "tex" else responses.as_bibtex(said.bibtex, name)


def _board(slug: str) -> Board:
    return boards.board(
        reading(),
        viewer(),
        slug,
        request.args.get("measure"),
        _edition(),
        one_per_team=request.args.get("one") == "team",
        group=_words("group") or None,
        at=moments.as_of(reading(), request.args["at"]) if request.args.get("at") else None,
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
        raise NotFound(f"There is no edition {text[:20]!r} of this board.")
    return number


def _address(shown: Board) -> str:
    """Where exactly this board can be read again, for a citation."""
    state = kept(CHOSEN, lists=("topics",))
    if shown.basis is not None and "at" not in state:
        state["edition"] = shown.basis.edition
    return own_origin() + url_for("boards.board", slug=shown.slug, **state)


def _head(shown: Board) -> Head | None:
    """What the head tells of the board; nothing of one that the address chose, which has no picture."""
    if {*CHOSEN, "topics"} & request.args.keys():
        return None
    head = heads.for_visitors(lambda: cards.of_board(shown))
    return head and replace(head, dataset=datasets.block(task_data(reading(), viewer(), shown)))


def _means(shown: Board) -> BoardMeans | None:
    """The means of the ranked runs on one axis, with what is known of other topics; None where it is not."""
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
    """The runs that are ticked at this address but not listed, by a filter: they stay ticked."""
    ticked = set(args.get("ticked", ())) - {str(row.run_id) for row in rows}
    return [row.run_id for row in shown.rows if str(row.run_id) in ticked and row.state == "done"]


def _reference(shown: Board) -> Row | None:
    """The run that others are shown against: the one asked for, such as a baseline, else the leader."""
    scored = [row for row in shown.rows if row.scores.get(shown.sorted_by) is not None]
    run_id = whole(request.args.get("reference"))
    leader = next((row for row in scored if row.run_id in shown.places), None)
    return next((row for row in scored if row.run_id == run_id), leader) if shown.places else None


def _charted(rows: tuple[Row, ...], shown: Board, reference: Row | None) -> list[Row]:
    """Of the rows listed those that a plot of differences has: ranked runs and the reference."""
    return [row for row in rows if row.run_id in shown.places or row is reference]


def _chart(shown: Board, reference: Row | None, rows: list[Row]) -> IntervalChart | None:
    """Each of the runs' differences from the reference, with its paired interval."""
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
