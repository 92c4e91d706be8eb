"""The record of a measure, and the parameters that measures share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judgments

Gains = tuple[tuple[int, float], ...]
"""Gains of grades, ascending by grade."""

Levels = tuple[float, ...]
"""Levels of recall, ascending."""

Value = int | float | bool | str | Gains | Levels
"""Values of parameters."""

Need = Literal["graded", "subtopics", "preferences", "collection size", "documents"]
"""An input beyond a ranking and which documents are relevant."""

LARGEST = 999_999_999
"""The upper end of whole-number parameters that have no natural one."""


def number_text(value: float) -> str:
    """The shortest text that reads back as the value."""
    short = str(value) if isinstance(value, int) else f"{value:g}"
    return short if float(short) == value else repr(value)


def value_text(value: Value) -> str:
    """A value as it is written between the parentheses.

    >>> value_text(0.5), value_text(True), value_text("exp-log2"), value_text(((1, 1), (2, 3.5)))
    ('0.5', 'True', "'exp-log2'", '{1:1,2:3.5}')
    """
    if isinstance(value, bool | str):
        return repr(value)
    if isinstance(value, tuple):
        items = (
            f"{each[0]}:{number_text(each[1])}" if isinstance(each, tuple) else number_text(each)
            for each in value
        )
        return "{" + ",".join(items) + "}"
    return number_text(value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a measure; default None means not applied unless given.

    at: written after `@` instead of in the parentheses; low and high belong to the range of an
    integer, a number, or the gains of grades; choices are what a choice may be.
    """

    name: str
    kind: Literal["integer", "number", "boolean", "choice", "gains", "levels"]
    text: str
    low: float = 0
    high: float = 0
    default: Value | None = None
    required: bool = False
    at: bool = False
    choices: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Its name in messages."""
        return "cut-off (after @)" if self.at else f"parameter {self.name}"

    @property
    def rule(self) -> str:
        """Its allowed values, such as `a whole number from 1 to 999999999`."""
        if self.kind == "boolean":
            return "True or False"
        if self.kind == "choice":
            return f"one of {', '.join(map(repr, self.choices))}"
        if self.kind == "gains":
            span = f"from {number_text(self.low)} to {number_text(self.high)}"
            return f"gains {span} of grades from 0 up, like {{1:1,2:3.5}}"
        if self.kind == "levels":
            return "numbers from 0 to 1, each above the one before, like {0.2,0.5,0.8}"
        kind = "whole number" if self.kind == "integer" else "number"
        return f"a {kind} from {number_text(self.low)} to {number_text(self.high)}"


@dataclass(frozen=True, slots=True)
class TrecName:
    """A name trec_eval prints for a measure: text alone, or text, `_` and a parameter's value.

    squared: trec_eval's value is the square of ours; decimals: how many it prints of the value,
    None for as many as it has; fixed: values of other parameters that the name implies.
    """

    text: str
    parameter: str = ""
    squared: bool = False
    decimals: int | None = None
    fixed: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A measure: its name, its definition, and the function that computes it.

    compute(judged, **parameters) gives float64 (topics,) in the order of the judgments' topics; its
    docstring ends in a worked example. range: smallest and largest score of a topic; undefined: the
    score where a divisor is 0; note: what a reader must know to compare the number with other tools';
    needs: inputs beyond a ranking and which documents are relevant; direction none is never ranked or
    tested; version goes up whenever a definition changes a number; digits are for display.

    aggregate: how topics' scores become one number: their mean, sum or geometric mean (each at least 1e-5),
    `micro` for the quotient of sums over topics, `from means` for a function of several means, `none` where
    there is no such number. For the last but one two, parts(judged, **parameters) gives float64 (k, topics):
    numerators and divisors for micro, the averaged values for `from means`, where combine takes the k means
    and the parameters. text: compute gives strings, shown only.
    """

    name: str
    title: str
    formula: str
    citation: str
    compute: Callable[..., Any]
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    trec_names: tuple[TrecName, ...] = ()
    direction: Literal["higher", "lower", "none"] = "higher"
    range: tuple[float, float] = (0.0, 1.0)
    needs: frozenset[Need] = frozenset()
    undefined: float = 0.0
    aggregate: Literal["mean", "sum", "geometric", "micro", "from means", "none"] = "mean"
    parts: Callable[..., FloatArray] | None = None
    combine: Callable[..., float] | None = None
    text: bool = False
    note: str = ""
    version: int = 1
    digits: int = 4

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


REL = Parameter("rel", "integer", "The lowest grade that counts as relevant.", 1, LARGEST, default=1)
CUTOFF = Parameter("cutoff", "integer", "The number of top ranks evaluated.", 1, LARGEST, at=True)
CUTOFF_REQUIRED = replace(CUTOFF, required=True)
JUDGED_ONLY = Parameter(
    "judged_only",
    "boolean",
    "Remove unjudged documents and those with negative grades, and renumber the ranks.",
    default=False,
)
"""Applied before a measure's function is called, which never sees it."""


COMPARED_AGGREGATES = ("mean", "sum")
"""Aggregates for which differences by topic explain a run's value."""


def refusal(measure: Measure) -> str:
    """Why runs cannot be compared by a measure; otherwise empty."""
    if measure.direction == "none":
        return (
            f"{measure.name} has no direction (higher or lower is better), so runs cannot be compared by it."
        )
    if measure.aggregate not in COMPARED_AGGREGATES:
        return (
            f"A run's {measure.name} is not a mean over topics, so differences by topic do not explain it; "
            "compare by a measure that is a mean over topics."
        )
    return ""


GAINS = Parameter(
    "gains", "gains", "Gains of grades from 0 up, where they are not the grades themselves.", 0, LARGEST
)


def document_gains(judgments: Judgments, gains: Gains | None = None) -> FloatArray:
    """The gain of every judged document, (documents,): its grade or what gains says, 0 below grade 0.

    >>> from leaderboard.measures.richer_examples import judged
    >>> document_gains(judged({1: 1, 2: -1}, missed=[3]).judgments, ((1, 0.5),))
    array([0.5, 0. , 3. ])
    """
    return judgments.keep(("gains", gains), lambda: _gains(judgments.grades, gains))


def ideal_order(judgments: Judgments, gains: Gains | None = None) -> IntArray:
    """The documents with a gain above 0 in the order of an ideal ranking, one topic after the other.

    Indices into Judgments.grades. Gains are compared as the doubles they are.

    >>> from leaderboard.measures.richer_examples import judged
    >>> ideal_order(judged({1: 1, 2: 0}, missed=[3]).judgments)
    array([2, 0])
    """
    return judgments.keep(("ideal order", gains), lambda: _order(judgments, gains))


def _gains(grades: IntArray, gains: Gains | None) -> FloatArray:
    gained = np.maximum(grades, 0).astype(np.float64)
    for grade, gain in gains or ():
        gained[grades == grade] = gain
    return gained


def _order(judgments: Judgments, gains: Gains | None) -> IntArray:
    gain = document_gains(judgments, gains)
    order = np.lexsort((-gain, judgments.topic))
    return judgments.repeated(order[gain[order] > 0])
