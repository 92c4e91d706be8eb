"""Tables as LaTeX: what is printed letter by letter, numbers set right, dashes for what is absent."""

import math

import pytest

from leaderboard.tables.latex import latex_text
from leaderboard.tables.record import DAGGER, Column, Table
from tests.make.tables import table as made


def _body(table: str) -> list[list[str]]:
    """The cells of the rows between the rules, and of the head."""
    lines = [line.strip() for line in table.splitlines()]
    inside = lines[lines.index(r"\toprule") + 1 : lines.index(r"\bottomrule")]
    rows = [line.removesuffix(r"\\").strip() for line in inside if line != r"\midrule"]
    return [row.split(" & ") for row in rows]


def test_numbers_have_their_columns_digits_and_stand_right() -> None:
    """Four decimals unless a column says otherwise, whole numbers none, a minus that is one."""
    rows = [["one", 0.25, -0.5, 50], ["two", 0.123456, 1.0, 7]]
    table = latex_text(made(["run", "AP", "change", "topics"], rows, digits={"change": 2}))
    assert r"\begin{tabular}{lrrr}" in table
    assert _body(table) == [
        ["run", "AP", "change", "topics"],
        ["one", "0.2500", "$-$0.50", "50"],
        ["two", "0.1235", "1.00", "7"],
    ]


@pytest.mark.parametrize("absent", [None, "", math.nan, math.inf, -math.inf])
def test_what_is_absent_is_a_dash(absent: object) -> None:
    """No cell is empty and none says nan; a column with a gap is a column of numbers still."""
    table = latex_text(made(["run", "AP"], [["one", absent], ["two", 0.5]]))
    assert _body(table)[1] == ["one", "--"]


def test_a_column_without_numbers_stands_left() -> None:
    """Texts, truths and columns of nothing at all are not set as numbers."""
    table = latex_text(made(["a", "b", "c"], [["x", True, None], ["y", False, None]]))
    assert r"\begin{tabular}{lll}" in table
    assert _body(table)[1:] == [["x", "yes", "--"], ["y", "no", "--"]]


def test_no_letter_of_a_cell_head_or_caption_is_a_command() -> None:
    """Every special letter is printed; a row that begins with a bracket is no argument of the row before."""
    rows = [["[50%] \\x{1}^2~"]]
    table = latex_text(made(["nDCG_10 & more"], rows, caption="A #1 board, $5 & up"))
    assert r"\caption{A \#1 board, \$5 \& up}" in table
    assert r"nDCG\_10 \& more \\" in table
    assert r"{[}50\%{]} \textbackslash{}x\{1\}\textasciicircum{}2\textasciitilde{} \\" in table


def test_a_label_holds_only_what_can_be_referred_to() -> None:
    """Other letters of a name become hyphens."""
    assert r"\label{tab:t-1-b-}" in latex_text(made(["a"], [["b"]], name="t 1}b&"))


def test_marks_stand_behind_their_cells_and_a_legend_behind_the_caption() -> None:
    """What is best is bold, a mark follows it, and the legend explains it."""
    score: Column[list[float]] = Column(
        key="AP",
        value=lambda row: row[0],
        bold=lambda row: row[0] > 0.5,
        mark=lambda row: DAGGER if row[0] > 0.5 else "ab",
        lower_is_better=True,
    )
    rows = [[0.75], [0.25]]
    text = latex_text(Table(name="t", caption="c_1", columns=[score], rows=rows, legend="† worse"))
    assert r"\caption{c\_1 $^{\dagger}$ worse}" in text
    assert _body(text) == [
        [r"AP ($\downarrow$)"],
        [r"\textbf{0.7500}$^{\dagger}$"],
        [r"0.2500$^{\mathrm{ab}}$"],
    ]
