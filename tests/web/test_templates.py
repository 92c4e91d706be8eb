"""Templates are compiled once for a version of the program, and loaded before the first reader comes."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment

from leaderboard.application import COMPILED, create_app, load_templates
from leaderboard.db.engine import SECRETS, Database
from leaderboard.db.tables import Task, metadata
from leaderboard.settings import Settings


@pytest.mark.trial
def test_a_second_start_compiles_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are there, and what another version compiled is removed."""
    settings = Settings(data=tmp_path)
    load_templates(create_app(settings, database), tmp_path)
    folder = tmp_path / "tmp" / COMPILED
    (folder / "0.9.0-old.cache").touch()
    compiled: list[str] = []
    real = Environment.compile

    def compile_(self: Environment, source: str, name: str, *more: object, **others: object) -> object:
        compiled.append(name)
        return real(self, source, name, *more, **others)  # type: ignore[call-overload]

    monkeypatch.setattr(Environment, "compile", compile_)
    app = create_app(settings, database)
    load_templates(app, tmp_path)
    assert app.test_client().get("/").status_code == 200
    assert compiled == []
    assert not (folder / "0.9.0-old.cache").exists()


@pytest.mark.trial
def test_a_folder_that_takes_no_files_stops_no_start(database: Database, tmp_path: Path) -> None:
    """The templates are compiled all the same."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / COMPILED).touch()
    app = create_app(Settings(data=tmp_path), database)
    load_templates(app, tmp_path)
    assert app.test_client().get("/").status_code == 200


def test_a_template_reads_no_secret_of_a_row(database: Database, tmp_path: Path) -> None:
    """Whatever row a page's record holds; all columns that are named like secrets are among them."""
    environment = create_app(Settings(data=tmp_path), database).jinja_env
    row = Task(name="Robots", entry_code="let me in")
    assert environment.from_string("{{ row.name }}").render(row=row) == "Robots"
    for asked in ("row.entry_code", "row['entry_code']"):
        with pytest.raises(PermissionError, match="Task for its entry_code"):
            environment.from_string("{{ " + asked + " }}").render(row=row)
    columns = {column.name for table in metadata.tables.values() for column in table.columns}
    assert columns >= SECRETS
    named = {name for name in columns if re.search(r"(^|_)(password_hash|secret|token_sha256)$", name)}
    assert named <= SECRETS
