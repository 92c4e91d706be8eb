"""The form of a new pool: fields of the chosen method, and the plan that its fields say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from werkzeug.datastructures import MultiDict

from leaderboard.errors import Invalid, Problem
from leaderboard.pooling.methods import DEFAULT, METHODS, Method
from leaderboard.pooling.parameters import LARGEST, Parameter
from leaderboard.services import kinds
from leaderboard.services.pools.previews import OFFICIAL, SECONDS, Plan
from leaderboard.web.addresses import whole

STAGED = "staged"
THEN = "then"
Values = MultiDict[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter of a method in the form; its name in the address is `method.parameter`."""

    name: str
    label: str
    hint: str
    value: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MethodForm:
    """The chosen method, for a staged one that of the second stage too, and their fields."""

    method: Method
    then: Method | None
    fields: tuple[Field, ...]
    then_fields: tuple[Field, ...]
    seconds: tuple[Method, ...]
    """What may follow a first stage."""


def method_form(values: Values, task_kind: str) -> MethodForm:
    """The fields of the method that the values choose, the usual one where they choose none."""
    kind = kinds.of(task_kind)
    usual = kind.pool_methods[str(kind.usual_pool["name"])]
    chosen = kind.pool_methods.get(values.get("method", ""), usual)
    after = tuple(method for method in METHODS.values() if method.name not in (STAGED, "depth", "priority"))
    then = next((method for method in after if method.name == values.get(THEN)), METHODS["rrf"])
    return MethodForm(
        method=chosen,
        then=then if chosen.staged else None,
        fields=_fields(chosen, values),
        then_fields=_fields(then, values, without="budget") if chosen.staged else (),
        seconds=after,
    )


def plan(values: Values, task_kind: str) -> Plan:
    """The plan that the values say; raises Invalid naming the field that cannot be read."""
    return Plan(
        spec=_spec(values, task_kind),
        runs=values.get("runs", OFFICIAL),
        chosen=tuple(_whole("run", text) for text in values.getlist("run") if text),
        primary_first=values.get("primary") == "first",
        cap=_whole("cap", values["cap"]) if values.get("cap") else None,
        reuse=values.get("reuse", "yes") != "no",
        seed=_whole("seed", values.get("seed") or "1"),
        seconds=_whole("seconds", values.get("seconds") or str(SECONDS)),
        overlap=_share(values.get("overlap") or "0"),
    )


def state(values: Values, task_kind: str) -> dict[str, list[str]]:
    """The values that say a plan, to be kept in links and hidden fields."""
    names = {"method", THEN, "runs", "run", "primary", "cap", "reuse", "seed", "seconds", "overlap"}
    form = method_form(values, task_kind)
    names |= {field.name for field in (*form.fields, *form.then_fields)}
    return {name: [text for text in values.getlist(name) if text] for name in values if name in names}


def _spec(values: Values, task_kind: str) -> dict[str, Any]:
    if "method" not in values:
        return dict(kinds.of(task_kind).usual_pool)
    offered = kinds.of(task_kind).pool_methods
    if values["method"] not in offered:
        problem = Problem("is not a pooling method here.", field="method", value=values["method"][:40])
        raise Invalid(f"Choose one of {', '.join(offered)}.", [problem])
    form = method_form(values, task_kind)
    spec: dict[str, Any] = {"name": form.method.name, **_given(form.method, form.fields)}
    if form.then is not None:
        spec[THEN] = {"name": form.then.name, **_given(form.then, form.then_fields)}
    return spec


def _given(method: Method, fields: Sequence[Field]) -> Mapping[str, str]:
    return {field.name.removeprefix(f"{method.name}."): field.value for field in fields if field.value}


def _fields(method: Method, values: Values, without: str = "") -> tuple[Field, ...]:
    return tuple(
        Field(
            name=f"{method.name}.{parameter.name}",
            label=parameter.title.capitalize(),
            hint=f"{parameter.text.capitalize()}: {_rule(parameter)}.",
            value=values.get(f"{method.name}.{parameter.name}", _default(method, parameter)),
            choices=parameter.choices,
        )
        for parameter in method.parameters
        if parameter.name != without
    )


def _rule(parameter: Parameter) -> str:
    """What a field may hold; an upper end that is out of reach is left out."""
    if parameter.kind in ("integer", "number") and parameter.high >= LARGEST:
        return f"a {'whole ' if parameter.kind == 'integer' else ''}number from {parameter.low:g} up"
    return parameter.rule


def _default(method: Method, parameter: Parameter) -> str:
    """What a field holds at first: a budget, though methods do without, as judging is what costs."""
    if method.name == DEFAULT["name"] or parameter.name == "budget":
        return str(DEFAULT.get(parameter.name, ""))
    value = parameter.default
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(":".join(f"{part:g}" for part in pair) for pair in value if isinstance(pair, tuple))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _whole(name: str, text: str) -> int:
    number = whole(text, digits=10)
    if number is None:
        problem = Problem("must be a whole number.", "Write digits only.", field=name, value=text[:40])
        raise Invalid(f"{name.capitalize()} must be a whole number.", [problem])
    return number


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        problem = Problem("must be a number from 0 to 1.", field="overlap", value=text[:40])
        raise Invalid("The overlap must be a number from 0 to 1.", [problem]) from None
