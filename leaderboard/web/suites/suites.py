"""Suites as pages and files: the list, a board, its changes and pairs, one run; and the form of a suite."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.pages.suites import board, run
from leaderboard.pages.suites.board import SuiteChoice, SuitePage
from leaderboard.pages.suites.tables import NAMES, NOT_DEFINED
from leaderboard.services.suites import changes as settling
from leaderboard.services.suites import drafts, records
from leaderboard.services.suites.drafts import SuiteDraft
from leaderboard.trec.suites.suite_files import GROUPS
from leaderboard.web import actions, responses
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("suites", __name__)

STATE = ("by", "members", "baseline", *GROUPS)
LIKE_THESE = "like-these"


@blueprint.get("/suites")
@rule(PUBLIC)
def index() -> ResponseReturnValue:
    """The suites of the site."""
    rows = board.suites(reading(), viewer())
    return responses.page(render_template("suites/index.html", rows=rows, table=board.list_table(rows)))


@blueprint.get("/suites.<form:form>")
@rule(PUBLIC)
def index_export(form: str) -> ResponseReturnValue:
    """The suites as a file."""
    return responses.export(form, board.LIST_FILES, board.suites(reading(), viewer()))


@blueprint.get("/suites/<suite>")
@rule(PUBLIC)
def show(suite: str) -> ResponseReturnValue:
    """The board of a suite."""
    page = _page(suite)
    html = render_template(
        "suites/board.html", page=page, table=board.table(page), names=NAMES, args=kept(STATE)
    )
    return responses.page(html)


@blueprint.get("/suites/<suite>.<form:form>")
@rule(PUBLIC)
def export(suite: str, form: str) -> ResponseReturnValue:
    """The suite as JSON, or its board, its changes or its pairs as another file."""
    return responses.export(form, board.FILES, _page(suite))


@blueprint.get("/suites/<suite>/changes")
@rule(PUBLIC)
def changes(suite: str) -> ResponseReturnValue:
    """What changes from the reference to one other member."""
    page = _page(suite)
    others = tuple(dict.fromkeys(row.member for row in page.board.changes))
    member = request.args.get("member") or next(iter(others), None)
    html = render_template(
        "suites/changes.html",
        page=page,
        table=board.changes(page, member),
        others=others,
        member=member,
        absent=NOT_DEFINED,
        args=kept(STATE),
    )
    return responses.page(html)


@blueprint.get("/suites/<suite>/pairs")
@rule(PUBLIC)
def pairs(suite: str) -> ResponseReturnValue:
    """How one run stands to all others, the first of the board unless another is chosen."""
    page = _page(suite)
    names = tuple(dict.fromkeys(name for row in page.board.pairs for name in (row.a, row.b)))
    chosen = request.args.get("run") or next(iter(names), None)
    html = render_template(
        "suites/pairs.html",
        page=page,
        table=board.pairs(page, chosen),
        runs=names,
        chosen=chosen,
        args=kept(STATE),
    )
    return responses.page(html)


@blueprint.get("/suites/<suite>/runs/<id:suite_run_id>")
@rule(PUBLIC)
def show_run(suite: str, suite_run_id: int) -> ResponseReturnValue:
    """One suite run: its members' runs and its place."""
    page = run.suite_run_page(reading(), viewer(), suite, suite_run_id)
    return responses.page(render_template("suites/run.html", page=page, table=run.table(page)))


@blueprint.get("/suites/<suite>/runs/<id:suite_run_id>.<form:form>")
@rule(PUBLIC)
def run_export(suite: str, suite_run_id: int, form: str) -> ResponseReturnValue:
    """One suite run as a file."""
    return responses.export(form, run.FILES, run.suite_run_page(reading(), viewer(), suite, suite_run_id))


def _page(suite: str) -> SuitePage:
    return board.suite_page(reading(), viewer(), suite, choice())


def choice() -> SuiteChoice:
    """What an address asks of a suite."""
    given = request.args
    return SuiteChoice(
        by=(given.get("by") or "mean").replace("-", "_"),
        like_these=given.get("members") == LIKE_THESE,
        groups=tuple((key, given[key]) for key in GROUPS if given.get(key)),
        baseline=given.get("baseline", ""),
    )


@blueprint.get("/suites/new")
@rule(SIGNED_IN)
def new() -> ResponseReturnValue:
    """The form that makes a suite; for who organises tasks."""
    settling.require_maker(reading(), viewer())
    return _form()


@blueprint.get("/suites/<suite>/settings")
@rule(SIGNED_IN)
def settings(suite: str) -> ResponseReturnValue:
    """The form that changes a suite."""
    return _form(suite)


def _form(suite: str = "", error: LeaderboardError | None = None) -> str:
    """The form of a suite, or of a new one; what was refused is shown again."""
    known = records.own_suite(reading(), viewer(), suite) if suite else None
    draft = settling.draft_of(known) if known else None
    stored = {**fields.texts(draft), "members": drafts.member_lines(draft.members)} if draft else {}
    return render_template(
        "suites/settings.html",
        suite=suite,
        sent=request.form if error else stored or request.args,
        error=error,
        asked=[each for each in fields.of(SuiteDraft) if each.name != "slug"],
        problems=actions.problems(error),
        is_shown=known is None or known.suite.withdrawn_at is None,
    )


actions.add_to(
    blueprint,
    settling.SETTINGS,
    _form,
    then={"make_suite": lambda made: redirect(url_for("suites.show", suite=made), 303)},
)
