"""Organisers' pages of a pool's assessors: links, assignments, guidelines, imported labels."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.judging.ops import judging as assessors
from leaderboard.judging.ops.assessors import labels, queues
from leaderboard.judging.ops.assessors.labels import ImportedLabels
from leaderboard.judging.ops.assessors.queues import ORDERS, Plan
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.page.assessors import assessors as assessor_pages
from leaderboard.judging.page.assessors import judging as guidelines_pages
from leaderboard.judging.page.assessors.assessors import AssessorsPage
from leaderboard.judging.web.desks import ids, or_again
from leaderboard.scoring.ops import setting_values
from leaderboard.web import actions, responses
from leaderboard.web.addresses import whole
from leaderboard.web.rules import SIGNED_IN, Body, received, rule
from leaderboard.web.rules import number as form_number
from leaderboard.web.session import finish_reading, reading, settings, viewer, writing

blueprint = Blueprint("assessors", __name__)

MOST_PERCENT = 100


def _page(
    slug: str,
    number: int,
    *,
    links: tuple[PersonalLink, ...] = (),
    imported: ImportedLabels | None = None,
    error: LeaderboardError | None = None,
) -> str:
    page = _assessors(slug, number)
    return render_template(
        "judging/assessors/show.html",
        page=page,
        table=assessor_pages.assessors_table(page),
        topics_table=assessor_pages.topics_table(page),
        links=[(link.name, url_for("judging.desk", token=link.token, _external=True)) for link in links],
        imported=imported,
        error=error,
        sent=request.form,
        ways=queues.WAYS,
        orders=ORDERS,
        overlap=round(100 * queues.DEFAULT_OVERLAP),
        days=settings().assessor_link_days,
    )


def _guidelines(slug: str, number: int, error: LeaderboardError | None = None) -> str:
    form = guidelines_pages.guidelines_form(reading(), viewer(), slug, number)
    return render_template("judging/assessors/guidelines.html", page=form, error=error, sent=request.form)


@blueprint.get("/tasks/<slug>/pools/<id:number>/assessors")
@rule(SIGNED_IN)
def show(slug: str, number: int) -> ResponseReturnValue:
    """The pool's assessors, their progress, and the forms to add and assign."""
    return _page(slug, number)


@blueprint.get("/tasks/<slug>/pools/<id:number>/assessors.<form:form>")
@rule(SIGNED_IN)
def export(slug: str, number: int, form: str) -> ResponseReturnValue:
    """The assessors as a file; the topics with ?table=topics."""
    return responses.export(form, assessor_pages.FILES, _assessors(slug, number))


@blueprint.post("/tasks/<slug>/pools/<id:number>/assessors")
@rule(SIGNED_IN)
@or_again(_page, LeaderboardError)
def add(slug: str, number: int) -> ResponseReturnValue:
    """Add assessors by name, one per line, and show their links once."""
    asker, form = viewer(), request.form
    names = form.get("names", "").splitlines()
    with writing() as session:
        pools.own_pool(session, asker, slug, number)
        role = form.get("role", assessors.ASSESSOR)
        links = assessors.add_link(session, asker, slug, names, role, settings().assessor_link_days)
    return _page(slug, number, links=links), 201


@blueprint.post("/tasks/<slug>/pools/<id:number>/assignments")
@rule(SIGNED_IN)
@or_again(_page, LeaderboardError)
def assign(slug: str, number: int) -> ResponseReturnValue:
    """Assign the pool's documents to assessors."""
    asker = viewer()
    with writing() as session:
        queues.assign(session, asker, slug, number, _plan())
    return redirect(url_for("assessors.show", slug=slug, number=number), 303)


@blueprint.post("/tasks/<slug>/pools/<id:number>/labels")
@rule(SIGNED_IN, Body.FILES)
@or_again(_page, LeaderboardError)
def add_labels(slug: str, number: int) -> ResponseReturnValue:
    """Import the labels of an assessor or a machine from a file."""
    asker, form = viewer(), request.form
    pools.own_pool(reading(), asker, slug, number)
    finish_reading()
    file = received("labels")
    if file is None:
        raise Invalid("Choose a labels file.")
    prepared = labels.prepare(file.path, form.get("name", ""))
    with writing() as session:
        done = labels.add(
            session,
            asker,
            slug,
            number,
            prepared,
            name=form.get("name", ""),
            origin=form.get("origin", ""),
            origin_name=form.get("origin_name", ""),
        )
    return _page(slug, number, imported=done), 201


@blueprint.get("/tasks/<slug>/pools/<id:number>/guidelines")
@rule(SIGNED_IN)
def guidelines(slug: str, number: int) -> ResponseReturnValue:
    """The guidelines of a pool, its worked examples and the names of grades, for editing."""
    return _guidelines(slug, number)


@blueprint.post("/tasks/<slug>/pools/<id:number>/guidelines")
@rule(SIGNED_IN)
@or_again(_guidelines, Invalid)
def set_guidelines(slug: str, number: int) -> ResponseReturnValue:
    """Change the guidelines, the names of grades or the examples; each has its own form."""
    asker, form = viewer(), request.form
    with writing() as session:
        if "text" in form:
            labels.set_text(session, asker, slug, number, form["text"])
        elif "names" in form:
            pools.own_pool(session, asker, slug, number)
            setting_values.rename_grades(session, asker, slug, _grades(form["names"]))
        elif "remove" in form:
            place = form_number("remove", 0) or 0
            labels.remove_example(session, asker, slug, number, place)
        else:
            labels.add_example(session, asker, slug, number, _example())
    return redirect(url_for("assessors.guidelines", slug=slug, number=number), 303)


actions.add_to(
    blueprint,
    assessors.ACTIONS,
    lambda slug, number, error, **_: _page(slug, number, error=error),
    then={"renew_link": lambda link, slug, number, **_: (_page(slug, number, links=(link,)), 201)},
)


def _plan() -> Plan:
    form = request.form
    percent = form_number("overlap", round(100 * queues.DEFAULT_OVERLAP)) or 0
    return Plan(
        assessors=tuple(filter(None, ids("assessor"))),
        way=form.get("way", next(iter(queues.WAYS))),
        overlap=percent / MOST_PERCENT,
        order=form.get("order", next(iter(ORDERS))),
        seed=form_number("seed", 0) or 0,
        topics=tuple(form.get("topics", "").split()),
    )


def _grades(text: str) -> dict[int, str]:
    """Parse the grade and name on every line: `1 partly relevant`."""
    names: dict[int, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        value, _, name = line.partition(" ")
        grade = _grade(value)
        if grade is None:
            problem = Problem(
                "must begin with a whole number.", "Example: 1 relevant", field="line", value=line[:60]
            )
            raise Invalid("The grades cannot be read.", [problem])
        names[grade] = name
    return names


def _example() -> dict[str, Any]:
    form = request.form
    texts = {name: form.get(name, "").replace("\r\n", "\n") for name in ("topic", "docno", "text_of", "why")}
    return {**texts, "text": texts["text_of"], "grade": _grade(form.get("grade", ""))}


def _grade(text: str) -> int | None:
    """A whole number of at most three characters, possibly negative; None for anything else."""
    grade = whole(text.removeprefix("-"), digits=3)
    if grade is None or len(text) > 3:
        return None
    return -grade if text.startswith("-") else grade


def _assessors(slug: str, number: int) -> AssessorsPage:
    return assessor_pages.assessors_page(reading(), viewer(), slug, number)
