"""`leaderboard suite` from the outside: the board, its forms, what is refused."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make import suites

RANKS = {"a": (1, 2, 4), "b": (2, 2, 5), "c": (1, 3, 4)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of three members with three whole runs, and one that lacks two members."""
    suites.suite_file(tmp_path, 'baseline = "b"')
    for name, ranks in RANKS.items():
        sent = suites.files(dict(zip(suites.MEMBERS, ranks, strict=True)), name)
        suites.zipped(tmp_path / f"{name}.zip", sent)
    suites.folder(tmp_path / "d", suites.files({"snapshot-1": 1}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str, runs: tuple[str, ...] = ("a.zip", "b.zip", "c.zip", "d")) -> Result:
    """What the command does with these runs."""
    return CliRunner().invoke(main, ["suite", "suite.toml", *runs, *arguments])


def facts(*arguments: str, runs: tuple[str, ...] = ("a.zip", "b.zip", "c.zip", "d")) -> dict[str, object]:
    """Its JSON."""
    done = call(*arguments, "--format", "json", runs=runs)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.usefixtures("folder")
def test_the_board_for_people() -> None:
    """Every aggregate; an incomplete run last, without rank or mean; changes from the reference."""
    done = call()
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "Web: 4 runs over 3 members by AP, ranked by the mean over members. As trec_eval 10.",
        "d has no run for snapshot-2, snapshot-3.",
    ]
    rows = [line.split() for line in lines[3:8]]
    assert rows[0][:6] == ["rank", "run", "ranks", "members", "mean", "macro"]
    assert " ".join(rows[1]) == "1 a ● 1-1 3 of 3 0.5833 0.5833 7.0 1.6667 1.0000 0.5000 0.2500"
    assert " ".join(rows[4]) == "- d - 1 of 3 - - 2.0 - 1.0000 - -"
    assert (
        "a    snapshot-2    1.0000   0.0000  1.0000       0.0000  0.5000        0.7500       0.0000" in lines
    )
    assert (
        "b    snapshot-2    0.0000   0.0000  0.0000  not defined  0.0000        0.5000  not defined" in lines
    )


@pytest.mark.usefixtures("folder")
def test_json_has_all_and_csv_a_table() -> None:
    """At full precision; None where a run lacks a member or a number is not defined."""
    said = facts()
    assert [member["topics"] for member in said["members"]] == [2, 3, 2]
    rows = {row["run"]: row for row in said["board"]}
    assert rows["d"]["mean"] is None
    assert rows["d"]["snapshot-3"] is None
    assert rows["a"]["mean"] == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert len(said["pairs"]) == 3
    assert {row["ER"] for row in said["changes"] if row["run"] == "b"} == {None}
    for name, key in (("board", "rank"), ("changes", "RC"), ("pairs", "adjusted")):
        table = list(csv.DictReader(io.StringIO(call("--format", "csv", "--table", name).stdout)))
        assert len(table) == len(said[name])
        assert key in table[0]


@pytest.mark.usefixtures("folder")
def test_latex_says_what_the_marks_mean() -> None:
    """And what is missing; a board without ranges has no column for them."""
    text = call("--format", "latex").stdout
    assert r"a$^{\bullet}$" in text
    assert "may be the best" in text
    assert "d has no run for snapshot-2" in text
    assert "& ranks &" not in call("--format", "latex", "--rank-by", "borda").stdout


@pytest.mark.usefixtures("folder")
def test_groups_recompute() -> None:
    """Over the members that count, which are named; a group that is not there says what was meant."""
    said = facts("--group", "lag=short")
    assert [member["member"] for member in said["members"]] == ["snapshot-2"]
    assert [(row["run"], row["rank"]) for row in said["board"]] == [("a", 1), ("b", 1), ("c", 3), ("d", None)]
    assert said["remarks"][0] == "Members that count (lag=short): snapshot-2."
    assert "Did you mean short?" in call("--group", "lag=shrt").stderr
    assert "No member has the group domain." in call("--group", "domain=law").stderr
    assert call("--group", "colour=red").exit_code == 2


@pytest.mark.usefixtures("folder")
def test_every_aggregate_may_rank() -> None:
    """Borda says what it depends on; ranges are of means."""
    whole = ("a.zip", "b.zip", "c.zip")
    for by in ("mean", "macro", "micro", "borda", "mean-rank"):
        said = facts("--rank-by", by, runs=whole)
        assert [row["run"] for row in said["board"]] == ["a", "c", "b"]
        assert bool(said["pairs"]) == (by in ("mean", "macro", "micro"))
        assert ("micro" in said["board"][0]) == (by == "micro")
    assert any("depend on the set of runs" in one for one in facts("--rank-by", "borda")["remarks"])


@pytest.mark.usefixtures("folder")
def test_members_like_these_tell_little() -> None:
    """Three members decide nothing; by the bootstrap too."""
    said = facts("--members", "like-these")
    assert {row["better"] for row in said["pairs"]} == {""}
    assert any("confidence over members like these is weak" in one for one in said["remarks"])
    drawn = facts("--members", "like-these", "--bootstrap")
    assert drawn["pairs"][0]["p"] == said["pairs"][0]["p"]
    assert drawn["pairs"][0]["low"] != said["pairs"][0]["low"]


def test_unequal_weights_have_no_members_like_these(folder: Path) -> None:
    """Of macro means over unequal groups nothing is said of other members."""
    text = (folder / "suite.toml").read_text().replace('lag = "long"', 'lag = "short"')
    (folder / "suite.toml").write_text(text)
    done = call("--rank-by", "macro", "--members", "like-these")
    assert (done.exit_code, "equal weights" in done.stderr) == (1, True)


def test_shared_topics_are_declared(folder: Path) -> None:
    """Then topics are drawn once for all members."""
    suites.suite_file(folder, "shared_topics = true")
    assert facts()["drawn_anew"] == "shared topics"


def test_what_is_left_out_is_said(folder: Path) -> None:
    """The board of a residual round says so."""
    (folder / "earlier.txt").write_text("1 0 x1 0\n")
    suites.suite_file(folder, "", {"snapshot-1": 'leave_out = ["earlier.txt"]'})
    assert "snapshot-1: residual, 1 document left out." in call().stdout
    assert "residual" not in call("--group", "lag=long").stdout


def test_a_run_with_an_error_is_refused_whole(folder: Path) -> None:
    """With all that is wrong, line and value."""
    suites.folder(folder / "e", {**suites.files({"snapshot-1": 1}), "snapshot-9/run.txt": b"1 Q0 a 1 1 t\n"})
    done = call(runs=("a.zip", "e"))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "e is rejected; none of it counts.\n  'snapshot-9/run.txt'" in done.stderr


def test_measures_must_go_together(folder: Path) -> None:
    """Higher and lower, a measure that is no mean, a baseline that is not there."""
    suites.suite_file(folder, "", {"snapshot-2": 'measure = "gm_map"'})
    assert "not a mean" in call().stderr
    suites.suite_file(folder)
    assert "z is not one of the runs" in call("--baseline", "z").stderr
    text = (folder / "suite.toml").read_text().replace('macro = "lag"', "")
    (folder / "suite.toml").write_text(text)
    assert "need groups" in call("--rank-by", "macro").stderr
