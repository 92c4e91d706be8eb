"""Organisers' pages of a pool's assessors: links, assignments, guidelines, imported labels."""

from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import Closed, Invalid, LeaderboardError
from leaderboard.judging.ops import judging as assessors
from leaderboard.judging.ops.assessors import labels, queues
from leaderboard.judging.ops.assessors.labels import (
    Example,
    GradeNames,
    Guidelines,
    ImportedLabels,
    LabelsQuery,
)
from leaderboard.judging.ops.assessors.queues import Plan
from leaderboard.judging.ops.judging import NewAssessors, PersonalLink
from leaderboard.judging.page.assessors import assessors as assessor_pages
from leaderboard.judging.page.assessors import judging as guidelines_pages
from leaderboard.judging.page.assessors.assessors import AssessorsPage
from leaderboard.web import actions, http
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, settings, viewer

blueprint = Blueprint("assessors", __name__)


def _show_html(
    page: AssessorsPage,
    *,
    links: tuple[PersonalLink, ...] = (),
    imported: ImportedLabels | None = None,
    error: LeaderboardError | None = None,
) -> str:
    return render_template(
        "judging/assessors/show.html",
        page=page,
        table=assessor_pages.assessors_table(page),
        topics_table=assessor_pages.topics_table(page),
        links=[(link.name, url_for("judging.desk", token=link.token, _external=True)) for link in links],
        imported=imported,
        error=error,
        add=actions.form(NewAssessors, error),
        assign=actions.form(Plan, error, fields.empty(Plan) | {"assessors": page.assigned}),
        people={row.assessor.id: row.assessor.name for row in page.people},
        labels=actions.form(LabelsQuery, error),
        days=settings().assessor_link_days,
    )


def _guidelines(slug: str, number: int, error: LeaderboardError | None = None) -> str:
    page = guidelines_pages.guidelines_form(reading(), viewer(), slug, number)
    grades = "\n".join(f"{grade.value} {grade.name}" for grade in page.pool.scale)
    return render_template(
        "judging/assessors/guidelines.html",
        page=page,
        error=error,
        text=actions.form(Guidelines, error, {"text": page.text}),
        grades=actions.form(GradeNames, error, {"grades": grades}),
        example=actions.form(Example, error),
        scale={grade.value: f"{grade.value} {grade.name}" for grade in page.pool.scale},
    )


@http.with_files(
    blueprint, "/tasks/<slug>/pools/<id:number>/assessors", _show_html, assessor_pages.FILES, is_kept=False
)
@rule(SIGNED_IN)
def show(slug: str, number: int) -> AssessorsPage:
    """The pool's assessors, their progress, and the forms to add and assign."""
    return assessor_pages.assessors_page(reading(), viewer(), slug, number)


@blueprint.get("/tasks/<slug>/pools/<id:number>/guidelines")
@rule(SIGNED_IN)
def guidelines(slug: str, number: int) -> ResponseReturnValue:
    """The guidelines of a pool, its worked examples and the names of grades, for editing."""
    return _guidelines(slug, number)


actions.add_to(
    blueprint,
    (*assessors.ACTIONS, queues.ASSIGN, labels.LABELS),
    lambda slug, number, error, **_: _show_html(show(slug, number), error=error),
    then={
        "add_assessors": lambda links, slug, number: (_show_html(show(slug, number), links=links), 201),
        "renew_link": lambda link, slug, number, **_: (_show_html(show(slug, number), links=(link,)), 201),
        "add_labels": lambda done, slug, number: (_show_html(show(slug, number), imported=done), 201),
    },
    refusals=(*actions.REFUSALS, Closed),
)
actions.add_to(
    blueprint,
    labels.GUIDELINES,
    lambda slug, number, error, **_: _guidelines(slug, number, error),
    refusals=(Invalid,),
)
