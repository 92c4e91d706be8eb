"""A measure together with its parameters' values."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from leaderboard.errors import MissingInput, UnknownMeasure
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import JUDGED_ONLY, Measure, Parameter, Value, number_text, value_text

LEAST_SCORE = 1e-5
"""Least score in a geometric mean, as in trec_eval: a single 0 would make it 0."""


@dataclass(frozen=True, eq=False)
class BoundMeasure:
    """A measure with a value for each of its parameters, such as nDCG@10; made by `bind` or `parse`.

    params: parameter name -> value, None where not applied. given: the parameters that were
    written out. Two are equal when their keys are.
    """

    measure: Measure
    params: Mapping[str, Value | None]
    given: frozenset[str] = field(default=frozenset())

    @cached_property
    def key(self) -> str:
        """The canonical name, which `parse` reads back; values at their default are left out."""
        inner, at = [], ""
        for parameter in self.measure.parameters:
            value = self.params[parameter.name]
            if value is None or value == parameter.default:
                continue
            if parameter.at:
                at = f"@{value_text(value)}"
            else:
                inner.append(f"{parameter.name}={value_text(value)}")
        return f"{self.measure.name}{'(' + ','.join(inner) + ')' if inner else ''}{at}"

    def compute(self, judged: Judged) -> FloatArray:
        """The score of every topic, float64 (topics,), in the order of the judgments' topics.

        Strings for a measure that is text. Raises MissingInput where the measure needs what the
        judgments do not have.
        """
        scores: FloatArray = self.measure.compute(self._seen(judged), **self._arguments)
        return scores

    def parts(self, judged: Judged) -> FloatArray | None:
        """The parts of the aggregate where scores do not determine it, float64 (k, topics), else None."""
        if self.measure.parts is None:
            return None
        return self.measure.parts(self._seen(judged), **self._arguments)

    def aggregate(self, scores: FloatArray, parts: FloatArray | None = None) -> float:
        """The one number for all topics, added up one topic after the other in their order.

        parts: what `parts` gave for the same topics, where the measure has any. Raises ValueError
        where there is no topic, or no such number.
        """
        if not len(scores) or self.measure.aggregate == "none":
            raise ValueError(f"{self.key} has no topics to take a mean over")
        return _AGGREGATES[self.measure.aggregate](self, scores, parts)

    @cached_property
    def _arguments(self) -> dict[str, Value | None]:
        return {name: value for name, value in self.params.items() if name != JUDGED_ONLY.name}

    def _seen(self, judged: Judged) -> Judged:
        for need in sorted(self.measure.needs):
            if _INPUTS[need](judged) is None:
                raise MissingInput(f"{self.key} needs {_NEEDED[need]}.", need=need)
        return judged.condensed if self.params.get(JUDGED_ONLY.name) else judged

    def __str__(self) -> str:
        """The canonical name."""
        return self.key

    def __eq__(self, other: object) -> bool:
        """Whether both are the same measure with the same values."""
        return isinstance(other, BoundMeasure) and self.key == other.key

    def __hash__(self) -> int:
        """The hash of the key."""
        return hash(self.key)


def bind(measure: Measure, given: Mapping[str, Value]) -> BoundMeasure:
    """The measure with the given parameters and the others at their defaults.

    Raises UnknownMeasure where a parameter is missing, not taken, of the wrong kind or out of range.
    """
    checked = {name: _checked(measure, parameter_of(measure, name), value) for name, value in given.items()}
    for parameter in measure.parameters:
        if parameter.required and parameter.name not in given:
            value = _some_value(parameter)
            example = (
                f"{measure.name}@{value}" if parameter.at else f"{measure.name}({parameter.name}={value})"
            )
            raise UnknownMeasure(
                f"{measure.name} needs its {parameter.called}: write {example}, for instance."
            )
    params = {
        parameter.name: checked.get(parameter.name, parameter.default) for parameter in measure.parameters
    }
    low, high = params.get("min_rel"), params.get("max_rel")
    if isinstance(low, int) and isinstance(high, int) and low >= high:
        raise UnknownMeasure(f"min_rel must be below max_rel; {low} and {high} leave no scale.")
    return BoundMeasure(measure, MappingProxyType(params), frozenset(given))


def _some_value(parameter: Parameter) -> str:
    """A sample value that shows how the parameter is written."""
    if parameter.kind == "choice":
        return parameter.choices[0]
    is_whole = parameter.kind == "integer"
    return number_text(min(max(parameter.low, 10), parameter.high) if is_whole else parameter.high)


def with_level(bound: BoundMeasure, level: int) -> BoundMeasure:
    """The measure at a task's relevance level: rel set to it, where one is taken and none was written.

    nDCG works on the grades themselves and stays as it is. Apply it once, to what the organiser
    wrote; the key of the result says the level.
    """
    if bound.measure.parameter("rel") is None or "rel" in bound.given:
        return bound
    given = {name: value for name, value in bound.params.items() if name in bound.given and value is not None}
    return bind(bound.measure, {**given, "rel": level})


def like(bound: BoundMeasure, measure: Measure, highest: int) -> BoundMeasure:
    """A measure with the parameters that another one has, and the highest grade where it takes one."""
    params: dict[str, Value | None] = {**bound.params, "max_rel": highest}
    names = (parameter.name for parameter in measure.parameters)
    return bind(measure, {name: value for name in names if (value := params[name]) is not None})


def parameter_of(measure: Measure, name: str) -> Parameter:
    """The measure's parameter of that name; raises UnknownMeasure where it has none."""
    parameter = measure.parameter(name)
    if parameter is None:
        taken = " and the ".join(parameter.called for parameter in measure.parameters)
        takes = f"takes only the {taken}" if taken else "takes none"
        raise UnknownMeasure(f"{measure.name} has no parameter {name!r}; it {takes}.")
    return parameter


