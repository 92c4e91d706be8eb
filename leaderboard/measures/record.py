"""The record a measure is, and the parameters measures share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from leaderboard.measures.judged import FloatArray

Value = int | float
"""What a parameter can be set to."""

LARGEST = 999_999_999
"""The upper end of whole-number parameters that have no natural one."""


def number_text(value: Value) -> str:
    """The shortest text that reads back as the value."""
    short = str(value) if isinstance(value, int) else f"{value:g}"
    return short if float(short) == value else repr(value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a measure; default None means not applied unless given.

    at: written after `@` instead of in the parentheses; low and high belong to the range.
    """

    name: str
    kind: Literal["integer", "number"]
    text: str
    low: Value
    high: Value
    default: Value | None = None
    required: bool = False
    at: bool = False

    @property
    def called(self) -> str:
        """What messages call it."""
        return "cut-off (after @)" if self.at else f"parameter {self.name}"

    @property
    def rule(self) -> str:
        """What it may be set to, such as `a whole number from 1 to 999999999`."""
        kind = "whole number" if self.kind == "integer" else "number"
        return f"a {kind} from {number_text(self.low)} to {number_text(self.high)}"


@dataclass(frozen=True, slots=True)
class TrecName:
    """A name trec_eval prints for a measure: text alone, or text, `_` and a parameter's value.

    squared: trec_eval's value is the square of ours.
    """

    text: str
    parameter: str = ""
    squared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A measure: what it is called, how it is defined, and the function that computes it.

    compute(judged, **parameters) gives float64 (topics,) in the order of the judgments' topics.
    range: smallest and largest score of a topic; undefined: the score where a divisor is 0;
    needs: inputs beyond a ranking and its judgments' grades; direction none is never ranked or
    tested; version goes up whenever a definition changes a number; digits are for display.
    """

    name: str
    title: str
    formula: str
    citation: str
    compute: Callable[..., FloatArray]
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    trec_names: tuple[TrecName, ...] = ()
    direction: Literal["higher", "lower", "none"] = "higher"
    range: tuple[float, float] = (0.0, 1.0)
    needs: frozenset[Literal["graded", "subtopics", "preferences", "collection size", "documents"]] = (
        frozenset()
    )
    undefined: float = 0.0
    aggregate: Literal["mean", "sum"] = "mean"
    version: int = 1
    digits: int = 4

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((each for each in self.parameters if each.name == name), None)


REL = Parameter("rel", "integer", "The lowest grade that counts as relevant.", 1, LARGEST, default=1)
CUTOFF = Parameter("cutoff", "integer", "How many top ranks are looked at.", 1, LARGEST, at=True)
CUTOFF_REQUIRED = replace(CUTOFF, required=True)
