"""The catalogue of measures: the list, and a page for each."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.measures.answers import catalogue as of_answers
from leaderboard.measures.catalogue import entries
from leaderboard.measures.catalogue.entries import Section
from leaderboard.measures.judges import registry
from leaderboard.measures.naming import kind_of, parse
from leaderboard.scoring import page as pages
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, rule

if TYPE_CHECKING:
    from leaderboard.measures.answers.catalogue import AnswerMeasurePage

blueprint = Blueprint("measures", __name__)

LONGEST_QUERY = 100


@blueprint.get("/measures")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """All measures, or those matching ?q=."""
    sections = _sections()
    html = render_template(
        "scoring/measures/index.html",
        sections=sections,
        most_used=() if _query() else entries.most_used(),
        table=pages.table(sections),
        of_answers=_of("answers") if not _query() else {},
        of_judges=_of("judges") if not _query() else {},
        query=_query(),
        args=kept(["q"]),
    )
    return http.page(html)


@blueprint.get("/measures.<form:form>")
@rule(PUBLIC)
def export(form: str) -> ResponseReturnValue:
    """The measures as a file."""
    return http.export(form, pages.FILES, _sections())


@blueprint.get("/measures/<name>")
@rule(PUBLIC)
def show(name: str) -> ResponseReturnValue:
    """One measure; its aliases, and names with parameters, redirect to its own page."""
    canonical, written = _found(name)
    if canonical in _of_others():
        return _show_of_others(name, canonical, written)
    if canonical != name:
        return redirect(_address(canonical, written))
    page = entries.page(name, request.args.get("written", ""))
    html = render_template(
        "scoring/measures/show.html",
        page=page,
        parameters=pages.parameters(page),
        trec_names=pages.trec_names(page),
        examples=[pages.example(worked) for worked in page.worked],
    )
    return http.page(html)


@blueprint.get("/measures/<name>.json")
@rule(PUBLIC)
def show_json(name: str) -> ResponseReturnValue:
    """One measure as JSON."""
    canonical, _ = _found(name)
    if canonical in (others := _of_others()):
        return http.as_json(asdict(others[canonical]))
    return http.as_json(pages.page_facts(entries.page(canonical)))


@blueprint.app_template_filter()
def measure_address(key: str) -> str:
    """Address of the page of a measure key such as nDCG@10, with its parameters."""
    return _address(*_found(key))


def _found(name: str) -> tuple[str, str]:
    """The measure of a name, of rankings or of something else, and the name where it has parameters."""
    try:
        return entries.find(name)
    except NotFound:
        measure = _named_of_others(name)
        if measure is None:
            raise
        return measure, "" if name == measure else name


def _named_of_others(name: str) -> str | None:
    if name in _of_others():
        return name
    try:
        bound = parse(name)
    except UnknownMeasure:
        return None
    return bound.measure.name if kind_of(bound.measure) != "rankings" else None


def _of(kind: str) -> "dict[str, AnswerMeasurePage]":
    """The measures of answers, or of judges, by name, in order."""
    pages = of_answers.pages() if kind == "answers" else registry.pages()
    return {page.name: page for page in pages}


def _of_others() -> "dict[str, AnswerMeasurePage]":
    return {**_of("answers"), **_of("judges")}


def _show_of_others(name: str, canonical: str, written: str) -> ResponseReturnValue:
    if canonical != name:
        return redirect(_address(canonical, written))
    written = request.args.get("written", "")
    written = written if _named_of_others(written) == name else ""
    kind = "answers" if name in _of("answers") else "judges"
    html = render_template(
        "scoring/measures/of_answers.html", page=_of_others()[name], kind=kind, written=written
    )
    return http.page(html)


@blueprint.app_template_filter()
def codes(text: str) -> Markup:
    """Text with parts between backticks as code."""
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
