"""Names of measures: `Name(key=value,...)@cutoff`, the grammar of ir_measures, and trec_eval's names.

>>> parse("nDCG@10").key, parse("P(rel=2)@5").key, parse("MAP").key, parse("recall_1000").key
('nDCG@10', 'P(rel=2)@5', 'AP', 'R@1000')
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.binding import BoundMeasure, bind, out_of_range, parameter_of, with_level
from leaderboard.measures.record import Measure, Value
from leaderboard.measures.registry import MEASURES, NAMES, OF_PARAMETER
from leaderboard.measures.trec_families import FAMILIES
from leaderboard.measures.trec_names import from_trec_name

__all__ = ["BoundMeasure", "parse", "with_level"]

_WHOLE = re.compile(r"(?P<name>\w+)(?:\((?P<inner>[^()]*)\))?(?:@(?P<at>[^()@]*))?", re.ASCII)
_PAIR = re.compile(r"\s*(?P<key>\w+)\s*=\s*(?P<value>[^=]*?)\s*", re.ASCII)
_COMMA = re.compile(r",(?![^{]*\})")
"""A comma that is not between braces."""
_AT = re.compile(r"([A-Za-z_]+)_at_(\d{1,9})", re.ASCII)
SPELLED = {"ndcg_burges": "nDCG(dcg='exp-log2')", "dcg_burges": "DCG(dcg='exp-log2')"}
"""ranx's names of a measure with a parameter."""
_GAIN = re.compile(r"\s*(?P<grade>-?\d{1,9})\s*:\s*(?P<gain>[^:\s]+)\s*", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII)


# A page names each of its measures many times; the bound is for names that strangers think of.
@lru_cache(1024)
def parse(text: str) -> BoundMeasure:
    """The measure with a name; `parse(text).key` is its canonical name.

    Names are case-sensitive. Raises UnknownMeasure, with the nearest known name where there is
    one, or with the allowed range of the parameter that is out of it.
    """
    text = _spelled_here(text.strip())
    bound_measure = from_trec_name(text)
    if bound_measure is not None:
        return bound_measure
    return parse_among(
        text,
        NAMES,
        (*_trec_examples(), *NAMES, *(measure.name for measure in MEASURES)),
        "nDCG@10, P(rel=2)@5 or ndcg_cut_10",
        OF_PARAMETER,
    )


def _spelled_here(text: str) -> str:
    """The text with ranx's and MTEB's forms of names replaced: `_at_10`, and names that set a parameter.

    >>> _spelled_here("recall_cap_at_10"), _spelled_here("ndcg_burges@10")
    ('recall_cap@10', "nDCG(dcg='exp-log2')@10")
    """
    text = _AT.sub(r"\1@\2", text)
    name, at, cutoff = text.partition("@")
    return SPELLED.get(name, name) + at + cutoff


def parse_among(
    text: str,
    names: Mapping[str, Measure],
    proposals: Iterable[str],
    such: str,
    of_parameter: Mapping[tuple[str, str], Measure] | None = None,
) -> BoundMeasure:
    """The measure with a name among these; raises UnknownMeasure as `parse` does.

    proposals: names that messages may propose; such: examples of how one is written; of_parameter: measures
    that a name with a parameter is.
    """
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise UnknownMeasure(f"{_quoted(text)} is not a measure's name: write it like {such}.")
    measure = names.get(match["name"])
    if measure is None:
        nearest = _nearest(text, match["name"], proposals, names)
        raise UnknownMeasure(f"There is no measure {_quoted(text)}{nearest}")
    inner = match["inner"] or ""
    pairs = [_pair(measure, part) for part in _COMMA.split(inner)] if inner.strip() else []
    for key, _ in pairs:
        measure = (of_parameter or {}).get((measure.name, key), measure)
    return bind(measure, _given(measure, pairs, match["at"]))


def _given(measure: Measure, pairs: list[tuple[str, str]], at: str | None) -> dict[str, Value]:
    if at is not None:
        pairs = [*pairs, (_at_name(measure), at.strip())]
    given: dict[str, Value] = {}
    for key, value in pairs:
        if key in given:
            raise UnknownMeasure(f"{measure.name} is given {key} twice; give it once.")
        given[key] = _value(measure, key, value)
    return given


def _pair(measure: Measure, text: str) -> tuple[str, str]:
    match = _PAIR.fullmatch(text)
    if match is None:
        raise UnknownMeasure(f"{_quoted(text)} in {measure.name}(...) must read key=value, such as rel=2.")
    return match["key"], match["value"]


def _at_name(measure: Measure) -> str:
    for parameter in measure.parameters:
        if parameter.at:
            return parameter.name
    raise UnknownMeasure(f"{measure.name} takes no cut-off; write it without @.")


def _value(measure: Measure, key: str, text: str) -> Value:
    parameter = parameter_of(measure, key)
    value = _READERS[parameter.kind](text)
    if value is None:
        raise out_of_range(measure, parameter, _quoted(text))
    return value


def _gains(text: str) -> Value | None:
    """{grade:gain,...} as pairs ascending by grade, None for anything else."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    pairs: dict[int, float] = {}
    for part in text[1:-1].split(","):
        match = _GAIN.fullmatch(part)
        if match is None or not _NUMBER.fullmatch(match["gain"]) or int(match["grade"]) in pairs:
            return None
        pairs[int(match["grade"])] = float(match["gain"])
    return tuple(sorted(pairs.items()))


def _levels(text: str) -> Value | None:
    """{level,...} as numbers, None for anything else."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    texts = [each.strip() for each in text[1:-1].split(",")]
    return tuple(map(float, texts)) if all(map(_NUMBER.fullmatch, texts)) else None


_READERS: dict[str, Callable[[str], Value | None]] = {
    "integer": lambda text: int(text) if _INTEGER.fullmatch(text) else None,
    "number": lambda text: float(text) if _NUMBER.fullmatch(text) else None,
    "boolean": lambda text: {"True": True, "False": False}.get(text),
    "choice": lambda text: text.strip("'\""),
    "gains": _gains,
    "levels": _levels,
}


def _nearest(text: str, name: str, proposals: Iterable[str], names: Mapping[str, Measure]) -> str:
    from difflib import get_close_matches

    spellings = {spelling.lower(): spelling for spelling in proposals}
    close = get_close_matches(name.lower(), spellings, n=1)
    if not close:
        return "; the list of measures shows those there are."
    nearest = spellings[close[0]]
    return f"; did you mean {nearest}{text[len(name) :] if nearest in names else ''}?"


def _trec_examples() -> list[str]:
    return [f"{family.name}_{family.defaults[0]}" if family.defaults else family.name for family in FAMILIES]


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
