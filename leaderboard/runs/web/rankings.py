"""Rankings of runs for topics, and the documents in them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.runs.page.rankings import document as document_pages
from leaderboard.runs.page.rankings import ranking
from leaderboard.runs.page.rankings.document import DocumentPage
from leaderboard.runs.page.rankings.ranking import IsAnswer, IsBoard, RankingPage
from leaderboard.trec.documents.marking import Piece
from leaderboard.web import http, rules
from leaderboard.web.addresses import kept
from leaderboard.web.charts import RankStrip, rank_strip
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("rankings", __name__)

_BARE = {2: None, 3: None}

ROWS_AT_FIRST = 20
MORE_ROWS = 200
"""The number of rows with `?first`: those with titles and snippets."""
MOST_TEXTS = 50
"""Maximum full texts on one page."""
WHOLE = "leaderboard.whole"
"""In the environment of a request, which no header reaches: a mirror requests all documents of a topic."""
DEFINED_BY = {"precision": "P@10", "recall": "R@10", "average_precision": "AP", "ndcg": "nDCG"}
"""Running scores at each rank, and a measure whose page defines each."""

RankAddress = Callable[[int, str, int], str]


@blueprint.get("/runs/<id:run_id>/topics/<topic:topic_id>")
@rule(PUBLIC, carries="edition")
def show(run_id: int, topic_id: str) -> ResponseReturnValue:
    """The run's ranking for one topic, with grades."""
    try:
        page = ranking.ranking_page(reading(), viewer(), run_id, topic_id, _limit(), read="texts")
    except IsAnswer:
        return redirect(url_for("answers.show", run_id=run_id, topic_id=topic_id))
    except IsBoard as board:
        return redirect(url_for("judges.topic", slug=board.facts["task"], run_id=run_id, topic_id=topic_id))
    return http.page(
        render_template(
            "runs/rankings/ranking.html",
            page=page,
            table=ranking.ranking_table(page),
            missed=ranking.missed_table(page),
            left_out=ranking.left_out_table(page),
            defined_by=DEFINED_BY,
            strip=_strip(page),
            rank_address=rank_addresses(),
            highlighted=highlighted,
            rank_link=partial(_rank_link, page),
            whole=kept((), flags=("all", "first")),
            more_rows=MORE_ROWS,
        )
    )


@blueprint.get("/runs/<id:run_id>/topics/<topic:topic_id>.<form:form>")
@rule(PUBLIC)
def export(run_id: int, topic_id: str, form: str) -> ResponseReturnValue:
    """The ranking as a file; in print its first documents, or all with ?all."""
    try:
        page = ranking.ranking_page(
            reading(),
            viewer(),
            run_id,
            topic_id,
            _limit() if form in http.PRINTED else None,
            read="titles" if form == "csv" else "nothing",
        )
    except IsAnswer:
        return redirect(url_for("answers.export", run_id=run_id, topic_id=topic_id, form=form))
    except IsBoard as board:
        slug = board.facts["task"]
        return redirect(
            url_for("judges.topic_export", slug=slug, run_id=run_id, topic_id=topic_id, form=form)
        )
    return http.export(form, ranking.RANKING_FILES, page)


@blueprint.get("/tasks/<slug>/documents")
@rule(PUBLIC, carries="edition")
def document(slug: str) -> ResponseReturnValue:
    """One document of the task's collection, by ?docno=, read for a ?topic=; several, one below another."""
    docnos = list(dict.fromkeys(request.args.getlist("docno")))
    if len(docnos) > 1:
        if WHOLE not in request.environ:
            _require_few(docnos)
            rules.spend()
        return _texts(slug, docnos)
    page = _document(slug)
    html = render_template(
        "runs/rankings/document.html",
        page=page,
        grades=document_pages.judgments_table(page),
        places=document_pages.places_table(page),
        rank_address=rank_addresses(),
        highlighted=highlighted,
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/documents.<form:form>")
@rule(PUBLIC)
def document_export(slug: str, form: str) -> ResponseReturnValue:
    """The document as JSON; its judgments as a table, or its places in the runs where a topic is given."""
    return http.export(form, document_pages.FILES, _document(slug))


def rank_addresses() -> RankAddress:
    """A function from run, topic and rank to where that rank is shown; for one page, which has many."""
    addresses: dict[tuple[int, str, str], str] = {}

    def address(run_id: int, topic_id: str, rank: int) -> str:
        key = run_id, topic_id, _rows_with(rank)
        if key not in addresses:
            addresses[key] = _with_rows(*key)
        return f"{addresses[key]}#rank-{rank}"

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
    return f"{_with_rows(page.run_id, page.topic_id, _rows_with(rank))}#rank-{rank}"


def _with_rows(run_id: int, topic_id: str, rows: str) -> str:
    more = {rows: ""} if rows else {}
    return url_for("rankings.show", run_id=run_id, topic_id=topic_id, **more)  # type: ignore[arg-type]


def _rows_with(rank: int) -> str:
    """The page parameters that show a rank with few extra rows."""
    return "" if rank <= ROWS_AT_FIRST else "first" if rank <= MORE_ROWS else "all"


def _limit() -> int | None:
    if "all" in request.args:
        return None
    return MORE_ROWS if "first" in request.args else ROWS_AT_FIRST


def _strip(page: RankingPage) -> RankStrip | None:
    """The positions of the relevant documents among the rows; None if grades are hidden."""
    if not (page.is_judged and page.rows):
        return None
    highest = max(page.grade_names, default=None)
    return rank_strip([row.grade for row in page.rows], level=page.level, highest=highest)


def _require_few(docnos: Sequence[str]) -> None:
    if len(docnos) > MOST_TEXTS:
        rule = f"must name at most {MOST_TEXTS} documents."
        remedy = "Request fewer at a time."
        problem = Problem(rule, remedy, field="docno", value=f"{len(docnos):,} documents")
        raise Invalid("Too many documents for one page.", [problem])


def _texts(slug: str, docnos: list[str]) -> ResponseReturnValue:
    topic_id = request.args.get("topic")
    if not topic_id:
        raise NotFound("Name the topic of the documents: ?topic= is missing.")
    page = document_pages.texts_page(reading(), viewer(), slug, docnos, topic_id)
    return http.page(
        render_template(
            "runs/rankings/texts.html", page=page, rank_address=rank_addresses(), highlighted=highlighted
        )
    )


def _document(slug: str) -> DocumentPage:
    docno = request.args.get("docno", "")
    if not docno:
        raise NotFound("Name the document: ?docno= is missing.")
    return document_pages.document_page(reading(), viewer(), slug, docno, request.args.get("topic") or None)
