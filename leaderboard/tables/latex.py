"""Tables as LaTeX: what is printed letter by letter, and rows as a booktabs table."""

import re
from collections.abc import Sequence
from typing import Any

from leaderboard.tables.cells import DAGGER, DOT, DOUBLE_DAGGER, cell_text, seen, stands_right
from leaderboard.tables.record import Column, Place, Table

ABSENT = "--"

_MARKS = {DAGGER: r"$^{\dagger}$", DOUBLE_DAGGER: r"$^{\ddagger}$", DOT: r"$^{\bullet}$"}
_ESCAPES = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": r"{[}",
    "]": r"{]}",
    "*": r"{*}",
    "τ": r"$\tau$",
    **_MARKS,
}
"""Characters that LaTeX would read as a command, a ligature or an argument."""


def escaped(text: str) -> str:
    """The text as LaTeX that prints it letter by letter; what cannot be printed becomes a question mark.

    >>> print(escaped("A_1 & 50%"))
    A\\_1 \\& 50\\%
    """
    letters = (_ESCAPES.get(letter, letter) for letter in seen(text))
    # Two of these in a row would be joined into one other character.
    return re.sub(r"([-,])(?=\1)", r"\1{}", "".join(letters))


def booktabs(
    heads: Sequence[str], rows: Sequence[Sequence[str]], columns: str, caption: str, label: str = ""
) -> str:
    """A table of what is LaTeX already: heads, rows, column letters such as `lrr`, caption and label."""
    lines = [
        r"% Needs \usepackage{booktabs} and \usepackage{graphicx}, which shrinks tables wider than text.",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption}}}",
        *([rf"  \label{{{label}}}"] if label else []),
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        f"    {' & '.join(heads)} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(table: Table[Any]) -> str:
    """A table as a booktabs table, with every letter of heads, cells and caption as it is.

    Numbers have the decimals of their column, four where it says nothing; whole numbers have none. Columns of
    numbers are set right. None, and any number that is not finite, is a dash.

    >>> from leaderboard.tables.record import Column, Table
    >>> run = Column(key="run", value=lambda row: row[0])
    >>> score = Column(key="AP", value=lambda row: row[1], digits=4)
    >>> rows = [("a_1", 0.25), ("b", None)]
    >>> print(latex_text(Table(name="t", caption="Two.", columns=[run, score], rows=rows)))
    % Needs \\usepackage{booktabs} and \\usepackage{graphicx}, which shrinks tables wider than text.
    \\begin{table}
      \\centering
      \\caption{Two.}
      \\label{tab:t}
      \\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%
      \\begin{tabular}{lr}
        \\toprule
        run & AP \\\\
        \\midrule
        a\\_1 & 0.2500 \\\\
        b & -- \\\\
        \\bottomrule
      \\end{tabular}}
    \\end{table}
    <BLANKLINE>
    """
    columns = table.shown(Place.PRINT)
    values = [[column.printed(row) for row in table.rows] for column in columns]
    cells = [
        [_marked(column, row, value) for row, value in zip(table.rows, shown, strict=True)]
        for column, shown in zip(columns, values, strict=True)
    ]
    caption = escaped(f"{table.caption} {table.legend}".strip())
    return booktabs(
        [_head(column) for column in columns],
        [list(row) for row in zip(*cells, strict=True)],
        "".join(_alignment(column, shown) for column, shown in zip(columns, values, strict=True)),
        caption,
        label(table.name),
    )


def label(name: str) -> str:
    r"""A name as a LaTeX label: letters, digits and `:-.` only, which is all that \ref takes."""
    return re.sub(r"[^A-Za-z0-9:.-]+", "-", f"tab:{name}")


def _alignment(column: Column[Any], values: Sequence[Any]) -> str:
    return "r" if stands_right(column, values) else "l"


def _head(column: Column[Any]) -> str:
    return escaped(column.heading) + (r" ($\downarrow$)" if column.lower_is_better else "")


def _marked(column: Column[Any], row: Any, value: Any) -> str:
    text = cell_text(column, value)
    if text is None:
        return ABSENT
    text = _number(text) if isinstance(value, int | float) else escaped(text)
    if column.bold is not None and column.bold(row):
        text = rf"\textbf{{{text}}}"
    return text if column.mark is None else text + _mark(column.mark(row))


def _number(text: str) -> str:
    # What is no number here is yes or no.
    return f"$-${text[1:]}" if text.startswith("-") else text


def _mark(mark: str) -> str:
    return _MARKS.get(mark, rf"$^{{\mathrm{{{mark}}}}}$" if mark else "")
