"""Before a web process takes requests it makes a page of each common kind."""

from pathlib import Path

from sqlalchemy import event

from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from leaderboard.web import create_app
from leaderboard.web.rehearsal import rehearse


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
