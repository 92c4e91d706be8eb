"""`leaderboard verify` on sites and mirrors, on another Python, and the commands of its document."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy.orm import Session

from leaderboard.boards.ops import snapshots
from leaderboard.boards.ops.board import Board
from leaderboard.cli import main
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.mirror import mirror
from leaderboard.settings import Settings
from tests import ROOT
from tests.bundles import make as bundles
from tests.make import build, demo_sites, keys
from tests.make.apps import application
from tests.make.documents import commands
from tests.make.servers import HOST, served

ONE, OTHER = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}, {"1": ["c", "a"], "2": ["x", "d"], "3": ["e"]}
EVALUATED = """
import json, sys
import leaderboard as lb
qrels, *runs = sys.argv[1:]
found = lb.evaluate(qrels, runs, ["nDCG@10", "AP", "RR", "P@5", "Rprec", "bpref", "RBP"])
print(json.dumps({run: {topic: {name: score.hex() for name, score in each.items()}
    for topic, each in scores.by_topic.items()} for run, scores in found.items()}))
"""


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Iterator[tuple[str, Database]]:
    """The address of a site with an open task that has a snapshot, and a sealed one."""
    keys.give(database)
    build.task(database, tmp_path)
    build.task(database, tmp_path, "sealed", visibility="sealed")
    for slug in ("t", "sealed"):
        build.run(database, tmp_path, ONE, "one", slug=slug)
        build.run(database, tmp_path, OTHER, "two", slug=slug)
    build.drain(database)
    _freeze(database, "t")
    with _serving(database, tmp_path) as address:
        yield address, database


def _freeze(database: Database, slug: str) -> str:
    with database.read() as session:
        frozen = snapshots.freeze(session, OPERATOR, slug)
    with database.write() as session:
        return snapshots.keep(session, OPERATOR, frozen)


@contextmanager
def _serving(database: Database, folder: Path) -> Iterator[str]:
    settings = Settings(data=folder, computed_pages=0)
    with served(application(settings, database), settings) as server:
        yield f"http://{HOST}:{server.port}"


def _verified(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["verify", *map(str, arguments)])


@pytest.mark.slow
def test_a_site_is_verified_as_visitors_see_it(site: tuple[str, Database]) -> None:
    """Bundle, board, edition and snapshot; of a sealed task only that its files are not public."""
    address, _ = site
    done = _verified(address, "--format", "json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["verdict"] == "equal"
    assert facts["equal"] == facts["values"] > 60
    assert facts["signatures"] == 3
    assert len(facts["snapshots"]) == 1
    unchecked = {each["what"]: each["why"] for each in facts["not_checked"]}
    assert "task sealed" in unchecked
    assert "the audit log" in unchecked
    assert not any("sealed" in sentence for sentence in facts["checked"])
    assert _verified(facts["snapshots"][0]).exit_code == 0
    assert _verified(f"{address}/tasks/t/task.zip").exit_code == 0
    assert _verified(f"{address}/tasks/sealed").exit_code == 2
    assert _verified(f"{address}/help").exit_code == 2


@pytest.mark.slow
def test_an_edition_that_says_another_score(
    site: tuple[str, Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Than the one that its own files give: the value is named, though the site signed it."""

    def forged(session: Session, shown: Board) -> bytes:
        facts = snapshots.facts_of(session, shown)
        facts["rows"][0]["scores"]["AP"] += 0.001
        return snapshots.canonical(facts)

    monkeypatch.setattr(snapshots, "body_of", forged)
    done = _verified(f"{site[0]}/tasks/t", "--format", "json")
    assert done.exit_code == 1, done.output
    (found,) = json.loads(done.stdout)["different"]
    assert (found["file"], found["measure"]) == ("edition 1 of t", "scores.AP")
    assert abs(found["printed"] - found["recomputed"] - 0.001) < 1e-9


@pytest.mark.trial
def test_the_demo_is_whole_as_site_and_bundle(sqlite_template: Path, tmp_path: Path) -> None:
    """All its tasks by its address, and one task from its file."""
    with demo_sites.demo_database(sqlite_template, tmp_path) as database:
        keys.give(database)
        _freeze(database, "python-answers")
        bundles.public(database, tmp_path / "bundle.zip", "python-answers")
        with _serving(database, tmp_path) as address:
            for source in (address, tmp_path / "bundle.zip"):
                done = _verified(source)
                assert done.exit_code == 0, done.output


@pytest.mark.trial
def test_a_mirror_is_whole(site: tuple[str, Database], tmp_path: Path) -> None:
    """From its folder and from an address; a page of it that says another score is named.

    tests/mirror/test_mirror_of_kinds.py verifies one of answers and judges.
    """
    folder, settings = tmp_path / "mirror", Settings(data=tmp_path, kept_bytes=0)
    mirror.write(application(settings, site[1]), folder, "http://127.0.0.1:8000", None, lambda *_: None)
    done = _verified(folder)
    assert done.exit_code == 0, done.output
    assert "snapshot" in done.stdout
    with _files_served(folder) as address:
        done = _verified(address)
    assert done.exit_code == 0, done.output
    page = folder / "tasks/t/index.html"
    page.write_bytes(page.read_bytes().replace(b"0.", b"1.", 1))
    done = _verified(folder)
    assert done.exit_code == 1
    assert "tasks/t/index.html" in done.stdout


@contextmanager
def _files_served(folder: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _other_python() -> str:
    """Another interpreter that has NumPy; '' without one."""
    names = (os.environ.get("LEADERBOARD_OTHER_PYTHON", ""), *(f"python3.{minor}" for minor in range(11, 16)))
    for path in filter(None, (shutil.which(name) for name in names if name)):
        command = [path, "-c", "import sys, numpy; print(sys.version_info[1])"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode == 0 and int(asked.stdout) != sys.version_info[1]:
            return path
    return ""


@pytest.mark.trial
def test_another_python_gives_the_same_bits(database: Database, tmp_path: Path) -> None:
    """The files of a bundle, scored by the numeric core in each, as hexadecimal floats."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, ONE, "one")
    build.run(database, tmp_path, OTHER, "two")
    build.drain(database)
    bundles.public(database, tmp_path / "bundle")
    files = [next((tmp_path / "bundle/qrels").iterdir()), *sorted((tmp_path / "bundle/runs").iterdir())]

    def scored(python: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [python, "-c", EVALUATED, *map(str, files)]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    ours = scored(sys.executable)
    assert '"0x1.' in ours
    other = _other_python()
    if not other:
        pytest.skip("no other Python on this machine has NumPy; LEADERBOARD_OTHER_PYTHON may name one")
    assert scored(other) == ours


@pytest.mark.slow
def test_the_commands_of_the_document_work_as_written(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a site that was started once, with a task of that slug."""
    database = Database(f"sqlite:///{data_folder / 'leaderboard.sqlite3'}")
    keys.give(database)
    build.task(database, tmp_path, "robust")
    build.run(database, tmp_path, ONE, slug="robust")
    build.drain(database)
    database.dispose()
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    monkeypatch.chdir(tmp_path)
    for line in commands(ROOT / "docs" / "verify.md"):
        done = CliRunner().invoke(main, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
