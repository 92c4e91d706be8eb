"""A comparison as a LaTeX table: cells, marks, caption, and that no name can break out of it."""

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leaderboard.comparisons.page.many_tables import MeasureOfRuns, means_table
from leaderboard.stats.pairs.baseline import against_baseline
from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.tables.latex import escaped, latex_text

NAMES = {
    r"$\tau$": "τ",
    r"$^{\dagger}$": "†",
    r"$^{\ddagger}$": "‡",
    r"$^{\bullet}$": "●",
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textquotedbl{}": '"',
    r"\textquotesingle{}": "'",
    r"\textasciigrave{}": "`",
    **{f"{{{letter}}}": letter for letter in "[]*"},
    **{f"\\{letter}": letter for letter in "&%$#_{}"},
    "{}": "",
}
"""What LaTeX prints for a command, longer ones first."""


def printed(text: str) -> str:
    """What LaTeX prints for escaped text; raises KeyError for a letter that means something to it."""
    found, at = "", 0
    while at < len(text):
        command = next((name for name in NAMES if text.startswith(name, at)), None)
        if command is None:
            assert text[at] not in "\\&%$#_{}~^<>|\"'`[]*", f"{text[at]!r} is not escaped"
            found, at = found + text[at], at + 1
        else:
            found, at = found + NAMES[command], at + len(command)
    return found


def latex_table(
    runs: list[str], columns: list[MeasureOfRuns], *, topics: int, judgments: str = "revision 7"
) -> str:
    """The runs by these measures as LaTeX."""
    return latex_text(means_table(runs, columns, name="t", topics=topics, judgments=judgments))


def column(
    scores: np.ndarray, key: str = "t+holm", *, lower: bool = False, baseline: int | None = None
) -> MeasureOfRuns:
    """A column of the scores (runs, topics), higher being better unless said otherwise."""
    better = -scores if lower else scores
    table = all_pairs(better, method(key), seed=1)
    against = None if baseline is None else against_baseline(table, better, baseline)
    return MeasureOfRuns("AP", 1, 4, lower, scores.mean(axis=1).tolist(), table, against)


def clear(runs: int, topics: int = 20) -> np.ndarray:
    """Runs so far from each other that every pair can be told apart, the first best."""
    noise = np.random.default_rng(1).random((runs, topics)) / 100
    return noise + np.arange(runs, 0, -1)[:, None] / 20


def cells(text: str) -> list[list[str]]:
    """The rows of the body."""
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0]
    return [
        [cell.strip() for cell in line.split(" & ")]
        for line in body.replace(r"\\", "\n").split("\n")
        if line.strip()
    ]


def caption(text: str) -> str:
    """The caption."""
    return next(line for line in text.splitlines() if line.startswith(r"  \caption{"))


@example("†‡●τ")
@given(st.text())
def test_every_name_is_printed_as_it_is(text: str) -> None:
    """Reading the escaped text as LaTeX does gives the text back, unseen letters as question marks."""
    seen = "".join(letter if letter == " " or letter.isprintable() else "?" for letter in text)
    assert printed(escaped(text)) == seen


@given(st.text(alphabet="-,'`"))
def test_no_letters_are_joined(text: str) -> None:
    """Two hyphens or commas in a row, which LaTeX joins into another character, are kept apart."""
    assert "--" not in escaped(text)
    assert ",," not in escaped(text)


@given(st.lists(st.text(min_size=1), min_size=2, max_size=4, unique=True))
def test_no_name_breaks_out_of_its_cell(names: list[str]) -> None:
    """Whatever runs are called, the table has its rows and columns and its braces are balanced."""
    text = latex_table(names, [column(clear(len(names)))], topics=20)
    assert [len(row) for row in cells(text)] == [2] * len(names)
    commands = re.sub(r"\\[{}]", "", text)
    assert commands.count("{") == commands.count("}")
    assert text.count("\n") == 13 + len(names)


def test_the_best_is_bold_and_letters_tell_runs_apart() -> None:
    """Three runs, all told apart: three letters, the first bold."""
    text = latex_table(["a_1", "b", "c"], [column(clear(3))], topics=20)
    assert [row[0] for row in cells(text)] == [r"a\_1", "b", "c"]
    marks = [row[1] for row in cells(text)]
    assert marks[0].startswith(r"\textbf{0.1")
    assert [re.findall(r"mathrm\{(\w+)\}", mark) for mark in marks] == [["a"], ["b"], ["c"]]
    said = caption(text)
    for part in ("AP (version 1)", "20 topics", "revision 7", "paired t, Holm", "3 pairs", r"5\%"):
        assert part in said


def test_equal_means_are_all_bold() -> None:
    """Two best runs are both best, and share a letter."""
    scores = clear(2)
    text = latex_table(["a", "b"], [column(np.vstack([scores[0], scores[0]]))], topics=20)
    assert [row[1].startswith(r"\textbf") for row in cells(text)] == [True, True]
    assert [row[1].endswith(r"$^{\mathrm{a}}$") for row in cells(text)] == [True, True]


def test_lower_can_be_better() -> None:
    """Where lower is better the lowest mean is bold and its column says so."""
    text = latex_table(["a", "b"], [column(clear(2), lower=True)], topics=20)
    assert [row[1].startswith(r"\textbf") for row in cells(text)] == [False, True]
    assert r"AP ($\downarrow$)" in text


def test_daggers_stand_for_the_baseline() -> None:
    """The run above the baseline has one dagger, that below two, the baseline none."""
    text = latex_table(["a", "base", "c"], [column(clear(3), baseline=1)], topics=20)
    assert [row[1].removeprefix(r"\textbf{")[-14:] for row in cells(text)][1][-1].isdigit()
    assert [r"^{\dagger}" in row[1] for row in cells(text)] == [True, False, False]
    assert [r"^{\ddagger}" in row[1] for row in cells(text)] == [False, False, True]
    assert "than base" in caption(text)
    assert "over 2 pairs" in caption(text)


def test_many_runs_are_marked_against_the_best() -> None:
    """Above 15 runs daggers say which are worse than the best, and the caption says so."""
    text = latex_table([f"r{number}" for number in range(16)], [column(clear(16))], topics=20)
    assert [r"^{\dagger}" in row[1] for row in cells(text)] == [False] + [True] * 15
    assert "worse than the best" in caption(text)


@pytest.mark.parametrize(("key", "topics"), [("sign+holm", 5), ("t+holm", 1)])
def test_a_test_that_can_find_nothing_marks_nothing(key: str, topics: int) -> None:
    """Where no pair could have been told apart there are no marks, and the caption says why."""
    text = latex_table(["a", "b", "c"], [column(clear(3, topics), key)], topics=topics)
    assert all("$" not in row[1] for row in cells(text))
    assert "cannot find any pair significantly different" in caption(text)


def test_columns_follow_one_order() -> None:
    """A column whose runs come in another order is turned to the order asked for."""
    scores = clear(3)
    turned = column(scores[[2, 0, 1]], baseline=0).in_order([1, 2, 0])
    straight = column(scores, baseline=2)
    assert turned.means == straight.means
    assert turned.table.difference == pytest.approx(straight.table.difference)
    assert turned.against is not None
    assert straight.against is not None
    assert turned.against.baseline == 2
    assert turned.against.verdicts.tolist() == straight.against.verdicts.tolist()
