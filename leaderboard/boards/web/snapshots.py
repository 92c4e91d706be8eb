"""A board's history and its snapshots: pages, the same as JSON, CSV and LaTeX, and BibTeX."""

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.boards.ops import snapshots
from leaderboard.boards.page import cards, snapshot
from leaderboard.boards.page import history as board_history
from leaderboard.boards.page.history import History
from leaderboard.boards.page.snapshot import SnapshotPage
from leaderboard.boards.web.cards import heads
from leaderboard.core.policy import ANONYMOUS
from leaderboard.signatures import ops as signatures
from leaderboard.web import actions, http
from leaderboard.web.http import own_origin
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("snapshots", __name__)

ROWS_AT_FIRST = 200
DAYS_AT_FIRST = 60
NAMES_AT_FIRST = 8


@http.with_files(
    blueprint,
    "/tasks/<slug>/history",
    "boards/history.html",
    board_history.FILES,
    tables=lambda page: {name: table(page) for name, table in board_history.FILES.tables.items()},
    days=lambda page: page.days if "all" in request.args else page.days[:DAYS_AT_FIRST],
    names_at_first=lambda _: NAMES_AT_FIRST,
    is_signed=lambda page: not (page.is_draft or page.access.organises) and signatures.has_key(reading()),
)
@rule(PUBLIC, carries="board")
def history(slug: str) -> History:
    """The editions of a board, its snapshots, and the days on which runs came or went."""
    return board_history.history(reading(), viewer(), slug)


actions.add_to(
    blueprint,
    (snapshots.KEEP,),
    then={"keep_snapshot": lambda kept, slug: redirect(url_for("snapshots.show", address=kept[0]), 303)},
)


@blueprint.get("/snapshots/<address>")
@rule(PUBLIC)
def show(address: str) -> ResponseReturnValue:
    """A frozen board."""
    page = snapshot.page(reading(), viewer(), address)
    if page.address != address:
        return redirect(url_for("snapshots.show", address=page.address))
    html = render_template(
        "boards/snapshot.html",
        page=page,
        table=snapshot.table(page),
        rows=page.rows if "all" in request.args else page.rows[:ROWS_AT_FIRST],
        citation=snapshot.of_snapshot(page, _url(page)),
        origin=own_origin(),
        is_signed=signatures.has_key(reading()),
        card_head=heads.for_visitors(lambda: cards.of_snapshot_page(page)),
    )
    return http.page(html)


@blueprint.get("/snapshots/<address>.<form:form>")
@rule(PUBLIC)
def export(address: str, form: str) -> ResponseReturnValue:
    """The hashed bytes as JSON; the frozen board as CSV and LaTeX."""
    if form == "json" and not http.wants_records():
        return http.as_stored(snapshots.opened(reading(), viewer(), address).body, "application/json")
    return http.table_file(form, snapshot.table(_frozen(address)))


@blueprint.get("/snapshots/<address>.bib")
@rule(PUBLIC)
def show_bib(address: str) -> ResponseReturnValue:
    """The BibTeX entry of the frozen board."""
    page = _frozen(address)
    return http.as_bibtex(snapshot.of_snapshot(page, _url(page)), f"{page.slug}-{page.address}")


# Only public data is signed, for anyone who requests the signature.
@blueprint.get("/snapshots/<address>/signature.json")
@rule(PUBLIC)
def show_signature(address: str) -> Response:
    """The site's signature under the frozen board."""
    return _signature("snapshot", snapshots.opened(reading(), ANONYMOUS, address).body)


@blueprint.get("/tasks/<slug>/editions/<id:number>.json")
@rule(PUBLIC)
def edition(slug: str, number: int) -> Response:
    """The board of an edition, as bytes to be signed."""
    return http.as_stored(_released(slug, number), "application/json")


@blueprint.get("/tasks/<slug>/editions/<id:number>/signature.json")
@rule(PUBLIC)
def edition_signature(slug: str, number: int) -> Response:
    """The site's signature under the board of an edition."""
    return _signature("edition", _released(slug, number))


def _released(slug: str, number: int) -> bytes:
    return snapshots.released(reading(), slug, number, viewer().phase)


def _signature(of: signatures.Kind, body: bytes) -> Response:
    return http.as_stored(signatures.signature_of(reading(), of, body), "application/json")


def _frozen(address: str) -> SnapshotPage:
    return snapshot.page(reading(), viewer(), address, compared=False)


def _url(page: SnapshotPage) -> str:
    return own_origin() + url_for("snapshots.show", address=page.address)
