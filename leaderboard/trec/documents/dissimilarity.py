"""Dissimilarity of the top documents of a ranking, from their text or from a file of pairs."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leaderboard.errors import MissingInput, Problem
from leaderboard.measures.judged import FloatArray
from leaderboard.trec.read.entries import ID_BYTES, unfit_text
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, raw_lines, shown, text_of

TERMS_AT_ONCE = 4096

_TERM = re.compile(r"\w+")
_NUMBER = re.compile(rb"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")

Pair = tuple[bytes, bytes]
"""Two docnos, the smaller first."""


@dataclass(frozen=True, eq=False)
class Dissimilarities:
    """Supplied dissimilarities: topic -> pair of docnos -> value; topic '' holds for every topic."""

    pairs: dict[str, dict[Pair, float]]

    def matrix(self, topic: str, docnos: Sequence[bytes]) -> FloatArray:
        """The dissimilarities of the documents in their order, (n, n), symmetric with a diagonal of 0.

        Raises MissingInput where a pair was not supplied: no value would be a fair guess.
        """
        of_topic = self.pairs.get(topic) or self.pairs.get("", {})
        values = np.zeros((len(docnos), len(docnos)))
        for row, first in enumerate(docnos):
            for column, second in enumerate(docnos[:row]):
                value = of_topic.get(_pair(first, second))
                if value is None:
                    names = f"{shown(first)} and {shown(second)}"
                    raise MissingInput(f"Topic {shown(topic)} has no dissimilarity of {names}.", topic=topic)
                values[row, column] = values[column, row] = value
        return values


def from_pairs(supplied: Dissimilarities, top: Mapping[str, Sequence[bytes]]) -> tuple[FloatArray, ...]:
    """The matrices of every topic's top documents, in the order of top, as in Judged."""
    return tuple(supplied.matrix(topic, docnos) for topic, docnos in top.items())


def from_texts(texts: Mapping[bytes, str], top: Mapping[str, Sequence[bytes]]) -> tuple[FloatArray, ...]:
    """The matrices of every topic's top documents from their text, in the order of top.

    Raises MissingInput for a document without a text.
    """
    missing = next((docno for docnos in top.values() for docno in docnos if docno not in texts), None)
    if missing is not None:
        raise MissingInput(f"No text was given for document {shown(missing)}.", docno=text_of(missing))
    return tuple(text_dissimilarities([texts[docno] for docno in docnos]) for docnos in top.values())


def text_dissimilarities(texts: Sequence[str]) -> FloatArray:
    """1 less the cosine of the term counts of every two texts, (n, n), from 0 to 1.

    Terms are the longest runs of letters, digits and underscores of any script (`\\w+`) in the
    case-folded text: no stop words, stems or weights. A text without terms is unlike every other.

    One of two terms in common, each once: 1 - 1/2.

    >>> text_dissimilarities(["Red wine", "red-meat"])
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    counts = [Counter(_TERM.findall(text.casefold())) for text in texts]
    squares = np.array(
        [float(sum(count * count for count in text_counts.values())) for text_counts in counts]
    )
    # The root of a square is exact in doubles, so equal texts come out at 0 and none below.
    lengths = np.sqrt(np.outer(squares, squares))
    cosine = np.divide(_products(counts), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    unlike = 1.0 - cosine
    np.fill_diagonal(unlike, 0.0)
    return unlike


def _products(counts: Sequence[Counter[str]]) -> FloatArray:
    """The inner products of the counts of every two texts, (n, n): whole numbers, so exact in any order."""
    in_texts = Counter(term for text_counts in counts for term in text_counts)
    shared = [term for term, number in in_texts.items() if number > 1]
    products = np.zeros((len(counts), len(counts)))
    for start in range(0, len(shared), TERMS_AT_ONCE):
        place = {term: column for column, term in enumerate(shared[start : start + TERMS_AT_ONCE])}
        block = np.zeros((len(counts), len(place)))
        for row, text_counts in enumerate(counts):
            cells = [(place[term], count) for term, count in text_counts.items() if term in place]
            block[row, [column for column, _ in cells]] = [count for _, count in cells]
        products += block @ block.T
    return products


def read_dissimilarities(path: Path, limits: Limits = DEFAULT_LIMITS) -> Dissimilarities:
    """The dissimilarities in a file: `topic docno docno value`, or `docno docno value` for all topics.

    Blank lines and `#` comments are skipped; either order of the two docnos is the same pair.
    Raises Invalid with up to 25 problems.
    """
    reader = _Reader()
    for number, line in raw_lines(path, limits):
        if line.strip() and not line.startswith(b"#"):
            reader.add(number, line)
    return reader.dissimilarities()


class _Reader:
    """Collects pairs line by line."""

    def __init__(self) -> None:
        self.problems = Problems("file of dissimilarities")
        self.columns = 0
        self.pairs: dict[str, dict[Pair, float]] = {}
        self.lines: dict[tuple[str, Pair], int] = {}

    def add(self, number: int, line: bytes) -> None:
        """Add a line that is neither blank nor a comment."""
        if problem := unfit_text(number, line):
            self.problems.add(problem)
            return
        fields = line.split()
        self.columns = self.columns or (3 if len(fields) == 3 else 4)
        if len(fields) != self.columns:
            self.problems.add(self._wrong_count(number, line))
            return
        *topic, first, second, text = fields
        if problem := self._problem(number, [*topic, first, second], text):
            self.problems.add(problem)
            return
        self._keep(number, text_of(topic[0]) if topic else "", _pair(first, second), float(text))

    def dissimilarities(self) -> Dissimilarities:
        """All pairs added; raises Invalid where there were problems."""
        if not self.pairs and not self.problems.found:
            remedy = "Write one line each: topic docno docno value."
            self.problems.add(Problem("The file has no dissimilarities.", remedy))
        self.problems.stop()
        return Dissimilarities(self.pairs)

    def _keep(self, number: int, topic: str, pair: Pair, value: float) -> None:
        first_line = self.lines.setdefault((topic, pair), number)
        kept = self.pairs.setdefault(topic, {}).setdefault(pair, value)
        if kept != value:
            rule = (
                f"The two documents have dissimilarity {kept!r} on line {first_line}; here it is {value!r}."
            )
            self.problems.add(Problem(rule, "Keep one of the two lines.", number, "docno", _names(pair)))

    def _problem(self, number: int, ids: list[bytes], text: bytes) -> Problem | None:
        for value in ids:
            if len(value) > ID_BYTES:
                rule = f"Topics and docnos have at most {ID_BYTES} bytes."
                return Problem(rule, "Check the columns.", number, "id", shown(value))
        if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            rule = "A dissimilarity must be a number of at least 0."
            return Problem(rule, "The last column is the value.", number, "value", shown(text))
        if ids[-1] == ids[-2] and float(text):
            rule = "A document has no dissimilarity to itself."
            return Problem(rule, "Remove the line, or write 0.", number, "value", shown(text))
        return None

    def _wrong_count(self, number: int, line: bytes) -> Problem:
        names = "docno docno value" if self.columns == 3 else "topic docno docno value"
        count = len(line.split())
        rule = f"A line has {self.columns} fields ({names}); this one has {count}."
        return Problem(rule, "Separate the fields by blanks or tabs.", number, "", shown(line))


def _pair(first: bytes, second: bytes) -> Pair:
    return (first, second) if first <= second else (second, first)


def _names(pair: Pair) -> str:
    return f"{shown(pair[0])}, {shown(pair[1])}"
