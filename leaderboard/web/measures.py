"""The catalogue of measures: the list, and a page for each."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.measures.catalogue import entries
from leaderboard.measures.catalogue.entries import Section
from leaderboard.pages import prints
from leaderboard.web import responses
from leaderboard.web.rules import PUBLIC, rule

blueprint = Blueprint("measures", __name__)

LONGEST_QUERY = 100


@blueprint.get("/measures")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """All measures, or those that ?q= finds."""
    query, sections = _query(), _sections()
    return responses.page(render_template("measures/index.html", sections=sections, query=query))


@blueprint.get("/measures.json")
@rule(PUBLIC)
def index_json() -> ResponseReturnValue:
    """The measures as JSON."""
    return responses.as_json(entries.as_json(_sections()))


@blueprint.get("/measures.csv")
@rule(PUBLIC)
def index_csv() -> ResponseReturnValue:
    """The measures as CSV."""
    return responses.as_csv(entries.table(_sections()), "measures")


@blueprint.get("/measures.tex")
@rule(PUBLIC)
def index_tex() -> ResponseReturnValue:
    """The measures as LaTeX."""
    return responses.as_printed(prints.of_measures(_sections()), "measures")


@blueprint.get("/measures/<name>")
@rule(PUBLIC)
def show(name: str) -> ResponseReturnValue:
    """One measure; other names of it, and it with parameters, lead to its own page."""
    canonical, written = entries.find(name)
    if canonical != name:
        return redirect(_address(canonical, written))
    page = entries.page(name, request.args.get("written", ""))
    return responses.page(render_template("measures/show.html", page=page))


@blueprint.get("/measures/<name>.json")
@rule(PUBLIC)
def show_json(name: str) -> ResponseReturnValue:
    """One measure as JSON."""
    canonical, _ = entries.find(name)
    return responses.as_json(entries.page_json(entries.page(canonical)))


@blueprint.app_template_filter()
def measure_address(key: str) -> str:
    """Where the measure of a key such as nDCG@10 is explained, with its parameters."""
    return _address(*entries.find(key))


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
    return entries.listing(_query())
