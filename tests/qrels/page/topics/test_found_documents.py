"""Which judged documents the runs found, and how high."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, event

from leaderboard.boards.page.scores import table
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment
from leaderboard.qrels.page.topics import judgments
from leaderboard.qrels.page.topics.judgments import NOBODY, SEVERAL, RunFinds
from leaderboard.scoring.ops.evaluations.shown import shown_edition
from leaderboard.scoring.ops.rankings import compiled_judgments, docnos_of
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build

JUDGMENTS = {"1": {"a": 1, "b": 2, "c": 1, "n": 0}, "2": {"d": 1}}
FILL = [f"x{place}" for place in range(10)]
Look = Callable[..., tuple[RunFinds, dict[str, int], list[str]]]
RUNS = {
    ("one", "Owls"): {"1": ["a", "b"], "2": ["d"]},
    ("two", "Owls"): {"1": ["n", "b"]},
    ("three", "Bears"): {"1": ["a", *FILL, "n"]},
}


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
def look(database: Database, tmp_path: Path) -> Look:
    """What the runs above found: arrays, document -> its place in them, the runs' names in their order."""
    build.task(database, tmp_path, topics=("1", "2"), judgments=JUDGMENTS, measures=("AP",))
    for (name, team), rankings in RUNS.items():
        build.run(database, tmp_path, rankings, name, team_name=team)
    build.drain(database)

    def looking(level: int = 1) -> tuple[RunFinds, dict[str, int], list[str]]:
        with database.read() as session:
            task, access = policy.visible_task(session, ANONYMOUS, "t")
            field = table.field(session, ANONYMOUS, task, access, shown_edition(session, task, access))
            assert field is not None
            compiled = compiled_judgments(session, field.source)
            docnos = docnos_of(compiled, np.arange(len(compiled.judgments.grades)))
            found = judgments.documents_found(session, field.source, field.runs, level)
            return found, {docno: at for at, docno in enumerate(docnos)}, [run.name for run in field.runs]

    return looking


def test_runs_teams_and_ranks_are_counted(look: Look) -> None:
    """Of every document: runs, top 10s, top 100s, teams, the best rank, the first run that has it."""
    found, place, names = look()
    assert names == ["one", "three", "two"]
    facts = {
        docno: [int(each[at]) for each in (found.runs, found.near, found.far, found.teams, found.best)]
        for docno, at in place.items()
    }
    assert facts == {
        "a": [2, 2, 2, 2, 1],
        "b": [2, 2, 2, 1, 2],
        "c": [0, 0, 0, 0, 0],
        "n": [2, 1, 2, 2, 1],
        "d": [1, 1, 1, 1, 1],
    }
    best = {docno: names[run] if (run := int(found.best_run[at])) >= 0 else "" for docno, at in place.items()}
    assert best == {"a": "one", "b": "one", "c": "", "n": "two", "d": "one"}


def test_the_team_that_alone_found_a_document_is_named(look: Look, database: Database) -> None:
    """Two runs of one team are one team; nobody and several are told from any team."""
    found, place, _ = look()
    owls = build.team(database, "Owls")
    teams = {docno: int(found.team[at]) for docno, at in place.items()}
    assert teams == {"a": SEVERAL, "b": owls, "c": NOBODY, "n": SEVERAL, "d": owls}


def test_relevant_documents_of_a_run_depend_on_the_level(look: Look) -> None:
    """How many a run has for each topic and at which rank the first; kept apart by level."""
    found, _, _ = look()
    assert found.relevant.tolist() == [[2, 1], [1, 0], [1, 0]]
    assert found.first.tolist() == [[1, 1], [1, 0], [2, 0]]
    strict, _, _ = look(2)
    assert strict.relevant.tolist() == [[1, 0], [0, 0], [1, 0]]
    assert strict.first.tolist() == [[2, 0], [0, 0], [2, 0]]


def test_what_is_known_is_not_read_again(look: Look, database: Database) -> None:
    """The second time no run's hits are read, and nothing is lost where they were never stored."""
    first, _, _ = look()
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    again, _, _ = look()
    assert [each for each in statements if "alignment" in each] == []
    with database.write() as session:
        session.execute(delete(Alignment))
    requests.kept = KeptResults(2**20)
    anew, _, _ = look()
    assert again.best.tolist() == anew.best.tolist() == first.best.tolist()
