"""Rankings of runs for topics, and the documents in them."""

from collections.abc import Callable, Iterable
from functools import partial

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.errors import NotFound
from leaderboard.pages.rankings import document as document_pages
from leaderboard.pages.rankings import document_files, files, ranking
from leaderboard.pages.rankings.document import DocumentPage
from leaderboard.pages.rankings.ranking import RankingPage
from leaderboard.trec.documents.marking import Piece
from leaderboard.web import responses
from leaderboard.web.charts import RankStrip, rank_strip
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("rankings", __name__)

_BARE = {2: None, 3: None}

ROWS_AT_FIRST = 200
RUNNING = (("P", "P@10"), ("R", "R@10"), ("AP", "AP"), ("nDCG", "nDCG"))
"""Heads of the running scores beside each rank, and a measure whose page defines each."""

RankAddress = Callable[[int, str, int], str]


@blueprint.get("/runs/<id:run_id>/topics/<topic_id>")
@rule(PUBLIC)
def show(run_id: int, topic_id: str) -> ResponseReturnValue:
    """What the run ranked for one topic, with grades."""
    page = ranking.ranking_page(reading(), viewer(), run_id, topic_id, _limit(), read="texts")
    return responses.page(
        render_template(
            "rankings/ranking.html",
            page=page,
            strip=_strip(page),
            running=RUNNING if page.is_judged else (),
            rank_address=rank_addresses(),
            highlighted=highlighted,
            rank_link=partial(_rank_link, page),
            whole="" if "all" in request.args else None,
        )
    )


@blueprint.get("/runs/<id:run_id>/topics/<topic_id>.json")
@rule(PUBLIC)
def show_json(run_id: int, topic_id: str) -> ResponseReturnValue:
    """The ranking as JSON."""
    page = ranking.ranking_page(reading(), viewer(), run_id, topic_id)
    return responses.as_json(files.as_json(page))


@blueprint.get("/runs/<id:run_id>/topics/<topic_id>.csv")
@rule(PUBLIC)
def show_csv(run_id: int, topic_id: str) -> ResponseReturnValue:
    """The ranking as CSV."""
    page = ranking.ranking_page(reading(), viewer(), run_id, topic_id, read="titles")
    return responses.as_csv(files.table(page), f"{page.run}-{topic_id}")


@blueprint.get("/runs/<id:run_id>/topics/<topic_id>.tex")
@rule(PUBLIC)
def show_tex(run_id: int, topic_id: str) -> ResponseReturnValue:
    """The first documents of the ranking (all with ?all) as LaTeX."""
    page = ranking.ranking_page(reading(), viewer(), run_id, topic_id, _limit())
    return responses.as_latex_table(files.latex(page), f"{page.run}-{topic_id}", caption=files.caption(page))


@blueprint.get("/tasks/<slug>/documents")
@rule(PUBLIC)
def document(slug: str) -> ResponseReturnValue:
    """One document of the task's collection, by ?docno=, read for a ?topic=."""
    page = _document(slug)
    html = render_template(
        "rankings/document.html", page=page, rank_address=rank_addresses(), highlighted=highlighted
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/documents.json")
@rule(PUBLIC)
def document_json(slug: str) -> ResponseReturnValue:
    """The document as JSON."""
    return responses.as_json(document_files.as_json(_document(slug)))


@blueprint.get("/tasks/<slug>/documents.csv")
@rule(PUBLIC)
def document_csv(slug: str) -> ResponseReturnValue:
    """The document's judgments as CSV, or its places in the runs where a topic is given."""
    page = _document(slug)
    return responses.as_csv(document_files.table(page, _for_topic()), f"{slug}-{page.docno}")


@blueprint.get("/tasks/<slug>/documents.tex")
@rule(PUBLIC)
def document_tex(slug: str) -> ResponseReturnValue:
    """The same as LaTeX."""
    page = _document(slug)
    return responses.as_latex_table(
        document_files.table(page, _for_topic()),
        f"{slug}-{page.docno}",
        caption=document_files.caption(page, _for_topic()),
    )


def rank_addresses() -> RankAddress:
    """A function from run, topic and rank to where that rank is shown; for one page, which has many."""
    known: dict[tuple[int, str], str] = {}

    def address(run_id: int, topic_id: str, rank: int) -> str:
        key = run_id, topic_id
        if key not in known:
            known[key] = url_for("rankings.show", run_id=run_id, topic_id=topic_id)
        return f"{known[key]}{'?all=' if rank > ROWS_AT_FIRST else ''}#rank-{rank}"

    return address


def highlighted(pieces: Iterable[Piece]) -> Markup:
    """A text with its marked pieces as <mark>, every letter of it escaped.

    Escaped once as a whole, with control characters that no text keeps where the marks will be: a page has
    thousands of pieces.
    """
    plain = "".join(
        f"\x02{piece.text.translate(_BARE)}\x03" if piece.is_term else piece.text.translate(_BARE)
        for piece in pieces
    )
    return Markup(str(escape(plain)).replace("\x02", "<mark>").replace("\x03", "</mark>"))


def _rank_link(page: RankingPage, rank: int) -> str:
    """A rank of this page, or where the whole ranking shows it."""
    if rank <= len(page.rows):
        return f"#rank-{rank}"
    return url_for(
        "rankings.show", run_id=page.run_id, topic_id=page.topic_id, all="", _anchor=f"rank-{rank}"
    )


def _limit() -> int | None:
    return None if "all" in request.args else ROWS_AT_FIRST


def _strip(page: RankingPage) -> RankStrip | None:
    """Where the relevant documents are among the rows; None where no grade is shown."""
    if not (page.is_judged and page.rows):
        return None
    highest = max(page.grade_names, default=None)
    return rank_strip([row.grade for row in page.rows], level=page.level, highest=highest)


def _for_topic() -> bool:
    return bool(request.args.get("topic"))


def _document(slug: str) -> DocumentPage:
    docno = request.args.get("docno", "")
    if not docno:
        raise NotFound("Say which document: ?docno= is missing.")
    return document_pages.document_page(reading(), viewer(), slug, docno, request.args.get("topic") or None)
