"""How far the assessors of a pool agree, as page, JSON, CSV and LaTeX; every event of theirs as a file."""

from typing import Any

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.errors import NotFound
from leaderboard.pages.assessors import agreement, agreement_files, boards_by_assessor
from leaderboard.pages.assessors.agreement import AgreementPage
from leaderboard.pages.assessors.boards_by_assessor import BoardsByAssessor
from leaderboard.services.assessors import files
from leaderboard.services.assessors.judged_pools import WHOSE
from leaderboard.web import responses
from leaderboard.web.charts import heat_step
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("agreement", __name__)

STATE = ("whose", "topic", "a", "b")
FLAGS = ("boards", "still", "all")
"""Parts of the address that say something without a value."""
PAIRS_AT_FIRST = 30
REMARKS_AT_FIRST = 20


@blueprint.get("/tasks/<slug>/pools/<id:number>/agreement")
@rule(SIGNED_IN)
def show(slug: str, number: int) -> ResponseReturnValue:
    """The agreement of a pool's assessors as it is now."""
    page = _page(slug, number)
    pairs, remarks = page.pairs, page.remarks
    if "all" not in request.args:
        pairs, remarks = pairs[:PAIRS_AT_FIRST], remarks[:REMARKS_AT_FIRST]
    html = render_template(
        "assessors/agreement.html",
        page=page,
        pairs=pairs,
        remarks=remarks,
        cells=_cells(page),
        boards=_boards(slug, number) if "boards" in request.args else None,
        whose=WHOSE,
        scales=agreement.SCALES,
        args=_state(),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/pools/<id:number>/agreement.json")
@rule(SIGNED_IN)
def show_json(slug: str, number: int) -> ResponseReturnValue:
    """The agreement as JSON; with ?boards also the order of the runs under each assessor."""
    facts = agreement_files.as_json(_page(slug, number))
    if "boards" in request.args:
        facts["boards"] = agreement_files.boards_facts(_boards(slug, number))
    return responses.as_json(facts)


@blueprint.get("/tasks/<slug>/pools/<id:number>/agreement.csv")
@rule(SIGNED_IN)
def show_csv(slug: str, number: int) -> ResponseReturnValue:
    """One of the page's tables, chosen by ?table=, as CSV."""
    name, table = _table(slug, number)
    return responses.as_csv(table, f"{slug}-pool-{number}-{name}")


@blueprint.get("/tasks/<slug>/pools/<id:number>/agreement.tex")
@rule(SIGNED_IN)
def show_tex(slug: str, number: int) -> ResponseReturnValue:
    """One of the page's tables as LaTeX."""
    name, table = _table(slug, number)
    digits = dict.fromkeys(table[0], 3) | dict.fromkeys(("median_seconds", "trimmed_mean_seconds"), 1)
    caption = (
        f"Pool {number}: the order of the runs under each assessor."
        if name == "boards"
        else agreement_files.caption(_page(slug, number), name)
    )
    return responses.as_latex_table(table, f"{slug}-pool-{number}-{name}", caption=caption, digits=digits)


@blueprint.get("/tasks/<slug>/pools/<id:number>/assessments.<form>")
@rule(SIGNED_IN)
def events(slug: str, number: int, form: str) -> ResponseReturnValue:
    """Every event of the pool's assessors, as CSV or JSON lines."""
    pieces = files.events(reading(), viewer(), slug, number, form)
    response = Response(pieces, mimetype=files.FORMS[form])
    name = f"{slug}-pool-{number}-assessments.{form}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _page(slug: str, number: int) -> AgreementPage:
    given = request.args
    return agreement.agreement_page(
        reading(),
        viewer(),
        slug,
        number,
        whose=given.get("whose") or "human",
        topic_id=given.get("topic", ""),
        pair=(_id("a"), _id("b")),
    )


def _boards(slug: str, number: int) -> BoardsByAssessor:
    whose = request.args.get("whose") or "human"
    return boards_by_assessor.boards_by_assessor(reading(), viewer(), slug, number, whose)


def _table(slug: str, number: int) -> tuple[str, agreement_files.Table]:
    name = request.args.get("table", "pairs")
    if name == "boards":
        return name, agreement_files.boards_table(_boards(slug, number))
    return name, agreement_files.table(_page(slug, number), name)


def _id(name: str) -> int | None:
    text = request.args.get(name, "")
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise NotFound(f"There is no assessor {text[:20]!r}.")


def _cells(page: AgreementPage) -> list[tuple[int, list[tuple[int, str]]]]:
    """The confusion table of the pair: the first one's grade, then count and colour by the other's."""
    if page.chosen is None:
        return []
    counts = page.chosen.confusion.counts.tolist()
    highest = max(max(row) for row in counts)
    return [
        (grade, [(count, heat_step(count, 0, highest) if count else "none") for count in row])
        for grade, row in zip(page.chosen.confusion.grades, counts, strict=True)
    ]


def _state() -> dict[str, Any]:
    """The parts of the address that choose what is shown, to be kept in links."""
    given = request.args
    chosen = {name: given[name] for name in STATE if given.get(name)}
    return {**chosen, **{name: "" for name in FLAGS if name in given}}
