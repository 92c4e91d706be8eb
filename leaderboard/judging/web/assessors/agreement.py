"""Agreement of a pool's assessors, as page, JSON, CSV and LaTeX; their full log as a file."""

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.judging.ops.judging import WHOSE
from leaderboard.judging.page.assessors import agreement
from leaderboard.judging.page.assessors.agreement import AgreementPage
from leaderboard.web import http
from leaderboard.web.addresses import kept, whole
from leaderboard.web.charts import heat_step
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import hands_out_judgments, reading, viewer

blueprint = Blueprint("agreement", __name__)

STATE = ("whose", "topic", "a", "b")
FLAGS = ("boards", "still", "all")
"""Query parameters that need no value."""
PAIRS_AT_FIRST = 30
REMARKS_AT_FIRST = 20


def _show_html(page: AgreementPage) -> str:
    pairs, remarks = page.pairs, page.remarks
    if "all" not in request.args:
        pairs, remarks = pairs[:PAIRS_AT_FIRST], remarks[:REMARKS_AT_FIRST]
    return render_template(
        "judging/assessors/agreement.html",
        page=page,
        tables=agreement.AGREEMENT_TABLES,
        pairs=pairs,
        remarks=remarks,
        cells=_cells(page),
        whose=WHOSE,
        args=kept(STATE, flags=FLAGS),
    )


@http.with_files(
    blueprint, "/tasks/<slug>/pools/<id:number>/agreement", _show_html, agreement.AGREEMENT_FILES
)
@rule(SIGNED_IN)
def show(slug: str, number: int) -> AgreementPage:
    """The current agreement of a pool's assessors; with ?boards also the run rankings by assessor."""
    given = request.args
    # The boards take seconds: a file also has them where they are its table, the page only on request.
    is_their_file = "form" in (request.view_args or {}) and given.get("table") == "boards"
    return agreement.agreement_page(
        reading(),
        viewer(),
        slug,
        number,
        whose=given.get("whose") or "human",
        topic_id=given.get("topic", ""),
        pair=(_id("a"), _id("b")),
        with_boards="boards" in given or is_their_file,
    )


@blueprint.get("/tasks/<slug>/pools/<id:number>/assessments.<form>")
@hands_out_judgments
@rule(SIGNED_IN)
def events(slug: str, number: int, form: str) -> ResponseReturnValue:
    """Every event of the pool's assessors, as CSV or JSON lines."""
    pieces = agreement.events(reading(), viewer(), slug, number, form)
    response = Response(pieces, mimetype=agreement.FORMS[form])
    name = f"{slug}-pool-{number}-assessments.{form}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _id(name: str) -> int | None:
    text = request.args.get(name, "")
    if not text:
        return None
    assessor_id = whole(text)
    if assessor_id is None:
        raise NotFound(f"No assessor {text[:20]!r} exists.")
    return assessor_id


def _cells(page: AgreementPage) -> list[tuple[int, list[tuple[int, str]]]]:
    """The confusion table of the pair: the first one's grade, then count and colour by the other's grade."""
    if page.chosen is None:
        return []
    counts = page.chosen.confusion.counts.tolist()
    highest = max(max(row) for row in counts)
    return [
        (grade, [(count, heat_step(count, 0, highest) if count else "none") for count in row])
        for grade, row in zip(page.chosen.confusion.grades, counts, strict=True)
    ]
