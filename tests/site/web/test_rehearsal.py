"""Before a web process takes requests it makes a page of each common kind."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.site.web.rehearsal import rehearse

pytestmark = pytest.mark.trial


def test_no_statement_of_the_front_page_is_compiled_for_its_first_reader(
    database: Database, tmp_path: Path
) -> None:
    """All of them are among the statements that the engine keeps."""
    app = create_app(Settings(data=tmp_path), database)
    rehearse(app, database)
    compiled: list[str] = []

    def note(*facts: object) -> None:
        context = facts[4]
        if getattr(context, "cache_hit", None) is not None and context.cache_hit.name == "CACHE_MISS":  # type: ignore[attr-defined]
            compiled.append(str(facts[2]))

    event.listen(database.engine, "before_cursor_execute", note)
    assert app.test_client().get("/").status_code == 200
    assert compiled == []


@pytest.mark.parametrize(
    "hosts",
    [
        {"public_url": "https://board.example.org"},
        {"trusted_hosts": ".example.org"},
        {"trusted_hosts": "a.example,b.example"},
        {},
    ],
)
def test_a_site_rehearses_under_a_name_that_it_answers_to(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture, hosts: dict[str, Any]
) -> None:
    """Whatever hosts are set, every page is made."""
    app = create_app(Settings(data=tmp_path, **hosts), database)
    with caplog.at_level("INFO"):
        rehearse(app, database)
    assert [record.getMessage() for record in caplog.records if "not warmed up" in record.getMessage()] == []
    assert any("warmed up 3 pages" in record.getMessage() for record in caplog.records)
