"""Parameters of pooling methods: ranges, defaults, and parsing of stored values."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

Strata = tuple[tuple[int, float], ...]
"""(last fused rank, share of the stratum to judge), from the top down."""
Value = int | float | str | tuple[int, ...] | Strata
Kind = Literal["integer", "number", "choice", "priorities", "strata"]

LARGEST = 1_000_000
"""Upper limit of whole numbers without a natural one."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a method; default None means not applied unless given.

    low and high belong to an integer or a number, choices to a choice. kind `priorities` is a list of
    whole numbers, one per run; `strata` a list of pairs of a last rank and a rate.
    """

    name: str
    kind: Kind
    title: str
    text: str
    default: Value | None = None
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    required: bool = False

    @property
    def rule(self) -> str:
        """The allowed values, such as `a whole number from 1 to 1000`."""
        match self.kind:
            case "choice":
                return f"one of {', '.join(self.choices)}"
            case "priorities":
                return "a list of whole numbers of at least 0, one per run"
            case "strata":
                return "pairs of an increasing last rank and a rate above 0 up to 1, such as 20:1,100:0.2"
            case _:
                kind = "whole number" if self.kind == "integer" else "number"
                return f"a {kind} from {self.low:g} to {self.high:g}"

    def read(self, value: object) -> Value | None:
        """Parse the value from JSON or form text; None if it is omitted.

        Raises ValueError unless it satisfies `rule`.

        >>> STRATA.read("20:1,100:0.2"), STRATA.read([[20, 1], [100, 0.2]]) == STRATA.read("20:1,100:0.2")
        (((20, 1.0), (100, 0.2)), True)
        """
        if value is None or value == "":
            if self.required:
                raise ValueError(f"{self.title} is required: {self.rule}")
            return self.default
        try:
            return _READ[self.kind](self, value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{self.title} must be {self.rule}, not {value!r}") from None


def _whole(parameter: Parameter, value: Any) -> int:
    number = int(value)
    if isinstance(value, bool) or number != float(value) or not parameter.low <= number <= parameter.high:
        raise ValueError
    return number


def _number(parameter: Parameter, value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not parameter.low <= number <= parameter.high:
        raise ValueError
    return number


def _choice(parameter: Parameter, value: Any) -> str:
    if value not in parameter.choices:
        raise ValueError
    return str(value)


def _priorities(_: Parameter, value: Any) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else list(value)
    priorities = tuple(int(part) for part in parts)
    if any(isinstance(part, bool) or int(part) != float(part) or int(part) < 0 for part in parts):
        raise ValueError
    return priorities


def _strata(_: Parameter, value: Any) -> Strata:
    pairs = [part.split(":") for part in value.split(",")] if isinstance(value, str) else list(value)
    strata = tuple((int(last), float(rate)) for last, rate in pairs)
    lasts = [0, *(last for last, _ in strata)]
    grows = all(last > before for before, last in pairwise(lasts))
    if not strata or not grows or not all(0 < rate <= 1 and math.isfinite(rate) for _, rate in strata):
        raise ValueError
    return strata


_READ: Mapping[Kind, Callable[[Parameter, Any], Value]] = {
    "integer": _whole,
    "number": _number,
    "choice": _choice,
    "priorities": _priorities,
    "strata": _strata,
}

TOP = Parameter(
    "depth", "integer", "depth", "number of top ranks of every run to judge", 10, 1, LARGEST, required=True
)
POOL_DEPTH = Parameter(
    "depth", "integer", "depth", "number of top ranks of every run that are candidates", 100, 1, LARGEST
)
FIRST_CITATIONS = Parameter(
    "first", "integer", "citations", "number of citations per segment, strongest first", 1, 1, LARGEST
)
FIRST_REFERENCES = Parameter(
    "first", "integer", "references", "number of references per answer, in its order", 10, 1, LARGEST
)
BUDGET = Parameter(
    "budget",
    "integer",
    "budget",
    "maximum judged documents per topic, including those already judged",
    None,
    1,
    LARGEST,
)
PRIORITIES = Parameter(
    "priorities",
    "priorities",
    "priorities",
    "one number per run: 1 first, then 2 and so on; 0 leaves the run's documents to the other runs",
    required=True,
)
K = Parameter("k", "number", "k", "constant added to each rank", 60.0, 0, LARGEST)
P = Parameter(
    "p", "number", "persistence", "probability that a reader continues to the next rank", 0.8, 0.01, 0.999
)
BETA = Parameter("beta", "number", "beta", "factor on a run's weight per unit of loss", 0.8, 0.01, 0.999)
CREDIT = Parameter(
    "credit",
    "choice",
    "credit",
    "runs that a judgment counts for: all that contain the document, or the one it was taken from",
    "holders",
    choices=("holders", "own"),
)
FUSION = Parameter(
    "fusion",
    "choice",
    "fusion",
    "fusion that ranks documents before they are divided into strata",
    "rrf",
    choices=("rrf", "borda", "dcg", "rbp"),
)
STRATA = Parameter(
    "strata",
    "strata",
    "strata",
    "last fused rank of each stratum and the share of it to judge",
    ((20, 1.0), (60, 0.5), (200, 0.2)),
)
STAGE_DEPTH = Parameter(
    "depth",
    "integer",
    "depth of the first stage",
    "number of top ranks of every run to judge first",
    10,
    1,
    LARGEST,
)
