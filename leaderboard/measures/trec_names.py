"""trec_eval's names of measures, both ways."""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from leaderboard.measures.binding import BoundMeasure, bind
from leaderboard.measures.record import Measure, TrecName, Value, number_text
from leaderboard.measures.registry import MEASURES
from leaderboard.measures.trec_families import Family, family_of

_NUMBER = re.compile(r"-?(\d{1,9}(\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)


class Printed(NamedTuple):
    """A measure as trec_eval prints it: its family, its number within it, and the name."""

    family: Family
    number: float
    name: str


def from_trec_name(text: str) -> BoundMeasure | None:
    """The measure trec_eval calls by that name, or None.

    Raises UnknownMeasure where the name is trec_eval's and its number is out of range.

    >>> from_trec_name("ndcg_cut_10").key, from_trec_name("ndcg_1=3,2=9").key
    ('nDCG@10', 'nDCG(gains={1:3,2:9})')
    """
    text = _shortest(text)
    if text in _WHOLE:
        return _WHOLE[text]
    for measure in MEASURES:
        for name in measure.trec_names:
            given = _read(measure, name, text)
            if given is not None:
                return bind(measure, given)
    return None


_WHOLE = {
    name.text: bind(measure, dict(name.fixed))
    for measure in MEASURES
    for name in measure.trec_names
    if not name.parameter
}
"""Names without a parameter that is read from them; some of them look like those that have one."""


def trec_name(bound: BoundMeasure, level: int = 1) -> str | None:
    """The name trec_eval prints for the measure when it is called with that level, or None.

    >>> trec_name(from_trec_name("P_5"))
    'P_5'
    """
    in_trec_eval = printed(bound, level)
    return None if in_trec_eval is None else in_trec_eval.name


def printed(bound: BoundMeasure, level: int = 1) -> Printed | None:
    """The measure as trec_eval prints it when called with that level, or None where it does not.

    >>> printed(from_trec_name("iprec_at_recall_0.1")).name
    'iprec_at_recall_0.10'
    """
    if bound.params.get("rel", level) != level:
        return None
    apart = {
        parameter.name: bound.params[parameter.name]
        for parameter in bound.measure.parameters
        if parameter.name != "rel" and bound.params[parameter.name] != parameter.default
    }
    for name in bound.measure.trec_names:
        own = apart.get(name.parameter)
        others = {key: value for key, value in apart.items() if key != name.parameter}
        if (name.parameter in apart) != bool(name.parameter):
            continue
        number = float(own) if isinstance(own, int | float) else 0.0
        if others == dict(name.fixed):
            return Printed(family_of(name.text), number, _write(name, number))
        if not name.parameter and (listed := _write_listed(bound, name.text, others)):
            return Printed(family_of(name.text), number, f"{name.text}_{listed}")
    return None


def _read(measure: Measure, name: TrecName, text: str) -> dict[str, Value] | None:
    tail = text.removeprefix(f"{name.text}_")
    if tail == text:
        return None
    if not name.parameter:
        return _read_listed(measure, name.text, tail)
    if not _NUMBER.fullmatch(tail):
        return None
    value = _number(tail)
    if name.squared and value > 0:
        value = math.sqrt(value)
    return {**dict(name.fixed), name.parameter: value}


def _read_listed(measure: Measure, family: str, tail: str) -> dict[str, Value] | None:
    form = family_of(family).form
    if form == "numbers":
        return _read_numbers(measure, tail)
    return _read_pairs(measure, tail) if form == "pairs" else None


def _read_numbers(measure: Measure, tail: str) -> dict[str, Value] | None:
    """A number for each parameter that is one, in their order."""
    texts = tail.split(",")
    levels = next((each.name for each in measure.parameters if each.kind == "levels"), None)
    if levels is not None:
        return {levels: tuple(map(float, texts))} if all(map(_NUMBER.fullmatch, texts)) else None
    names = [parameter.name for parameter in measure.parameters if parameter.kind == "number"]
    if len(texts) != len(names) or not all(map(_NUMBER.fullmatch, texts)):
        return None
    return dict(zip(names, map(_number, texts), strict=True))


def _read_pairs(measure: Measure, tail: str) -> dict[str, Value] | None:
    """grade=gain and p=number, where the measure takes them; a number alone is p."""
    if _NUMBER.fullmatch(tail) and measure.parameter("p"):
        tail = f"p={tail}"
    gains: dict[int, float] = {}
    given: dict[str, Value] = {}
    for pair in tail.split(","):
        key, _, value = pair.partition("=")
        if not _NUMBER.fullmatch(value):
            return None
        if _INTEGER.fullmatch(key) and measure.parameter("gains") and int(key) not in gains:
            gains[int(key)] = float(value)
        elif key == "p" and measure.parameter("p"):
            given["p"] = float(value)
        else:
            return None
    return {**given, "gains": tuple(sorted(gains.items()))} if gains else given


def _shortest(text: str) -> str:
    """The name with every number of a list of them in its shortest form."""
    head, _, tail = text.rpartition("_")
    texts = tail.split(",")
    if len(texts) == 1 or not all(map(_NUMBER.fullmatch, texts)):
        return text
    return f"{head}_{','.join(number_text(_number(text)) for text in texts)}"


def _number(text: str) -> int | float:
    return int(text) if _INTEGER.fullmatch(text) else float(text)


def _write(name: TrecName, value: float) -> str:
    if not name.parameter:
        return name.text
    if name.squared:
        return f"{name.text}_{value * value:g}"
    if name.decimals is not None:
        return f"{name.text}_{value:.{name.decimals}f}"
    return f"{name.text}_{number_text(int(value) if value.is_integer() else value)}"


def _write_listed(bound: BoundMeasure, family: str, apart: Mapping[str, Value | None]) -> str:
    """Suffix after the name of a family that takes a list; empty if it has no notation for this."""
    form = family_of(family).form
    if form == "numbers" and isinstance(levels := apart.get("levels"), tuple) and len(apart) == 1:
        return ",".join(number_text(each) for each in levels if not isinstance(each, tuple))
    if form == "numbers" and all(isinstance(value, int | float) for value in apart.values()):
        values = (
            bound.params[parameter.name]
            for parameter in bound.measure.parameters
            if parameter.kind == "number"
        )
        return ",".join(number_text(value) for value in values if isinstance(value, int | float))
    if form != "pairs" or not apart.keys() <= {"gains", "p"}:
        return ""
    p, gains = apart.get("p"), apart.get("gains")
    pairs = [f"p={number_text(p)}"] if isinstance(p, int | float) else []
    if isinstance(gains, tuple):
        pairs += [f"{each[0]}={number_text(each[1])}" for each in gains if isinstance(each, tuple)]
    return ",".join(pairs)
