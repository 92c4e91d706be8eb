"""A measure together with its parameters' values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import Measure, Parameter, Value, number_text


@dataclass(frozen=True, eq=False)
class BoundMeasure:
    """A measure with a value for each of its parameters, such as nDCG@10; made by `bind` or `parse`.

    params: parameter name -> value, None where not applied. given: the parameters that were
    written out. Two are equal when their keys are.
    """

    measure: Measure
    params: Mapping[str, Value | None]
    given: frozenset[str] = field(default=frozenset())

    @property
    def key(self) -> str:
        """The canonical name, which `parse` reads back; values at their default are left out."""
        inner, at = [], ""
        for each in self.measure.parameters:
            value = self.params[each.name]
            if value is None or value == each.default:
                continue
            if each.at:
                at = f"@{number_text(value)}"
            else:
                inner.append(f"{each.name}={number_text(value)}")
        return f"{self.measure.name}{'(' + ','.join(inner) + ')' if inner else ''}{at}"

    def compute(self, judged: Judged) -> FloatArray:
        """The score of every topic, float64 (topics,), in the order of the judgments' topics."""
        return self.measure.compute(judged, **self.params)

    def aggregate(self, scores: FloatArray) -> float:
        """The mean of the scores (the sum, for counts), added one after the other in topic order.

        Raises ValueError where there is no score at all.
        """
        if not len(scores):
            raise ValueError(f"{self.key} has no topics to take a mean over")
        # cumsum adds in order; np.sum pairs up and Python's sum compensates, either moves the last bit.
        total = float(np.cumsum(scores)[-1])
        return total if self.measure.aggregate == "sum" else total / len(scores)

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
    for each in measure.parameters:
        if each.required and each.name not in given:
            example = f"{measure.name}@10" if each.at else f"{measure.name}({each.name}=1)"
            raise UnknownMeasure(f"{measure.name} needs its {each.called}: write {example}, for instance.")
    params = {each.name: checked.get(each.name, each.default) for each in measure.parameters}
    return BoundMeasure(measure, MappingProxyType(params), frozenset(given))


def with_level(bound: BoundMeasure, level: int) -> BoundMeasure:
    """The measure at a task's relevance level: rel set to it, where one is taken and none was written.

    nDCG works on the grades themselves and stays as it is. Apply it once, to what the organiser
    wrote; the key of the result says the level.
    """
    if bound.measure.parameter("rel") is None or "rel" in bound.given:
        return bound
    given = {name: value for name, value in bound.params.items() if name in bound.given and value is not None}
    return bind(bound.measure, {**given, "rel": level})


def parameter_of(measure: Measure, name: str) -> Parameter:
    """The measure's parameter of that name; raises UnknownMeasure where it takes none such."""
    parameter = measure.parameter(name)
    if parameter is None:
        taken = " and the ".join(each.called for each in measure.parameters)
        takes = f"takes only the {taken}" if taken else "takes none"
        raise UnknownMeasure(f"{measure.name} has no parameter {name!r}; it {takes}.")
    return parameter


def out_of_range(measure: Measure, parameter: Parameter, text: str) -> UnknownMeasure:
    """The error that says what the parameter may be set to instead of text."""
    return UnknownMeasure(f"The {parameter.called} of {measure.name} must be {parameter.rule}, not {text}.")


def _checked(measure: Measure, parameter: Parameter, value: Value) -> Value:
    whole = parameter.kind == "number" or isinstance(value, int)
    if not whole or not parameter.low <= value <= parameter.high:
        raise out_of_range(measure, parameter, number_text(value))
    return value
