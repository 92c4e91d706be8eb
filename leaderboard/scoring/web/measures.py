"""The catalogue of measures: the list, and a page for each."""

from dataclasses import asdict

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.measures.catalogue import entries
from leaderboard.measures.catalogue.entries import Section
from leaderboard.scoring import page as pages
from leaderboard.web import http
from leaderboard.web.addresses import kept
from leaderboard.web.filters import measure_named, named_of_others, of_others, pages_of
from leaderboard.web.rules import PUBLIC, rule

blueprint = Blueprint("measures", __name__)

LONGEST_QUERY = 100


def _index_html(sections: tuple[Section, ...]) -> str:
    return render_template(
        "scoring/measures/index.html",
        sections=sections,
        most_used=() if _query() else entries.most_used(),
        table=pages.table(sections),
        of_answers=pages_of("answers") if not _query() else {},
        of_judges=pages_of("judges") if not _query() else {},
        query=_query(),
        args=kept(["q"]),
    )


@http.with_files(blueprint, "/measures", _index_html, pages.FILES, endpoint="export")
@rule(PUBLIC)
def index() -> tuple[Section, ...]:
    """All measures, or those matching ?q=."""
    return entries.listing(_query())


@blueprint.get("/measures/<name>")
@rule(PUBLIC)
def show(name: str) -> ResponseReturnValue:
    """One measure; its aliases, and names with parameters, redirect to its own page."""
    canonical, written = measure_named(name)
    if canonical in of_others():
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
    canonical, _ = measure_named(name)
    if canonical in (others := of_others()):
        return http.as_json(asdict(others[canonical]))
    return http.as_json(pages.page_facts(entries.page(canonical)))


def _show_of_others(name: str, canonical: str, written: str) -> ResponseReturnValue:
    if canonical != name:
        return redirect(_address(canonical, written))
    written = request.args.get("written", "")
    written = written if named_of_others(written) == name else ""
    kind = "answers" if name in pages_of("answers") else "judges"
    html = render_template(
        "scoring/measures/of_answers.html", page=of_others()[name], kind=kind, written=written
    )
    return http.page(html)


def _address(name: str, written: str) -> str:
    return url_for("measures.show", name=name, written=written or None)


def _query() -> str:
    return request.args.get("q", "").strip()[:LONGEST_QUERY]
