"""Runs compared side by side by people: the organiser's page, and the results of two runs as files."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError, NotFound
from leaderboard.pages.side_by_side import desk, prints, results
from leaderboard.pages.side_by_side.results import Results
from leaderboard.services import policy
from leaderboard.services.assessors import links as assessors
from leaderboard.services.side_by_side import pairs
from leaderboard.services.side_by_side.pairs import Wanted
from leaderboard.web import responses
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.files import number
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, writing

blueprint = Blueprint("side_by_side", __name__)

LARGEST_ID_DIGITS = 18


@blueprint.get("/tasks/<slug>/side-by-side")
@rule(SIGNED_IN)
def show(slug: str) -> ResponseReturnValue:
    """What is compared, by whom, how far; the forms to ask for more."""
    return _page(slug)


def _page(slug: str, error: LeaderboardError | None = None) -> str:
    page = desk.page(reading(), viewer(), slug)
    return render_template("side_by_side/show.html", page=page, error=error, sent=request.form)


@blueprint.get("/tasks/<slug>/side-by-side.json")
@rule(SIGNED_IN)
def show_json(slug: str) -> ResponseReturnValue:
    """The pairs as JSON."""
    return responses.as_json(desk.facts(desk.page(reading(), viewer(), slug)))


@blueprint.get("/tasks/<slug>/side-by-side.csv")
@rule(SIGNED_IN)
def show_csv(slug: str) -> ResponseReturnValue:
    """The pairs as CSV."""
    page = desk.page(reading(), viewer(), slug)
    return responses.as_csv(desk.table(page), f"{slug}-side-by-side")


@blueprint.get("/tasks/<slug>/side-by-side.tex")
@rule(SIGNED_IN)
def show_tex(slug: str) -> ResponseReturnValue:
    """The pairs as LaTeX."""
    page = desk.page(reading(), viewer(), slug)
    return responses.as_printed(prints.of_pairs(page), f"{slug}-side-by-side")


@blueprint.get("/tasks/<slug>/side-by-side/answers.json")
@rule(SIGNED_IN)
def answers_json(slug: str) -> ResponseReturnValue:
    """Every answer as JSON."""
    header, rows = desk.log(reading(), viewer(), slug)
    return responses.as_json({"task": slug, "answers": [dict(zip(header, row, strict=True)) for row in rows]})


@blueprint.get("/tasks/<slug>/side-by-side/answers.csv")
@rule(SIGNED_IN)
def answers_csv(slug: str) -> ResponseReturnValue:
    """Every answer as CSV."""
    return responses.as_csv(desk.log(reading(), viewer(), slug), f"{slug}-side-by-side-answers")


@blueprint.post("/tasks/<slug>/side-by-side")
@rule(SIGNED_IN)
def ask(slug: str) -> ResponseReturnValue:
    """Have assessors compare a run with others."""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    try:
        wanted = _wanted()
        with writing() as session:
            pairs.ask(session, asker, slug, wanted)
    except LeaderboardError as error:
        if wants_json():
            raise
        return _page(slug, error), status_of(error)
    return redirect(url_for("side_by_side.show", slug=slug), 303)


@blueprint.post("/tasks/<slug>/side-by-side/assessors")
@rule(SIGNED_IN)
def add_assessors(slug: str) -> ResponseReturnValue:
    """New assessors, one name a line; their links are on the page that answers, and nowhere else."""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    names = request.form.get("names", "").splitlines()
    try:
        with writing() as session:
            links = assessors.add(session, asker, slug, names)
    except LeaderboardError as error:
        if wants_json():
            raise
        return _page(slug, error), status_of(error)
    return render_template("side_by_side/links.html", slug=slug, links=links), 201


@blueprint.post("/tasks/<slug>/side-by-side/end")
@rule(SIGNED_IN)
def end(slug: str) -> ResponseReturnValue:
    """Ask for nothing more of two runs."""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    one, other = (number(name, None) for name in ("first", "second"))
    if one is None or other is None:
        raise Invalid("Say which two runs.")
    with writing() as session:
        pairs.end(session, asker, slug, one, other)
    return redirect(url_for("side_by_side.show", slug=slug), 303)


@blueprint.get("/tasks/<slug>/compare/side-by-side.json")
@rule(PUBLIC)
def compared_json(slug: str) -> ResponseReturnValue:
    """What people prefer of two runs as JSON."""
    return responses.as_json(results.facts(_results(slug)))


@blueprint.get("/tasks/<slug>/compare/side-by-side.csv")
@rule(PUBLIC)
def compared_csv(slug: str) -> ResponseReturnValue:
    """What people prefer of two runs, by topic, as CSV."""
    found = _results(slug)
    return responses.as_csv(results.table(found), _name(found))


@blueprint.get("/tasks/<slug>/compare/side-by-side.tex")
@rule(PUBLIC)
def compared_tex(slug: str) -> ResponseReturnValue:
    """What people prefer of two runs, by topic, as LaTeX."""
    found = _results(slug)
    return responses.as_printed(prints.of_results(found), _name(found))


def _results(slug: str) -> Results:
    ids = [_id(request.args.get(name, "")) for name in ("a", "b")]
    if None in ids:
        raise NotFound("Say which two runs: ?a= and ?b=.")
    one, two = (each or 0 for each in ids)
    return results.results_of(reading(), viewer(), slug, one, two)


def _name(found: Results) -> str:
    return f"{found.names[0]}-{found.names[1]}-side-by-side"


def _wanted() -> Wanted:
    form = request.form
    return Wanted(
        run=_id(form.get("run", "")) or 0,
        others=_ids("other"),
        assessors=_ids("assessor"),
        topics=tuple(form.get("topics", "").split()),
        sample=number("sample", None),
        each=number("each", None),
    )


def _ids(field: str) -> tuple[int, ...]:
    return tuple(_id(each) or 0 for each in request.form.getlist(field))


def _id(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LARGEST_ID_DIGITS else None
