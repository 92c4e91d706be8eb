"""A pooling method bound to its parameter values."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from leaderboard.pooling.parameters import LARGEST, Value
from leaderboard.pooling.registry import METHODS, OF_ANSWERS, Method

Spec = Mapping[str, object]


@dataclass(frozen=True, eq=False)
class BoundMethod:
    """A method with a value for each of its parameters, made by `method`; `then` follows a first stage."""

    method: Method
    values: Mapping[str, Value | None]
    then: "BoundMethod | None" = None

    @property
    def spec(self) -> dict[str, object]:
        """The spec in storage format, which `method` reads back: all applied parameters."""
        given = {name: value for name, value in self.values.items() if value is not None}
        stage = {} if self.then is None else {"then": self.then.spec}
        return {"name": self.method.name, **given, **stage}

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        if self.then is None:
            return self.method.title
        return f"Depth {self.values['depth']}, then {self.then.title}"

    @property
    def last(self) -> "BoundMethod":
        """The method of the last stage: itself if there is only one."""
        return self if self.then is None else self.then

    @property
    def adaptive(self) -> bool:
        """Whether the next document depends on the judgments so far."""
        return self.last.method.adaptive

    @property
    def samples(self) -> bool:
        """Whether documents are sampled, so that measures must be estimated from the sample."""
        return self.last.method.samples

    @property
    def random(self) -> bool:
        """Whether the seed matters."""
        return self.last.method.random

    @property
    def needs_scores(self) -> bool:
        """Whether `pool` and `start` need the runs' scores."""
        return self.last.method.needs_scores

    @property
    def budget(self) -> int | None:
        """Maximum judged documents per topic; None if the method has no limit."""
        value = self.values.get("budget")
        return value if isinstance(value, int) else None

    @property
    def without_budget(self) -> "BoundMethod":
        """The same method with no limit."""
        values = {name: None if name == "budget" else value for name, value in self.values.items()}
        return BoundMethod(self.method, MappingProxyType(values), self.then)

    @property
    def reach(self) -> int:
        """Number of top ranks of a run that matter; lower ranks have no effect.

        Citations of answers are limited when they are read, and used completely here.
        """
        if self.method.of_answers:
            return LARGEST
        depth = self.values["depth"]
        assert isinstance(depth, int), "every method has a depth"
        return depth if self.then is None else max(depth, self.then.reach)


def method(spec: Spec) -> BoundMethod:
    """The method of a spec; omitted or empty parameters take their defaults.

    A first stage has no budget of its own: the budget of a staged spec covers all its stages. Raises
    ValueError, a sentence on the allowed values, for an unknown name or parameter, or a value out
    of range.

    >>> method({"name": "staged", "depth": 5, "then": {"name": "hedge"}}).title
    'Depth 5, then Hedge'
    """
    methods = {**METHODS, **OF_ANSWERS}
    chosen = methods.get(str(spec.get("name")))
    if chosen is None:
        raise ValueError(f"unknown pooling method {spec.get('name')!r}: choose from {', '.join(methods)}")
    given = {name: value for name, value in spec.items() if name not in ("name", "then")}
    for name in given:
        if chosen.parameter(name) is None:
            taken = ", ".join(parameter.name for parameter in chosen.parameters)
            raise ValueError(f"{chosen.title} has no parameter {name!r}; it takes {taken}")
    values = {parameter.name: parameter.read(given.get(parameter.name)) for parameter in chosen.parameters}
    return BoundMethod(chosen, MappingProxyType(values), _stage(chosen, spec.get("then")))


def _stage(chosen: Method, then: object) -> BoundMethod | None:
    if not chosen.staged:
        if then is not None:
            raise ValueError(f"{chosen.title} has only one stage: leave out `then`, or choose staged")
        return None
    if not isinstance(then, Mapping):
        raise ValueError("a staged pool needs `then`, its second-stage method")
    after = method(then)
    if after.method.staged or after.method.of_answers or after.method.name in ("depth", "priority"):
        raise ValueError(
            f"{after.method.title} cannot be a second stage: choose a method that orders documents"
        )
    if after.budget is not None:
        raise ValueError("the budget of a staged pool covers both stages: give it next to `depth`")
    return after
