"""The page that an account starts from: its tasks, runs and uploads."""

from flask import Blueprint, render_template

from leaderboard.runs.page import my
from leaderboard.runs.page.my import MyPage, my_page
from leaderboard.web import http
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("my", __name__)


def _show_html(page: MyPage) -> str:
    shown = {name: table(page) for name, table in my.MY_TABLES.items()}
    shown["tasks"] = my.task_table(page, [row for row in page.tasks if row.state == "closed"])
    return render_template("accounts/my.html", page=page, tables=shown)


@http.with_files(blueprint, "/my", _show_html, my.MY_FILES)
@rule(SIGNED_IN)
def show() -> MyPage:
    """Deadlines, runs with what can be done with them, and what became of every file."""
    return my_page(reading(), viewer())
