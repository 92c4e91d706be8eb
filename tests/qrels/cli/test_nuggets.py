"""Nuggets and labels from the terminal: looked at, added, printed, and LongEval's zip as a run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make import answered, answers, nuggeted

Call = Callable[..., Result]


@pytest.fixture
def site(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A function that runs one command on a site with a task of answers and two runs."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    runner = CliRunner()

    def call(*arguments: object) -> Result:
        return runner.invoke(main, [str(argument) for argument in arguments])

    topics = answers.jsonl(tmp_path / "topics.jsonl", [{"id": topic, "title": topic} for topic in "123"])
    assert call("task", "create", "t", "--kind", "answers", "--name", "T", "--topics", topics).exit_code == 0
    files = answered.run_file(tmp_path, name="one"), answered.longeval_zip(tmp_path / "two.zip", name="two")
    sent = call("run", "add", "t", *files, "--team", "Lab")
    assert sent.exit_code == 0, sent.output
    return call


def test_a_preview_says_what_was_understood_and_adds_nothing(site: Call, tmp_path: Path) -> None:
    """Who made the parts, topics that lack nuggets, runs that are passed over."""
    labels = [*nuggeted.worked_labels(), *nuggeted.worked_labels("other")]
    given = "--assignments", answers.jsonl(tmp_path / "a.jsonl", labels)
    shown = site("nuggets", "add", "t", *given, "--made-by", "machine:GPT-4o", "--preview")
    assert shown.exit_code == 0, shown.output
    assert "Assignments by GPT-4o." in shown.stderr
    assert "warning: topics without vital nuggets: 2" in shown.stderr
    assert "warning: topics without nuggets: 3" in shown.stderr
    assert "ignored: 1 (other)" in shown.stderr
    assert (shown.stdout, site("qrels", "list", "t").stdout) == ("", "")


def test_parts_are_added_scored_and_printed(site: Call, tmp_path: Path) -> None:
    """Each by its maker; what is printed can be sent again, and is nothing new."""
    both = [*nuggeted.worked_labels(), *nuggeted.worked_labels("two")]
    labels = answers.jsonl(tmp_path / "a.jsonl", both)
    added = site("nuggets", "add", "t", "--assignments", labels, "--note", "First.", "--leave-out")
    assert "Revision 1 of t: 9 nuggets, 18 labels of 2 runs on 2 topics." in added.stdout
    support = answers.jsonl(tmp_path / "s.jsonl", [answers.supported("2", [1])])
    makers = "--made-by", "machine:M", "--made-by", "support=both: N"
    added = site("nuggets", "add", "t", "--support", support, "--note", "Second.", *makers)
    assert "Support labels by N, edited by people." in added.stderr
    site("worker", "--once")
    assert "0.5000" in site("board", "t", "--measure", "V_strict").stdout
    printed = tmp_path / "printed.jsonl"
    printed.write_text(site("qrels", "export", "t", 2, "--part", "assignments").stdout)
    again = site("nuggets", "add", "t", "--assignments", printed, "--note", "Third.")
    assert again.exit_code == 1
    assert "identical to revision 2" in again.stderr


def test_another_line_has_a_board_of_its_own(site: Call, tmp_path: Path) -> None:
    """In words, as JSON and as CSV; the task's board stays, and a line that is not there is refused."""
    both = [*nuggeted.worked_labels(), *nuggeted.worked_labels("two")]
    labels = answers.jsonl(tmp_path / "a.jsonl", both)
    assert site("nuggets", "add", "t", "--assignments", labels, "--note", "First.").exit_code == 0
    machine = "--made-by", "machine:GPT-4o", "--line", "gpt"
    added = site("nuggets", "add", "t", "--assignments", labels, "--note", "By a machine.", *machine)
    assert "Revision 1 of judgment series gpt of t: 9 nuggets, 18 labels" in added.stdout
    assert "0 runs are queued" in added.stdout
    shown = site("board", "t", "--line", "gpt").stdout
    assert "gpt: nuggets by people, assignments by GPT-4o." in shown
    assert "Fewer than three runs are ranked on both boards" in shown
    found = json.loads(site("board", "t", "--line", "gpt", "--format", "json").stdout)
    assert [row["rank"] for row in found["runs"]] == [1, 1]
    assert site("board", "t", "--line", "gpt", "--format", "csv").stdout.startswith("rank,run,")
    refused = site("board", "t", "--line", "nobody")
    assert "it has gpt" in refused.stderr
    assert "takes no --group" in site("board", "t", "--line", "gpt", "--one-per-team").stderr
    assert len(site("qrels", "list", "t").stdout.splitlines()) == 1


@pytest.mark.parametrize("maker", ["machine", "nobody", "qrels=human"])
def test_who_made_them_is_said_rightly(site: Call, tmp_path: Path, maker: str) -> None:
    """A machine has a name; a part is one of four."""
    support = answers.jsonl(tmp_path / "s.jsonl", [answers.supported("2", [1])])
    refused = site("nuggets", "add", "t", "--support", support, "--note", "N", "--made-by", maker)
    assert refused.exit_code != 0
