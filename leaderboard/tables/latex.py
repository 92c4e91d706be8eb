"""Tables as LaTeX: escaped text, and rows as a booktabs table.

BibTeX entries of the works that measures and tests cite in a line.

A citation is surnames, title, where it appeared and year, with commas between; several follow each other with
semicolons. Entries have only its fields: surnames without first names.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from leaderboard.tables.record import (
    DAGGER,
    DOT,
    DOUBLE_DAGGER,
    Column,
    Place,
    Table,
    cell_text,
    seen,
    stands_right,
)

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
    """A table of LaTeX code: heads, rows, column letters such as `lrr`, caption and label."""
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
    """A table as a booktabs table, with heads, cells and caption verbatim.

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
    r"""A name as a LaTeX label: letters, digits and `:-.` only, which is all that \ref accepts."""
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
    # Other values here are yes or no.
    return f"$-${text[1:]}" if text.startswith("-") else text


def _mark(mark: str) -> str:
    return _MARKS.get(mark, rf"$^{{\mathrm{{{mark}}}}}$" if mark else "")


TREC_EVAL = "trec_eval"
TREC_EVAL_AT = "https://github.com/usnistgov/trec_eval"
_BRACES = {"{": r"\textbraceleft{}", "}": r"\textbraceright{}"}
"""BibTeX counts braces even after a backslash."""
_NAME = r"(?:[vV]an )?[A-ZÄÖÜ][\w’-]*(?: [A-ZÄÖÜ][\w’-]*)?"
_AUTHORS = re.compile(rf"((?:{_NAME}, )*{_NAME} and {_NAME}|{_NAME} et al\.|{_NAME}), ")
_BEFORE = re.compile(r"^(?:in this form |.* since |[a-z ]+: )")
"""Phrases before a further work."""
_YEAR = re.compile(r",? ((?:19|20)\d\d)(?=,|$)")
_PLACES = ("section ", "exercise ")
"""Parts of a work that are not part of its entry."""
_NO_WORDS = frozenset(("a", "an", "the", "on"))


@dataclass(frozen=True, slots=True)
class CitedWork:
    """A cited work; where and year may be empty."""

    authors: tuple[str, ...]
    title: str
    where: str
    year: str

    @property
    def key(self) -> str:
        """The first surname, the year and the first word of the title, in plain small letters."""
        if not self.authors:
            return TREC_EVAL
        words = [word for word in re.findall(r"\w+", _plain(self.title)) if word not in _NO_WORDS]
        return f"{''.join(re.findall('[a-z]', _plain(self.authors[0])))}{self.year}{words[0]}"

    @property
    def entry(self) -> str:
        """Its entry."""
        others = {"et al.": "others"}
        names = " and ".join(
            others.get(name) or (f"{{{name}}}" if " " in name else name) for name in self.authors
        )
        fields = {
            "author": names,
            "title": f"{{{bibtex(self.title)}}}",
            "howpublished": bibtex(self.where),
            "year": self.year,
            "url": "" if self.authors else TREC_EVAL_AT,
        }
        return misc(self.key, fields)


@lru_cache(maxsize=256)
def cited_works(citation: str) -> tuple[CitedWork, ...]:
    """The works of a citation; none of an empty one.

    >>> work, = cited_works("Student, The Probable Error of a Mean, Biometrika 6(1), 1908")
    >>> work.key, work.authors, work.where
    ('student1908probable', ('Student',), 'Biometrika 6(1)')
    """
    return tuple(_work(_BEFORE.sub("", part)) for part in citation.split("; ") if part)


def misc(key: str, fields: dict[str, str]) -> str:
    """An entry of the kind that fits everything, with the fields that are not empty."""
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{key},", *lines, "}"]) + "\n"


def bibtex(text: str) -> str:
    """The text as a BibTeX field prints it letter by letter, with braces that BibTeX can count.

    >>> print(bibtex("50% of {all}"))
    50\\% of \\textbraceleft{}all\\textbraceright{}
    """
    return "".join(_BRACES.get(part) or escaped(part) for part in re.split(r"([{}])", text))


def _work(text: str) -> CitedWork:
    if TREC_EVAL in text:
        return CitedWork((), TREC_EVAL, "", "")
    match = _AUTHORS.match(text)
    if match is None:
        raise ValueError(f"{text!r} does not begin with surnames")
    year = _YEAR.search(text)
    title, *where = _YEAR.sub("", text[match.end() :]).split(", ")
    whole = ", ".join(part for part in where if not part.startswith(_PLACES))
    return CitedWork(_surnames(match[1]), title, whole, year[1] if year else "")


def _surnames(authors: str) -> tuple[str, ...]:
    if authors.endswith(" et al."):
        return (authors.removesuffix(" et al."), "et al.")
    *first, last = authors.split(", ")
    return (*first, *last.split(" and "))


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in apart if letter.isascii()).lower()
