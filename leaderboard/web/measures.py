"""The catalogue of measures: the list, and a page for each."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.services import catalogue, printed_tables
from leaderboard.services.catalogue import Section
from leaderboard.web import tables
from leaderboard.web.rules import PUBLIC, rule

blueprint = Blueprint("measures", __name__)

LONGEST_QUERY = 100


@blueprint.get("/measures")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """All measures, or those that ?q= finds."""
    query, sections = _query(), _sections()
    return tables.page(render_template("measures/index.html", sections=sections, query=query))


@blueprint.get("/measures.json")
@rule(PUBLIC)
def index_json() -> ResponseReturnValue:
    """The measures as JSON."""
    return tables.as_json(catalogue.as_json(_sections()))


@blueprint.get("/measures.csv")
@rule(PUBLIC)
def index_csv() -> ResponseReturnValue:
    """The measures as CSV."""
    return tables.as_csv(catalogue.table(_sections()), "measures")


@blueprint.get("/measures.tex")
@rule(PUBLIC)
def index_tex() -> ResponseReturnValue:
    """The measures as LaTeX."""
    return tables.as_printed(printed_tables.of_measures(_sections()), "measures")


@blueprint.get("/measures/<name>")
@rule(PUBLIC)
def show(name: str) -> ResponseReturnValue:
    """One measure; other names of it, and it with parameters, lead to its own page."""
    canonical, written = catalogue.find(name)
    if canonical != name:
        return redirect(_address(canonical, written))
    page = catalogue.page(name, request.args.get("written", ""))
    return tables.page(render_template("measures/show.html", page=page))


@blueprint.get("/measures/<name>.json")
@rule(PUBLIC)
def show_json(name: str) -> ResponseReturnValue:
    """One measure as JSON."""
    canonical, _ = catalogue.find(name)
    return tables.as_json(catalogue.page_json(catalogue.page(canonical)))


@blueprint.app_template_filter()
def measure_address(key: str) -> str:
    """Where the measure of a key such as nDCG@10 is explained, with its parameters."""
    return _address(*catalogue.find(key))


@blueprint.app_template_filter()
def codes(text: str) -> Markup:
    """Text with what stands between backticks as code."""
    parts = (escape(each) for each in text.split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(each) if place % 2 else each for place, each in enumerate(parts)
    )


def _address(name: str, written: str) -> str:
    return url_for("measures.show", name=name, written=written or None)


def _query() -> str:
    return request.args.get("q", "").strip()[:LONGEST_QUERY]


def _sections() -> tuple[Section, ...]:
    return catalogue.listing(_query())
