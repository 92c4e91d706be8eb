"""The site's numbers are those of `leaderboard reproduce` for the same files."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.pages import counted
from leaderboard import demo
from leaderboard.cli import main
from leaderboard.core.policy import ANONYMOUS, OPERATOR, TaskMemo
from leaderboard.db.engine import Database
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.reproductions.page import show, tables
from leaderboard.runs.ops import withdrawals
from leaderboard.scoring.ops.statistics import requests
from leaderboard.tasks.ops import settings
from tests.make import build
from tests.reproductions import make as reproduced

NAMES = ("bm25", "bm25-rm3", "bm25-fields", "ql-jm")
"""Of the demo: an original baseline, the original, and both again."""


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests computed is not there."""
    monkeypatch.setattr(requests, "kept", requests.KeptResults(2**20))


def run_files(folder: Path) -> list[Path]:
    """The run files of the demo, as plain text."""
    paths = []
    for name in NAMES:
        path = folder / f"{name}.run"
        path.write_bytes(gzip.decompress(demo.runs()[name].read_bytes()))
        paths.append(path)
    return paths


def by_command(qrels: Path, runs: list[Path], *arguments: str) -> dict[str, Any]:
    """What the command says."""
    originals, again = map(str, runs[:2]), map(str, runs[2:])
    asked = ("reproduce", str(qrels), "--original", *originals, "--reproduced", *again, *arguments)
    done = CliRunner().invoke(main, [*asked, "--format", "json"])
    assert done.exit_code == 0, done.output
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def judgments(path: Path) -> dict[str, dict[str, int]]:
    """Topic -> document -> grade of a qrels file."""
    made: dict[str, dict[str, int]] = {}
    for line in path.read_text("ascii").splitlines():
        topic, _, docno, grade = line.split()
        made.setdefault(topic, {})[docno] = int(grade)
    return made


def page(database: Database, run_id: int, measure: str, slug: str = "t") -> dict[str, Any]:
    """The page of a reproduction as JSON has it."""
    with database.read() as session:
        return tables.page_facts(show.reproduction_page(session, ANONYMOUS, slug, run_id, measure))


@pytest.mark.trial
@pytest.mark.parametrize("measure", ["nDCG@10", "AP"])
def test_the_site_says_what_the_command_says(database: Database, tmp_path: Path, measure: str) -> None:
    """Levels, words and differing metadata of four runs of the demo; a margin adds its row to both."""
    qrels, runs = demo.revisions()[-1].path, run_files(tmp_path)
    judged = judgments(qrels)
    build.task(database, tmp_path, judgments=judged, topics=sorted(judged), measures=("nDCG@10", "AP"))
    base, new, base_again, new_again = (build.submit(database, path).run_id or 0 for path in runs)
    reproduced.say(database, new_again, OriginalRuns(new, base, base_again))
    build.drain(database)
    with database.write() as session:
        settings.change_settings(
            session, OPERATOR, "t", {"reproduction_thresholds": "ktu 0.1 0.3; margin 0.05"}
        )
    said = by_command(qrels, runs, "-m", measure, "--margin", "0.05", "--threshold", "ktu", "0.1", "0.3")
    shown = page(database, new_again, measure)
    assert shown["words"] == said["words"]
    assert shown["thresholds"] == said["thresholds"]
    assert len(shown["levels"]) == len(said["levels"]) == 21
    for ours, theirs in zip(shown["levels"], said["levels"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)
    differing = [(row["key"], row["original"], row["reproduction"]) for row in shown["metadata"]]
    assert differing == [tuple(row) for row in said["advanced"]["metadata"]]
    assert differing


def test_a_replication_says_what_the_command_says(database: Database, tmp_path: Path) -> None:
    """Effects and an unpaired test, on the topics of two tasks."""
    made = reproduced.linked(database, tmp_path)
    again = {"base-there": reproduced.BASE_AGAIN, "new-there": reproduced.NEW_AGAIN}
    here = {"base": reproduced.BASE, "new": reproduced.NEW}
    runs = [build.run_file(tmp_path, rankings, name) for name, rankings in {**here, **again}.items()]
    others = build.qrels_file(tmp_path, reproduced.ELSEWHERE, "others")
    said = by_command(build.qrels_file(tmp_path), runs, "-m", "AP", "--replicated", str(others))
    shown = page(database, made.new_there, "AP", "u")
    assert len(shown["levels"]) == len(said["levels"]) > 0
    for ours, theirs in zip(shown["levels"], said["levels"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.trial
def test_what_a_page_would_wait_for_a_job_computes(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all orders take too long they are queued as soon as they are named, and the page says so."""
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    made = reproduced.runs(database, tmp_path)
    reproduced.say(database, made.new_again, made.reproduced)
    with database.read() as session:
        waits = show.reproductions_page(session, replace(ANONYMOUS, memo=TaskMemo()), "t", "AP")
        assert [tables.documents_word(row) for row in waits.rows] == [tables.WAITING]
        assert len(waits.waiting) == 2
    assert build.drain(database) == 2
    with database.read() as session:
        done = show.reproductions_page(session, replace(ANONYMOUS, memo=TaskMemo()), "t", "AP")
        assert done.waiting == ()
        assert tables.ktu(done.rows[0]) is not None


def test_a_withdrawn_baseline_takes_the_effects_along(database: Database, tmp_path: Path) -> None:
    """A withdrawn original takes everything; the row stays and says why."""
    made = reproduced.linked(database, tmp_path)
    for run_id, words in ((made.base, "no baseline named"), (made.new, "")):
        with database.write() as session:
            withdrawals.withdraw(session, OPERATOR, run_id, "wrong")
        with database.read() as session:
            (row,) = show.reproductions_page(session, replace(ANONYMOUS, memo=TaskMemo()), "t", "AP").rows
        assert tables.effects_word(row) == words
        assert "is withdrawn" in (row.why or row.why_no_baseline)
        assert (row.levels is None) == (run_id == made.new)


@pytest.mark.trial
def test_the_list_takes_as_many_statements_for_many(database: Database, tmp_path: Path) -> None:
    """One reproduction or five of one task."""
    made = reproduced.runs(database, tmp_path)
    reproduced.say(database, made.new_again, made.reproduced)
    # The first time documents are compared too.
    statements(database)
    few = statements(database)
    for number in range(4):
        again = build.run(database, tmp_path, reproduced.NEW_AGAIN, f"again-{number}")
        reproduced.say(database, again, made.reproduced)
    build.drain(database)
    assert statements(database) == few <= 10


def statements(database: Database) -> int:
    """How many the list of reproductions sends."""
    with counted(database) as sent, database.read() as session:
        show.reproductions_page(session, replace(ANONYMOUS, memo=TaskMemo()), "t", "AP")
    return len(sent)
