"""Objects of JSON lines: typed access to their keys, with problems for wrong values."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from leaderboard.errors import Problem
from leaderboard.trec.read.archives import DEFAULT_LIMITS, Source
from leaderboard.trec.read.lines import Problems, numbered_lines, shown

ONE_OBJECT = "Write one JSON object per line."
LONG_LINES = replace(DEFAULT_LIMITS, line_bytes=4_000_000)
"""For lines that may also hold the documents of a whole answer."""
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_KINDS = ((bool, "true or false"), (str, "text"), (int, "a whole number"), (float, "a number with a point"))


@dataclass(eq=False)
class Fault(Exception):
    """A problem of one object; the reader of the file adds the line unless the fault has it."""

    rule: str
    remedy: str = ""
    field: str = ""
    value: str = ""
    line: int | None = None

    def problem(self, line: int | None) -> Problem:
        """The fault as a problem of that line; None where the line is not known."""
        return Problem(self.rule, self.remedy, self.line or line, self.field, self.value)


def not_json(error: Exception, text: str = "", start: int = 0) -> Fault:
    """The fault of invalid JSON, with its line and text.

    Of text over several lines start is where the value begins; without text the reader knows the line.
    """
    message = getattr(error, "msg", "it is nested too deeply or contains too large a number")
    at = getattr(error, "pos", start)
    line = text.count("\n", 0, at) + 1 if text else None
    rule = f"The line is not valid JSON: {message}."
    return Fault(rule, "Fix it there.", "", shown(text[max(0, at - 20) : at + 20]), line)


def object_of(line: str) -> dict[str, Any]:
    """The JSON object on a line; raises Fault if it is not one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise replace(not_json(error), remedy=ONE_OBJECT, value=shown(line)) from error
    if not isinstance(record, dict):
        raise Fault("The line is JSON but not an object.", ONE_OBJECT, "", shown(line))
    return record


def objects(path: Source, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object of a file with its line's number; blank lines are skipped, faults become problems."""
    for number, line in numbered_lines(path, LONG_LINES):
        if not line.strip():
            continue
        try:
            yield number, object_of(line)
        except Fault as fault:
            problems.add(fault.problem(number))


def read_each(path: Source, problems: Problems, take: Callable[[int, dict[str, Any]], None]) -> None:
    """Have every object of a file taken; each Fault becomes a problem. Raises Invalid at the end."""
    for number, record in objects(path, problems):
        try:
            take(number, record)
        except Fault as fault:
            problems.add(fault.problem(number))
    problems.stop()


def kind_of(value: object) -> str:
    """The type of a value, as text for a message.

    >>> kind_of("7"), kind_of(True), kind_of(1.0), kind_of([]), kind_of(None)
    ('text', 'true or false', 'a number with a point', 'a list', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return next(name for kind, name in _KINDS if isinstance(value, kind))


def required(record: dict[str, Any], key: str, within: str = "") -> Any:
    """The value of the key; raises Fault where the key is missing."""
    if key not in record:
        raise Fault(f"The key {within}{key} is missing.", "Add it to the line.", "key", f"{within}{key}")
    return record[key]


def text_in(record: dict[str, Any], key: str, within: str = "") -> str:
    """The text under the key, which is there and can be stored; raises Fault."""
    return text_value(required(record, key, within), f"{within}{key}")


def list_in(record: dict[str, Any], key: str, within: str = "") -> list[Any]:
    """The list under the key, which is there; raises Fault."""
    value = required(record, key, within)
    if not isinstance(value, list):
        raise wrong_kind(f"{within}{key}", "a list", value)
    return value


def object_in(record: dict[str, Any], key: str, within: str = "") -> dict[str, Any]:
    """The object under the key, which is there; raises Fault."""
    return object_value(required(record, key, within), f"{within}{key}")


def objects_in(record: dict[str, Any], key: str, within: str = "") -> Iterator[dict[str, Any]]:
    """Each object of the list under the key, which is there; raises Fault."""
    return (object_value(value, f"each of {within}{key}") for value in list_in(record, key, within))


def object_value(value: object, name: str) -> dict[str, Any]:
    """A value that is an object; raises Fault."""
    if not isinstance(value, dict):
        raise wrong_kind(name, "an object", value)
    return value


def text_value(value: object, name: str) -> str:
    """A value that is text and can be stored; raises Fault."""
    if not isinstance(value, str):
        raise wrong_kind(name, "text", value)
    if _UNSTORABLE.search(value):
        raise Fault(f"{name} contains NUL or half a surrogate pair.", "Remove it.", name, shown(value))
    return value


def id_value(value: object, name: str) -> str:
    """A value that names something, as text: whole numbers are read as written; raises Fault."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise wrong_kind(name, "text or a whole number", value)
    if not value.strip() or _CONTROL.search(value):
        rule = f"{name} is empty or contains control characters."
        raise Fault(rule, "Name it in plain text.", name, shown(value))
    return value


def number_value(value: object, name: str) -> float:
    """A finite number; raises Fault."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_kind(name, "a number", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Fault(f"{name} is not a finite number.", "Write a decimal number.", name, shown(str(value)))
    return number


def place_value(value: object, name: str) -> int:
    """A whole number from 0 up; raises Fault."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_kind(name, "a whole number", value)
    if value < 0:
        raise Fault(f"{name} is negative.", "Count from 0.", name, str(value)[:20])
    return value


def wrong_kind(name: str, asked: str, value: object) -> Fault:
    """The fault of a value of the wrong type; asked is the expected one, such as `a list`."""
    text = value if isinstance(value, str) else json.dumps(value)
    return Fault(f"{name} must be {asked}, not {kind_of(value)}.", f"Write {asked} there.", name, shown(text))
