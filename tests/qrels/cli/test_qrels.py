"""Revisions from the terminal: looked at, added, listed, printed."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make import build

FIRST = {"1": ["a", "x", "c"], "2": ["y", "d", "a"], "3": ["e", "f"]}
SECOND = {"1": ["x", "b", "a"], "2": ["a", "y"], "3": ["x", "y", "e"]}
BETTER = {"1": {"x": 2, "a": 0}, "2": {"a": 1, "y": 2}, "3": {"e": 1, "x": 2}}


@pytest.fixture
def site(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A function that runs one command on a site with two scored runs."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    runner = CliRunner()

    def call(*arguments: object) -> Result:
        return runner.invoke(main, [str(argument) for argument in arguments])

    topics, judged = build.topics_file(tmp_path), build.qrels_file(tmp_path)
    options = ("--name", "T", "--topics", topics, "--qrels", judged, "-m", "AP")
    assert call("task", "create", "t", *options).exit_code == 0
    for name, rankings in (("first", FIRST), ("second", SECOND)):
        call("run", "add", "t", build.run_file(tmp_path, rankings, name), "--team", "Lab")
    call("worker", "--once")
    return call


def test_a_preview_adds_nothing(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """It says what would change and which runs would move, on the error stream."""
    shown = site("qrels", "add", "t", build.qrels_file(tmp_path, BETTER, "v2"), "--preview")
    assert shown.exit_code == 0, shown.output
    assert "grade 3: 1 -> 0, grade 2: 1 -> 3" in shown.stderr
    assert "2 of 2 ranked runs move by AP; tau -1.000." in shown.stderr
    assert "  second: 2 -> 1" in shown.stderr
    assert shown.stdout == ""
    assert [line.split("\t")[0] for line in site("qrels", "list", "t").stdout.splitlines()] == ["1"]


def test_distractors_change_alone_and_are_printed(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Without a file of judgments the newest ones stay; the list can be printed and dropped again."""
    listed = tmp_path / "distractors.txt"
    listed.write_text("y\nx\n")
    added = site("qrels", "add", "t", "--distractors", listed, "--note", "known", "--yes")
    assert "Distractors: 2 (0 before)." in added.stderr
    assert "Revision 2 of t: 7 judgments on 3 topics (0 added, 0 changed, 0 removed)." in added.stdout
    assert site("qrels", "export", "t", 2, "--part", "distractors").stdout == "x\ny\n"
    assert site("qrels", "export", "t", 2).stdout.startswith("1 0 a 2\n1 0 b 0\n")
    assert site("qrels", "export", "t", 1, "--part", "distractors").exit_code == 1
    dropped = site("qrels", "add", "t", "--no-distractors", "--note", "none", "--yes")
    assert "Revision 3 of t" in dropped.stdout


def test_documents_are_left_out_and_rounds_are_made(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A list alone, told before it is added; then the new judgments of a later revision."""
    listed = tmp_path / "left-out.txt"
    listed.write_text("1 b\n2 y\n1 b\n")
    added = site("qrels", "add", "t", "--leave-out", listed, "--note", "sources", "--yes")
    assert "Documents left out: 2 of 2 topics (0 before); 1 repeated lines ignored." in added.stderr
    assert "2 of 2 runs contain any of them, 3 in total." in added.stderr
    assert "Revision 2 of t: 7 judgments" in added.stdout
    site("worker", "--once")
    assert "2 documents left out" in site("board", "t").output
    assert site("qrels", "export", "t", 2, "--part", "left_out").stdout == "1 b\n2 y\n"
    better = build.qrels_file(tmp_path, BETTER, "v2")
    assert site("qrels", "add", "t", better, "--no-leave-out", "--note", "v2").exit_code == 0
    round_2 = site("qrels", "add", "t", "--earlier", "1", "--note", "round 2")
    assert "Documents residual, left out: 7 of 3 topics (0 before)." in round_2.stderr
    assert "Revision 4 of t: 3 judgments on 3 topics" in round_2.stdout
    assert site("qrels", "export", "t", 4).stdout == "1 0 x 2\n2 0 y 2\n3 0 x 2\n"
    refused = site("qrels", "add", "t", "--earlier", "one", "--note", "n")
    assert refused.exit_code == 1
    assert "such as 1, 2" in refused.stderr


def test_preferences_and_lines_of_machines_are_added(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Preferences stand beside the board's judgments, a machine's have a line of their own."""
    path = tmp_path / "preferences.txt"
    path.write_text("1 x a 2\n")
    added = site("qrels", "add", "t", path, "--preferences", "--note", "clicks")
    assert "Revision 2 of t: 1 judgments on 1 topics (1 added" in added.stdout
    assert "0 -> 1 preferences" in added.stderr
    machine = ("--origin", "machine", "--origin-name", "judge", "--note", "m")
    better = build.qrels_file(tmp_path, BETTER, "v2")
    refused = site("qrels", "add", "t", better, *machine)
    assert refused.exit_code == 1
    assert "never mixed" in refused.stderr
    kept = site("qrels", "add", "t", better, *machine, "--line", "judge")
    assert "Revision 1 of judgment series judge of t: 6 judgments" in kept.stdout


@pytest.mark.parametrize("options", [(), ("--distractors", "missing.txt")])
def test_nothing_to_add_is_a_usage_error(site, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    """A command without a file, or with one that is not there, says how it is used."""
    assert site("qrels", "add", "t", "--note", "n", *options).exit_code == 2


def test_a_note_is_asked_for(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A revision without a note is not added."""
    refused = site("qrels", "add", "t", build.qrels_file(tmp_path, BETTER, "v2"))
    assert refused.exit_code == 2
    assert "--note" in refused.stderr


def test_judgments_are_read_by_a_mapping(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """What is guessed stops the command with the options to confirm it; what was read is printed."""
    words = tmp_path / "words"
    words.write_text("1 0 x relevant\n1 0 a nonrelevant\n")
    stopped = site("qrels", "add", "t", words, "--note", "words", "--yes")
    assert stopped.exit_code == 1
    assert "--map relevant=1 --map nonrelevant=0" in stopped.stderr
    assert len(site("qrels", "list", "t").stdout.splitlines()) == 1
    added = site("qrels", "add", "t", words, "--note", "words", "--yes", "--map", "relevant=3,nonrelevant=0")
    assert "note: Grade words were read as relevant=3, nonrelevant=0." in added.stderr
    assert "1 0 x 3\n" in site("qrels", "export", "t", 2).stdout


def test_the_document_that_is_the_query_is_left_out(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The docno that is the topic's id, for every judged topic."""
    judged = build.qrels_file(tmp_path, {"1": {"1": 0, "x": 1}, "2": {"a": 1}}, "self")
    added = site("qrels", "add", "t", judged, "--note", "self", "--yes", "--leave-out-query")
    assert "Documents left out: 2 of 2 topics (0 before)." in added.stderr, added.output
    assert site("qrels", "export", "t", 2, "--part", "left_out").stdout == "1 1\n2 2\n"


def test_judged_documents_that_the_collection_lacks_are_named(site, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """With their number and examples, before anything is added."""
    documents = tmp_path / "documents.tsv"
    documents.write_text("a\tone\nx\ttwo\n")
    options = ("--name", "C", "--topics", build.topics_file(tmp_path), "--documents", documents)
    assert site("task", "create", "c", *options).exit_code == 0
    shown = site("qrels", "add", "c", build.qrels_file(tmp_path, BETTER, "v2"), "--preview")
    assert "warning: the collection lacks 2 judged documents, for example e, y" in shown.stderr
