"""The catalogue of measures: the list, and a page for each."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.measures.catalogue import entries
from leaderboard.measures.catalogue.entries import Section
from leaderboard.pages import measures as pages
from leaderboard.web import responses
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, rule

blueprint = Blueprint("measures", __name__)

LONGEST_QUERY = 100


@blueprint.get("/measures")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """All measures, or those that ?q= finds."""
    sections = _sections()
    html = render_template(
        "measures/index.html",
        sections=sections,
        table=pages.table(sections),
        query=_query(),
        args=kept(["q"]),
    )
    return responses.page(html)


@blueprint.get("/measures.<form:form>")
@rule(PUBLIC)
def export(form: str) -> ResponseReturnValue:
    """The measures as a file."""
    return responses.export(form, pages.FILES, _sections())


@blueprint.get("/measures/<name>")
@rule(PUBLIC)
def show(name: str) -> ResponseReturnValue:
    """One measure; other names of it, and it with parameters, lead to its own page."""
    canonical, written = entries.find(name)
    if canonical != name:
        return redirect(_address(canonical, written))
    page = entries.page(name, request.args.get("written", ""))
    html = render_template(
        "measures/show.html",
        page=page,
        parameters=pages.parameters(page),
        trec_names=pages.trec_names(page),
        examples=[pages.example(worked) for worked in page.worked],
    )
    return responses.page(html)


@blueprint.get("/measures/<name>.json")
@rule(PUBLIC)
def show_json(name: str) -> ResponseReturnValue:
    """One measure as JSON."""
    canonical, _ = entries.find(name)
    return responses.as_json(pages.page_facts(entries.page(canonical)))


@blueprint.app_template_filter()
def measure_address(key: str) -> str:
    """Where the measure of a key such as nDCG@10 is explained, with its parameters."""
    return _address(*entries.find(key))


@blueprint.app_template_filter()
def codes(text: str) -> Markup:
    """Text with what stands between backticks as code."""
    parts = (escape(part) for part in text.split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def _address(name: str, written: str) -> str:
    return url_for("measures.show", name=name, written=written or None)


def _query() -> str:
    return request.args.get("q", "").strip()[:LONGEST_QUERY]


def _sections() -> tuple[Section, ...]:
    return entries.listing(_query())
