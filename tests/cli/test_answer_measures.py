"""`leaderboard measures --kind answers`, and the document made with it."""

import json

from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.measures.answers.registry import MEASURES
from tests import ROOT

DOCUMENT = ROOT / "docs" / "answer-measures.md"


def call(*arguments: str) -> Result:
    """What the command does with these arguments."""
    return CliRunner().invoke(main, ["measures", "--kind", "answers", *arguments])


def test_the_list_has_a_line_for_every_measure() -> None:
    """Name, title, and what others call it."""
    lines = call().stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(MEASURES)]] == [measure.name for measure in MEASURES]
    assert lines[0].split()[-4:] == ["V_strict,", "strict_vital_score,", "A_strict,", "strict_all_score"]


def test_a_measure_is_explained_with_its_example() -> None:
    """By any of its names; within the width of a terminal but for examples."""
    text = call("V_strict").stdout
    assert text.startswith("NuggetRecall: Recall of nuggets\n")
    assert '  >>> nugget_recall([topic], set="vital", strict=1)\n  array([0.5])\n' in text
    assert max(map(len, text.partition("Worked example")[0].splitlines())) <= 96


def test_json_and_unknown_names() -> None:
    """One record or all; the nearest name for one that is none."""
    assert len(json.loads(call("--format", "json").stdout)["measures"]) == len(MEASURES)
    assert json.loads(call("f1", "--format", "json").stdout)["name"] == "ArgueF1"
    done = call("V_strickt")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "did you mean V_strict" in done.stderr


def test_the_document_is_what_the_command_makes() -> None:
    """docs/answer-measures.md is made again after any change of a measure."""
    again = "run `leaderboard measures --kind answers --format markdown > docs/answer-measures.md`"
    assert DOCUMENT.read_text(encoding="utf-8") == call("--format", "markdown").stdout, again