def out_of_range(measure: Measure, parameter: Parameter, text: str) -> UnknownMeasure:
    """The error for an invalid parameter value, with the allowed range."""
    return UnknownMeasure(f"The {parameter.called} of {measure.name} must be {parameter.rule}, not {text}.")


def _checked(measure: Measure, parameter: Parameter, value: Value) -> Value:
    if not _is_allowed(parameter, value):
        raise out_of_range(measure, parameter, value_text(value))
    return value


def _is_allowed(parameter: Parameter, value: Value) -> bool:
    if parameter.kind in ("boolean", "choice"):
        return isinstance(value, bool) if parameter.kind == "boolean" else value in parameter.choices
    if parameter.kind == "gains":
        return isinstance(value, tuple) and all(
            isinstance(pair, tuple) and pair[0] >= 0 and parameter.low <= pair[1] <= parameter.high
            for pair in value
        )
    if parameter.kind == "levels":
        numbers = [each for each in value if not isinstance(each, tuple)] if isinstance(value, tuple) else []
        in_order = all(low < high for low, high in pairwise((-1.0, *numbers)))
        return bool(numbers) and numbers[-1] <= 1 and min(numbers) >= 0 and in_order
    if isinstance(value, bool | str | tuple) or (parameter.kind == "integer" and isinstance(value, float)):
        return False
    return parameter.low <= value <= parameter.high


def _mean(_: BoundMeasure, scores: FloatArray, __: FloatArray | None) -> float:
    return _total(scores) / len(scores)


def _geometric(_: BoundMeasure, scores: FloatArray, __: FloatArray | None) -> float:
    # math.log and not np.log: the same bits on every processor.
    logs = np.array([math.log(max(score, LEAST_SCORE)) for score in scores.tolist()])
    return math.exp(_total(logs) / len(scores))


def _micro(bound: BoundMeasure, _: FloatArray, parts: FloatArray | None) -> float:
    numerators, divisors = _parts(bound, parts)
    total = _total(divisors)
    return _total(numerators) / total if total else bound.measure.undefined


def _from_means(bound: BoundMeasure, scores: FloatArray, parts: FloatArray | None) -> float:
    assert bound.measure.combine is not None, f"{bound.key} combines nothing"
    means = [_total(part) / len(scores) for part in _parts(bound, parts)]
    return bound.measure.combine(*means, **bound._arguments)


def _parts(bound: BoundMeasure, parts: FloatArray | None) -> FloatArray:
    if parts is None:
        raise ValueError(f"{bound.key} needs its parts to be aggregated")
    return parts


def _total(values: FloatArray) -> float:
    # cumsum adds in order; np.sum pairs up and Python's sum compensates, either moves the last bit.
    return float(values.cumsum()[-1])


_AGGREGATES: dict[str, Callable[[BoundMeasure, FloatArray, FloatArray | None], float]] = {
    "mean": _mean,
    "sum": lambda _, scores, __: _total(scores),
    "geometric": _geometric,
    "micro": _micro,
    "from means": _from_means,
}
_INPUTS: dict[str, Callable[[Judged], object]] = {
    "graded": lambda judged: judged.judgments,
    "subtopics": lambda judged: judged.judgments.subtopics,
    "preferences": lambda judged: judged.judgments.preferences,
    "collection size": lambda judged: judged.judgments.collection_size,
    "documents": lambda judged: judged.dissimilarity,
}
_NEEDED = {
    "subtopics": "subtopic judgments: qrels with the subtopic in the second column",
    "preferences": "preference judgments: which of two documents is better",
    "collection size": "the number of documents in the collection",
    "documents": "the documents' text, or a file of their dissimilarities",
}
