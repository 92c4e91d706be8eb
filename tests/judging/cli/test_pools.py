"""`leaderboard pool` on files and on a site."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests.make import build, sampled
from tests.make.pooled import GRADES, RUNS, fill


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["pool", *map(str, arguments)])


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """The three runs of the worked example as files."""
    return [build.run_file(tmp_path, {"1": ranking}, name) for name, ranking in RUNS.items()]


@pytest.fixture
def data(sqlite_template: Path, tmp_path: Path) -> Path:
    """The folder of a site with the worked example as task t, nothing of it judged."""
    folder = tmp_path / "site"
    folder.mkdir(mode=0o700)
    url = Settings(data=folder).url
    Path(url.removeprefix("sqlite:///")).write_bytes(sqlite_template.read_bytes())
    database = Database(url)
    fill(database, tmp_path, judgments=None)
    database.dispose()
    return folder


def test_files_are_pooled_without_the_name_of_a_command(runs: list[Path]) -> None:
    """The pool goes to standard output, what it takes to judge it to standard error."""
    done = _run(*runs, "--method", "depth", "--depth", 2)
    assert done.stdout == "1 d1\n1 d2\n1 d8\n1 d9\n"
    assert "4 documents of 1 topic to judge" in done.stderr
    assert _run("--method", "depth", "--depth", 2, *runs).stdout == done.stdout
    assert _run("files", *runs, "--method", "depth", "--depth", 2).stdout == done.stdout


def test_a_staged_pool_takes_its_second_method_and_parameters(runs: list[Path]) -> None:
    """Depth 1 gives d1, d2 and d8, then fusion the first by docno of two that are equal."""
    done = _run(*runs, "--depth", 1, "--budget", 4, "--then", "rrf", "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["docno"], row["stratum"]) for row in rows] == [
        ("d1", "depth"),
        ("d2", "depth"),
        ("d8", "depth"),
        ("d3", "rrf"),
    ]


def test_judgments_are_followed_or_left_out(runs: list[Path], tmp_path: Path) -> None:
    """As they are by the service."""
    judged = build.qrels_file(tmp_path, {"1": GRADES})
    done = _run(*runs, "--method", "mtf", "--qrels", judged, "--format", "csv")
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:]] == [
        "d1",
        "d2",
        "d6",
        "d3",
        "d8",
        "d4",
        "d7",
        "d9",
        "d5",
    ]
    assert "9 already judged" in _run(*runs, "--method", "borda", "--qrels", judged).stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--method", "nonsense"), "Unknown pooling method 'nonsense'"),
        (("--method", "rrf", "--then", "hedge"), "Only a staged pool has a second stage"),
        (("--method", "rrf", "--set", "k"), "Write a parameter as NAME=VALUE"),
        (("--method", "rrf", "--set", "k=x"), "must be a number"),
        (("--method", "hedge"), "give --qrels"),
    ],
)
def test_what_is_wrong_is_said(runs: list[Path], options: tuple[str, ...], says: str) -> None:
    """A sentence on standard error and exit code 1."""
    done = _run(*runs, *options)
    assert done.exit_code == 1
    assert says in done.stderr


def test_a_pool_of_a_task_is_previewed_made_listed_and_exported(data: Path) -> None:
    """From the operator's command line, opened at once; a preview makes nothing."""
    method = ("--method", "depth", "--depth", 2, "--data", data)
    assert "4 to judge" in _run("make", "t", *method, "--preview").output
    assert _run("list", "t", "--data", data).output == "Task t has no pools.\n"
    assert "0 of 4 documents have a text or a link." in _run("make", "t", *method, "--open").output
    done = _run("make", "t", *method, "--open", "--without-texts")
    assert "Pool 1 of t is open to assessors." in done.output
    assert "1  open    0 of 4 judged  Depth-k, depth 2" in _run("list", "t", "--data", data).output
    assert _run("export", "t", 1, "--data", data).output == "1 d1\n1 d2\n1 d8\n1 d9\n"


def test_a_pool_comes_in_from_a_file(data: Path, tmp_path: Path) -> None:
    """As a draft."""
    path = tmp_path / "pool.txt"
    path.write_text("1 x\n1 y\n")
    done = _run("import", "t", path, "--note", "from NIST", "--data", data)
    assert done.output == "Pool 1 of t is a draft: 2 documents of 1 topic.\n"


@pytest.mark.trial
def test_a_sample_for_people_is_drawn_and_its_board_printed(sqlite_template: Path, tmp_path: Path) -> None:
    """Documents or whole topics; the board as text, CSV and JSON, or why there is none yet."""
    folder = tmp_path / "site"
    folder.mkdir(mode=0o700)
    url = Settings(data=folder).url
    Path(url.removeprefix("sqlite:///")).write_bytes(sqlite_template.read_bytes())
    database = Database(url)
    sampled.task(database, tmp_path)
    here = ("--data", folder)
    assert "not both" in _run("sample", "t", "--share", 0.5, "--topics", 12, *here).stderr
    assert _run("sample", "t", "--topics", 12, *here).output == "Pool 1 of t is a draft.\n"
    opening = ("--open", "--highest-grade", 2, "--without-texts")
    drawn = _run("sample", "t", "--share", 0.5, *opening, "--show", *here)
    assert drawn.output == "Pool 2 of t is open to assessors.\n"
    board = ["board", "t", "--combined", "--measure", "P@3", "--data", str(folder)]
    assert "no combined board yet" in CliRunner().invoke(main, board).output
    sampled.judge(database, 2)
    printed = CliRunner().invoke(main, board).output.splitlines()
    assert "combined board of people and model-1, sample 2 (seed 1)" in printed[0]
    assert printed[2].split()[:3] == ["1", "run0", "Ants"]
    assert (
        CliRunner().invoke(main, [*board, "--format", "csv"]).output.startswith("rank,rank_low,rank_high,run")
    )
    facts = json.loads(CliRunner().invoke(main, [*board, "--format", "json"]).output)
    assert facts["sample"]["pool"] == 2
    assert CliRunner().invoke(main, [*board, "--one-per-team"]).exit_code == 1
    database.dispose()
