"""Suites as pages and files: the list, a board, its changes and pairs, one run; and the form of a suite."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.suites import page as suites
from leaderboard.suites.ops import changes as settling
from leaderboard.suites.ops import seen
from leaderboard.suites.ops.changes import SuiteDraft
from leaderboard.suites.page import NOT_DEFINED, TABLE_NAMES, SuiteChoice, SuitePage, SuiteRow, SuiteRunPage
from leaderboard.trec.suites import GROUPS
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("suites", __name__)

STATE = ("by", "members", "baseline", *GROUPS)
LIKE_THESE = "like-these"


@http.with_files(
    blueprint,
    "/suites",
    "suites/index.html",
    suites.LIST_FILES,
    rows=lambda rows: rows,
    table=suites.list_table,
)
@rule(PUBLIC)
def index() -> tuple[SuiteRow, ...]:
    """The suites of the site."""
    return suites.suites(reading(), viewer())


@http.with_files(
    blueprint,
    "/suites/<suite>",
    "suites/board.html",
    suites.SUITE_FILES,
    table=suites.suite_table,
    names=lambda _: TABLE_NAMES,
    args=lambda _: kept(STATE),
)
@rule(PUBLIC)
def show(suite: str) -> SuitePage:
    """The board of a suite."""
    return suites.suite_page(reading(), viewer(), suite, choice())


@blueprint.get("/suites/<suite>/changes")
@rule(PUBLIC)
def changes(suite: str) -> ResponseReturnValue:
    """The changes from the reference to one other member."""
    page = show(suite)
    others = tuple(dict.fromkeys(row.member for row in page.board.changes))
    member = request.args.get("member") or next(iter(others), None)
    html = render_template(
        "suites/changes.html",
        page=page,
        table=suites.changes(page, member),
        others=others,
        member=member,
        absent=NOT_DEFINED,
        args=kept(STATE),
    )
    return http.page(html)


@blueprint.get("/suites/<suite>/pairs")
@rule(PUBLIC)
def pairs(suite: str) -> ResponseReturnValue:
    """The pairs of one run with all others; by default the first run of the board."""
    page = show(suite)
    names = tuple(dict.fromkeys(name for row in page.board.pairs for name in (row.a, row.b)))
    chosen = request.args.get("run") or next(iter(names), None)
    html = render_template(
        "suites/pairs.html",
        page=page,
        table=suites.pairs(page, chosen),
        runs=names,
        chosen=chosen,
        args=kept(STATE),
    )
    return http.page(html)


@http.with_files(
    blueprint,
    "/suites/<suite>/runs/<id:suite_run_id>",
    "suites/run.html",
    suites.RUN_FILES,
    endpoint="run_export",
    table=suites.run_table,
)
@rule(PUBLIC)
def show_run(suite: str, suite_run_id: int) -> SuiteRunPage:
    """One suite run: its members' runs and its place."""
    return suites.suite_run_page(reading(), viewer(), suite, suite_run_id)


def choice() -> SuiteChoice:
    """The reader's choices from an address."""
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
    """The form that creates a suite; for task organisers."""
    settling.require_maker(reading(), viewer())
    return _form()


@blueprint.get("/suites/<suite>/settings")
@rule(SIGNED_IN)
def settings(suite: str) -> ResponseReturnValue:
    """The form that changes a suite."""
    return _form(suite)


def _form(suite: str = "", error: LeaderboardError | None = None) -> str:
    """The form of a suite, or of a new one; refused values are shown again."""
    known_suite = seen.own_suite(reading(), viewer(), suite) if suite else None
    draft = settling.draft_of(known_suite) if known_suite else None
    stored = {**fields.texts(draft), "members": settling.member_lines(draft.members)} if draft else {}
    return render_template(
        "suites/settings.html",
        suite=suite,
        sent=request.form if error else stored or request.args,
        error=error,
        asked=[each for each in fields.of(SuiteDraft) if each.name != "slug"],
        is_shown=known_suite is None or known_suite.suite.withdrawn_at is None,
    )


actions.add_to(
    blueprint,
    settling.SETTINGS,
    _form,
    then={"make_suite": lambda slug: redirect(url_for("suites.show", suite=slug), 303)},
)
