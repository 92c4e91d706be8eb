"""`leaderboard measures` from the outside, and the document made with it."""

import json
import re

import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

from leaderboard.cli import main
from leaderboard.cli.measures.pages import prose
from leaderboard.measures.registry import MEASURES
from tests import ROOT
from tests.make.loops import for_every

DOCUMENT = ROOT / "docs" / "measures.md"


def call(*arguments: str) -> Result:
    """What the command does with these arguments."""
    return CliRunner().invoke(main, ["measures", *arguments])


def test_the_list_has_a_line_for_every_measure() -> None:
    """Name, title and trec_eval's names in columns, in families."""
    lines = call().stdout.splitlines()
    line_of = {line.split()[0]: line for line in lines if line.startswith("  ")}
    assert set(line_of) == {measure.name for measure in MEASURES}
    assert re.split(r"\s{2,}", line_of["AP"].strip()) == [
        "AP",
        "Average precision (its mean is MAP)",
        "map, map_cut_k",
    ]
    assert lines[0] == "Ranked retrieval"


def test_a_measure_is_explained_with_its_example() -> None:
    """Formula, words, how to write it, parameters and the example, none wider than a terminal."""
    text = call("map_cut_5").stdout
    assert text.startswith("AP@5: Average precision")
    assert re.search(r"^In trec_eval +map for AP, map_cut_k for AP@k$", text, re.MULTILINE)
    assert re.search(r"^In AP@5 +rel 1; cutoff 5; judged_only False$", text, re.MULTILINE)
    assert re.search(r"^  rel= +The lowest grade that counts as relevant\.", text, re.MULTILINE)
    assert text.endswith("  3              2\n  not retrieved  1\n  AP = 0.555556\n")
    assert max(map(len, text.splitlines())) <= 96


@for_every("measure", MEASURES, lambda measure: measure.name)
def test_every_measure_is_explained(measure) -> None:  # type: ignore[no-untyped-def]
    """No measure has anything that its page cannot say."""
    done = call(measure.name)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{measure.name}: {measure.title}\n")
    assert "Worked example" in done.stdout


def test_json_is_what_the_site_gives() -> None:
    """The list and a single measure as JSON."""
    assert len(json.loads(call("--format", "json").stdout)["measures"]) == len(MEASURES)
    assert json.loads(call("recip_rank", "--format", "json").stdout)["name"] == "RR"


def test_markdown_of_one_measure_has_no_head() -> None:
    """It begins with the measure's own heading."""
    assert call("P", "--format", "markdown").stdout.startswith("### P\n")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    """A message on stderr, nothing on stdout, exit code 1."""
    done = call("ndgc_cut_10")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "did you mean nDCG" in call("nDGC").stderr


def test_the_document_is_what_the_command_makes() -> None:
    """docs/measures.md is made again after any change of a measure."""
    made = call("--format", "markdown").stdout
    again = "run `leaderboard measures --format markdown > docs/measures.md`"
    assert DOCUMENT.read_text(encoding="utf-8") == made, again


def test_the_document_shows_what_the_measures_say() -> None:
    """No star, underscore or bracket of a definition is taken for markup; links lead to headings."""
    html = MarkdownIt("commonmark").enable("table").render(DOCUMENT.read_text(encoding="utf-8"))
    assert "<em>" not in html
    assert len(re.findall("<strong>", html)) == len(MEASURES)
    headings = [text.lower().replace(" ", "-") for text in re.findall(r"<h[23]>(.*)</h[23]>", html)]
    assert len(headings) == len(set(headings))
    assert set(re.findall(r'href="#([^"]*)"', html)) == set(headings)


@pytest.mark.parametrize(
    "text",
    ["a * b * c", "_x_ and __y__", "max_rel", "1 < 2 <b>", "[a](b)", "a\\b", "P(i) = `x*y*z`", "1. one"],
)
def test_prose_is_shown_as_it_is(text: str) -> None:
    """Rendered as Markdown, every text reads as it was, backticks aside."""
    html = MarkdownIt("commonmark").render(f"Text: {prose(text)}")
    shown = re.sub(r"</?(?:p|code)>", "", html).replace("&lt;", "<").replace("&gt;", ">").strip()
    assert shown == f"Text: {text.replace('`', '')}"
