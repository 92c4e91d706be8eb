"""`leaderboard check`: the same messages as the upload, and where they go."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main

GOOD = "1 Q0 a 1 2 tag\n2 Q0 a 1 7 tag\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a run, judgments and topics."""
    (tmp_path / "run").write_text(GOOD)
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 0\n")
    (tmp_path / "topics").write_text("1\tone\n2\ttwo\n")
    return tmp_path


def check(folder: Path, *options: str) -> Result:
    """The outcome of `leaderboard check run` with these options; file names are the folder's."""
    names = [str(folder / option) if option in ("qrels", "topics") else option for option in options]
    return CliRunner().invoke(main, ["check", str(folder / "run"), *names])


def test_accepted_run(folder: Path) -> None:
    """A good run: one word, the facts, exit 0, nothing on standard error."""
    result = check(folder, "--qrels", "qrels", "--topics", "topics")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "run: accepted\n  tag tag, 2 entries, 2 topics, 1 to 1 documents per topic\n"


def test_accepted_with_warnings(folder: Path) -> None:
    """Warnings are printed and do not change the exit code."""
    (folder / "run").write_text("1 Q0 a 1 2 tag\n")
    result = check(folder, "--topics", "topics")
    assert result.exit_code == 0
    assert "run: accepted with warnings" in result.stdout
    assert "warning: The run has no documents for 1 topic (2)." in result.stdout


def test_rejected_run(folder: Path) -> None:
    """A rejected run: exit 1, the problems on standard error, nothing on standard output."""
    (folder / "run").write_text(GOOD + "1 Q0 b 2 nan tag\n")
    result = check(folder)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "run: rejected" in result.stderr
    assert "problem: line 3: score 'nan': A score is a finite number." in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--depth", "1", "--topics", "topics"], "the task accepts at most 1"),
        (["--tag-pattern", "[0-9]+"], "Tags of this task must match [0-9]+ as a whole."),
    ],
)
def test_task_rules_are_options(folder: Path, options: list[str], message: str) -> None:
    """Depth and tag pattern are checked as a task would."""
    (folder / "run").write_text(GOOD + "1 Q0 b 2 1 tag\n")
    result = check(folder, *options)
    assert result.exit_code == 1
    assert message in result.stderr


def test_json_is_the_stored_report(folder: Path) -> None:
    """The JSON form is the report as the site stores it."""
    result = check(folder, "--format", "json")
    report = json.loads(result.stdout)
    assert report["accepted"] is True
    assert report["facts"]["entries"] == 2


def test_rejected_json_goes_to_standard_error(folder: Path) -> None:
    """A rejected run writes nothing to standard output in the JSON form either."""
    (folder / "run").write_text("1 Q0\n")
    result = check(folder, "--format", "json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["problems"][0]["line"] == 1


def test_unreadable_topics_end_in_one_message(folder: Path) -> None:
    """Faults of the topics or qrels file are told with their line, exit 1."""
    (folder / "topics").write_text("1\tone\n1\ttwo\n")
    result = check(folder, "--topics", "topics")
    assert result.exit_code == 1
    assert "line 2: topic id '1': The topic is already on line 1." in result.stderr


def test_bad_pattern_is_a_usage_error(folder: Path) -> None:
    """A tag pattern that does not compile is refused before anything is read."""
    result = check(folder, "--tag-pattern", "[")
    assert result.exit_code == 2
    assert "'[' is not a regular expression" in result.stderr


def test_fixes_are_written_to_another_file(folder: Path) -> None:
    """With --fix what is wrong is mended in a file of its own, round by round; the one given is kept."""
    (folder / "run").write_text("01 Q0 a 1 3 t\n01 Q0 a 2 2 t\n02 Q0 b 2 3 t\n02 Q0 c 1 2 t\n")
    out = folder / "out"
    for options, text in (
        ((), "1 Q0 a 1 3 t\n2 Q0 b 2 3 t\n2 Q0 c 1 2 t\n"),
        (("--by-rank",), "1 Q0 a 1 3 t\n2 Q0 c 1 2 t\n2 Q0 b 2 1 t\n"),
    ):
        result = check(folder, "--topics", "topics", "--fix", str(out), *options)
        assert (result.exit_code, out.read_text()) == (0, text)
        fix = "fixed: remove duplicate documents of a topic, keeping the best ranked one: 1 lines"
        assert fix in result.stderr
    assert (folder / "run").read_text().startswith("01 Q0 a")
    same = check(folder, "--fix", str(folder / "run"))
    assert same.exit_code
    assert "needs a different name" in str(same.exception) + same.output
