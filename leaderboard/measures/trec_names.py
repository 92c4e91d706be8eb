"""trec_eval's names of measures, both ways."""

import math
import re

from leaderboard.measures.binding import BoundMeasure, bind
from leaderboard.measures.record import Measure, TrecName, Value, number_text
from leaderboard.measures.registry import MEASURES

_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def from_trec_name(text: str) -> BoundMeasure | None:
    """The measure trec_eval calls by that name, or None.

    Raises UnknownMeasure where the name is trec_eval's and its number is out of range.

    >>> from_trec_name("ndcg_cut_10").key
    'nDCG@10'
    """
    for measure in MEASURES:
        for name in measure.trec_names:
            given = _read(measure, name, text)
            if given is not None:
                return bind(measure, given)
    return None


def trec_name(bound: BoundMeasure, level: int = 1) -> str | None:
    """The name trec_eval prints for the measure when it is called with that level, or None.

    >>> trec_name(from_trec_name("P_5"))
    'P_5'
    """
    set_apart = {
        each.name: bound.params[each.name]
        for each in bound.measure.parameters
        if each.name != "rel" and bound.params[each.name] != each.default
    }
    if bound.params.get("rel", level) != level:
        return None
    for name in bound.measure.trec_names:
        others = {key: value for key, value in set_apart.items() if key != name.parameter}
        if (name.parameter in set_apart) == bool(name.parameter) and others == dict(name.fixed):
            return _write(bound, name)
    return None


def _read(measure: Measure, name: TrecName, text: str) -> dict[str, Value] | None:
    if not name.parameter:
        return dict(name.fixed) if text == name.text else None
    head, _, tail = text.rpartition("_")
    if head != name.text or not _NUMBER.fullmatch(tail):
        return None
    value = float(tail) if "." in tail else int(tail)
    return {**dict(name.fixed), name.parameter: math.sqrt(value) if name.squared else value}


def _write(bound: BoundMeasure, name: TrecName) -> str:
    value = bound.params.get(name.parameter)
    if not isinstance(value, int | float):
        return name.text
    value = value * value if name.squared else value
    if name.decimals is not None:
        return f"{name.text}_{value:.{name.decimals}f}"
    return f"{name.text}_{value:g}" if name.squared else f"{name.text}_{number_text(value)}"
