"""A task's board as page, JSON, CSV and LaTeX."""

from dataclasses import replace
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.pages import cards
from leaderboard.pages.boards import intervals as boards_intervals
from leaderboard.pages.boards import snapshot, tables
from leaderboard.pages.boards import view as board_views
from leaderboard.pages.boards.view import BASELINE, MEANS, BoardChoice, View
from leaderboard.pages.cards import task_data
from leaderboard.services.boards import board as boards
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.services.statistics.standings import PairOfRuns, Standing
from leaderboard.web import moments, responses
from leaderboard.web.addresses import addresses_by_id, kept, whole
from leaderboard.web.boards.carried import FLAGS, MANY, STATE, is_usual
from leaderboard.web.boards.lengths import against_length
from leaderboard.web.boards.rows import listed
from leaderboard.web.cards import datasets, heads
from leaderboard.web.cards.heads import Head
from leaderboard.web.charts import Interval, IntervalChart, interval_chart
from leaderboard.web.charts.planes import BoardMeans, MeanOfRun, board_means
from leaderboard.web.charts.ranges import Kind
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.security import own_origin
from leaderboard.web.session import have_computed, reading, viewer

blueprint = Blueprint("boards", __name__)

ROWS_AT_FIRST = 200
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
