"""Markdown: what would take long to show is refused wherever it is saved, and shown as it is where it was."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from leaderboard.core import prose
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.errors import LeaderboardError
from leaderboard.judging.ops.assessors import labels
from leaderboard.scoring.ops import setting_values
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import EVERYBODY, AnnouncementBody
from leaderboard.tasks.ops.settings import SETTINGS
from leaderboard.web import filters
from tests.make import build, pools
from tests.web.conftest import Site

LONG = "[" * 10_000
RULE = "may have at most 4,000 marks of Markdown."


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a" * 50_000, ""),
        ("a" * 50_001, "may have at most 50,000 characters."),
        ("\n" * 999, ""),
        ("\n" * 1_000, "may have at most 1,000 lines."),
        ("*a*\n\n" * 300, ""),
        ("[" * 600, ""),
        ("[" * 601, "may have at most 600 of the characters [ ] * _ ` < in a paragraph."),
        ("[" * 400 + "\r\n \r\n" + "*" * 400, ""),
        ("[" * 400 + "\r" + "*" * 400, "may have at most 600 of the characters [ ] * _ ` < in a paragraph."),
        (LONG, RULE),
    ],
)
def test_the_limits(text: str, rule: str) -> None:
    """To the character, the line and the mark."""
    assert prose.broken_rule(text) == rule


@pytest.mark.parametrize("road", ["description", "agreement", "announcement", "guidelines"])
def test_every_road_refuses_it(road: str, database: Database, tmp_path: Path) -> None:
    """Settings, announcements and guidelines, by forms, the API and commands alike."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, {"1": ["a"]})
    pools.pool(database, {"1": ["a"]})

    def announce() -> None:
        with database.write() as session:
            announcements.preview(session, OPERATOR, "t", AnnouncementBody("News", LONG, EVERYBODY))

    def guide() -> None:
        with database.write() as session:
            labels.set_text(session, OPERATOR, "t", 1, LONG)

    roads: dict[str, Callable[[], object]] = {
        "description": lambda: SETTINGS["description"].about.read(LONG),
        "agreement": lambda: SETTINGS["agreement"].about.read(LONG),
        "announcement": announce,
        "guidelines": guide,
    }
    with pytest.raises((LeaderboardError, ValueError), match=RULE.removesuffix(".")):
        roads[road]()
    assert setting_values.text("*short*") == "*short*"


def test_what_was_stored_before_costs_no_visitor_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown letter by letter, without a look at its marks; what is within the limits is made once."""
    parsed: list[str] = []
    parse = filters._PARSER.parse

    def note(text: str) -> object:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(filters._PARSER, "parse", note)
    with site.database.write() as session:
        session.execute(update(Task).values(description=f"<b>{LONG}"))
    shown = site.browser().get("/tasks/robots/about").text
    assert f"<pre>&lt;b&gt;{LONG}</pre>" in shown
    assert parsed == []
    for _ in range(2):
        assert filters.render("*Once* in this test.") == "<p><em>Once</em> in this test.</p>\n"
    assert parsed == ["*Once* in this test."]
