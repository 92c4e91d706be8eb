"""The page that an account starts from: its tasks, runs and uploads."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.pages.my import tables
from leaderboard.pages.my.page import MyPage, my_page
from leaderboard.web import responses
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("my", __name__)


@blueprint.get("/my")
@rule(SIGNED_IN)
def show() -> ResponseReturnValue:
    """Deadlines, runs with what can be done with them, and what became of every file."""
    page = _page()
    shown = {name: table(page) for name, table in tables.TABLES.items()}
    return responses.page(render_template("accounts/my.html", page=page, tables=shown))


@blueprint.get("/my.<form:form>")
@rule(SIGNED_IN)
def export(form: str) -> ResponseReturnValue:
    """All of it as JSON; or one of its tables, the tasks unless ?table= names another."""
    return responses.export(form, tables.FILES, _page())


def _page() -> MyPage:
    return my_page(reading(), viewer())
