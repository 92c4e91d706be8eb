"""Facts of runs from the command line: with the run, and later."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run
from leaderboard.settings import Settings
from leaderboard.trec.facts import FIELDS
from tests.make import build

GOOD = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}


@pytest.fixture
def data(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with one task."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    made = _call("task", "create", "t", "--name", "T", "--topics", build.topics_file(tmp_path))
    assert made.exit_code == 0, made.output
    return tmp_path


def _call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def _details(folder: Path) -> str:
    settings = Settings(data=folder / "data")
    database = Database(settings.url)
    with database.read() as session:
        details = json.dumps(session.get_one(Run, 1).details, sort_keys=True)
    database.dispose()
    return details


def test_facts_are_added_and_corrected(data: Path) -> None:
    """`run add` says facts of its files, `run describe` changes one and takes another back."""
    path = build.run_file(data, GOOD)
    added = _call(
        "run", "add", "t", path, "--team", "Lab", "--type", "manual", "--latency", "0.5 s", "--llm", "none"
    )
    assert added.exit_code == 0, added.output
    assert _details(data) == '{"form": {"latency_ms": 500.0, "llm": "none", "type": "manual"}}'
    done = _call("run", "describe", "1", "--index", "2 MB", "--llm", "", "--type", "")
    assert done.output == "Run 1: type, llm, index_bytes changed.\n"
    assert _details(data) == '{"form": {"index_bytes": 2000000.0, "latency_ms": 500.0}}'
    assert _call("run", "describe", "1").output == "Run 1: nothing changed.\n"


def test_bad_facts_change_nothing(data: Path) -> None:
    """A fact that cannot be read is said with its remedy before any run is added or changed."""
    add = ("run", "add", "t", build.run_file(data, GOOD), "--team", "Lab", "--llm", "none")
    for command in (add, ("run", "describe", "1")):
        done = _call(*command, "--energy", "3,5", "--code", "here")
        assert done.exit_code == 1
        assert "Energy '3,5'" in done.stderr
        assert "Write it like 3.5 Wh" in done.stderr
        assert "Code 'here'" in done.stderr
        _call(*add)
    assert _details(data) == '{"form": {"llm": "none"}}'
    assert "There is no run 2." in _call("run", "describe", "2").stderr


def test_every_field_has_an_option() -> None:
    """Each thing a form asks for can be said on the command line, with the same words of help."""
    for command in ("add", "describe"):
        shown = " ".join(_call("run", command, "--help").output.split())
        assert all(f"{fact_field.option} " in shown and fact_field.title in shown for fact_field in FIELDS)
