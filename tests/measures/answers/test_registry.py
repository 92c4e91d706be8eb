"""The table of measures of answers: complete records, distinct names, and that rankings need none of it."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.measures.answers.catalogue import find, pages
from leaderboard.measures.answers.record import AnswerMeasure
from leaderboard.measures.answers.registry import CALLED, MEASURES, NAMES, parse
from leaderboard.measures.registry import NAMES as OF_RANKINGS
from tests.make.loops import for_every

ENTERED = """
import sys
from leaderboard.cli import main
main(["evaluate", *sys.argv[1:], "-m", "AP"], standalone_mode=False)
rooms = ("leaderboard.measures.answers", "leaderboard.trec.answers", "leaderboard.trec.nuggets")
print([name for name in sys.modules if name.startswith(rooms)])
"""


def test_no_name_stands_for_two_measures() -> None:
    """Names and those elsewhere are distinct, and none is one of a measure of rankings."""
    names = [*NAMES, *(name for measure in MEASURES for name, _ in measure.called)]
    assert len(names) == len(set(names))
    assert set(names) & set(OF_RANKINGS) == set()


@pytest.mark.parametrize("name", CALLED)
def test_names_elsewhere_are_forms_of_their_measure(name: str) -> None:
    """A form that is written differently from all others of it would be a mistake."""
    bound = parse(name)
    assert name in dict(NAMES[bound.measure.name].called)
    assert parse(bound.key) == bound


@for_every("measure", MEASURES, lambda measure: measure.name)
def test_records_are_complete(measure: AnswerMeasure) -> None:
    """Words, source, parameters with the function's defaults, a worked example that calls it."""
    assert measure.title
    assert measure.formula
    assert len(measure.citation) >= 8 or measure.basis == "answers", "only counts need no source"
    taken = list(inspect.signature(measure.compute).parameters.values())[1:]
    assert {each.name: each.default for each in taken} == {
        each.name: inspect.Parameter.empty if each.required else each.default for each in measure.parameters
    }
    assert f">>> {measure.compute.__name__}(" in (measure.compute.__doc__ or "")
    assert (measure.parts is None) == (measure.aggregate == "mean")


def test_every_page_can_be_shown() -> None:
    """Facts, formula and a worked example of every measure."""
    shown = list(pages())
    assert [page.name for page in shown] == list(NAMES)
    assert all(page.worked and page.definition and page.facts for page in shown)
    assert find("W_strict").name == "NuggetRecall"


def test_unknown_names_are_answered_with_the_nearest() -> None:
    """As those of rankings are."""
    with pytest.raises(UnknownMeasure, match="did you mean V_strict?"):
        parse("V_strickt")
    with pytest.raises(UnknownMeasure, match="write NuggetRecall"):
        parse("NuggetRecall")
    with pytest.raises(UnknownMeasure, match="must be one of 'vital', 'all', 'weighted'"):
        parse("NuggetRecall(set=okay)")
    with pytest.raises(NotFound, match="did you mean SupportP"):
        find("SuportP")
    with pytest.raises(UnknownMeasure):
        parse("nDCG@10")


def test_evaluating_rankings_enters_no_room_of_answers(tmp_path: Path) -> None:
    """Who scores a TREC run waits for nothing that reads or measures answers."""
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2 tag\n")
    done = subprocess.run(
        [sys.executable, "-c", ENTERED, str(tmp_path / "qrels"), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stdout + done.stderr
    assert done.stdout.startswith("map ")
