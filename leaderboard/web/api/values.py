"""Parameters and bodies of requests as frozen dataclasses, and answers as JSON, by msgspec."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from flask import request
from werkzeug.exceptions import UnsupportedMediaType

from leaderboard.errors import Invalid, Problem
from leaderboard.web.addresses import MAX_ID
from leaderboard.web.http import is_storable
from leaderboard.web.session import incoming_folder

JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
PLACE = re.compile(r" - at `\$\.?(?P<field>[^`]*)`$")
PIECE = 2**20
WHOLE = 2**53
"""Up to which every whole number is a double."""


def _number(text: str) -> int | float:
    """A number with a point: 3.0 is the integer 3, as JSON Schema has it."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) <= WHOLE else value


DECODER = msgspec.json.Decoder(float_hook=_number)


def encoded(answer: Any, kind: type) -> bytes:
    """An answer as JSON: numbers at full double precision, moments in UTC as ISO 8601.

    Of what a page or a service gave, the attributes that the dataclass `kind` names are answered.
    """
    if is_dataclass(kind):
        answer = msgspec.convert(answer, kind, from_attributes=True)
    return msgspec.json.encode(answer, order="deterministic") + b"\n"


def given(query: type | None, body: type | None, *, takes_file: bool) -> dict[str, Any]:
    """Values of a request, read as its operation declares; raises Invalid for undeclared ones."""
    arguments: dict[str, Any] = {}
    asked = _read_query(query)
    if query is not None:
        arguments["query"] = asked
    if takes_file:
        arguments["file"] = _read_file()
    elif body is not None:
        arguments["body"] = _read_json(body)
    return arguments


def _read_query(record: type | None) -> Any:
    kinds = get_type_hints(record) if record is not None else {}
    asked = _with_team_id(dict(request.args.lists()), kinds)
    _refuse_unknown(asked, kinds, "parameter")
    for name, kind in kinds.items():
        texts = asked.get(name, [])
        if len(texts) > 1 and get_origin(kind) is not tuple:
            raise _unreadable(name, "is given more than once.", "Give it once.")
        # The converter would take the word for null, which no parameter is.
        if "null" in map(str.lower, texts) and NoneType in get_args(kind) and str not in get_args(kind):
            raise _unreadable(name, "must not be null.", "Leave it out.")
    if record is None:
        return None
    values = {
        name: asked[name] if get_origin(kinds[name]) is tuple else asked[name][0]
        for name in kinds
        if name in asked
    }
    return _converted(values, record, strict=False)


def from_texts(texts: Mapping[str, str], record: type, what: str) -> Any:
    """Texts by name as the dataclass `record`; raises Invalid for a name it has not, called a `what`."""
    values = _with_team_id(texts, get_type_hints(record))
    _refuse_unknown(values, get_type_hints(record), what)
    return _converted(values, record, strict=False)


def _with_team_id(values: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The values; until 2.0 `team` is accepted for `team_id`, its earlier name."""
    is_old = "team" in values and "team" not in kinds and "team_id" in kinds and "team_id" not in values
    return {"team_id" if is_old and name == "team" else name: value for name, value in values.items()}


def _unreadable(name: str, rule: str, remedy: str) -> Invalid:
    return Invalid(f"The parameter {name} {rule}", [Problem(rule, remedy, field=name)])


def _read_json(record: type) -> Any:
    if request.mimetype != JSON:
        raise UnsupportedMediaType
    try:
        values = DECODER.decode(request.get_data())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Invalid(
            "The body is not valid JSON.", [Problem(f"is not valid JSON: {reason}.", field="body")]
        ) from None
    if not isinstance(values, dict):
        raise Invalid(
            "The body must be one JSON object.", [Problem("must be one JSON object.", field="body")]
        )
    if not all(map(is_storable, _texts(values))):
        raise Invalid("The body contains characters that cannot be stored, such as NUL. Remove them.")
    values = _with_team_id(values, get_type_hints(record))
    _refuse_unknown_parts(values, record)
    return _converted(values, record, strict=True)


def _refuse_unknown_parts(value: Any, kind: Any) -> None:
    """Raise Invalid for a field that a body, or an object in it, does not have."""
    if isinstance(value, dict) and is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        _refuse_unknown(value, hints, "field")
        for name, inner in value.items():
            _refuse_unknown_parts(inner, hints[name])
        return
    is_mapping = isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping)
    if isinstance(value, dict) and is_mapping:
        value = list(value.values())
    for inner in value if isinstance(value, list) else (value,):
        for part in get_args(kind):
            _refuse_unknown_parts(inner, part)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a decoded body; it is no deeper than its decoder took."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value


def _read_file() -> Path:
    """The body as it came, in a file that goes with the request."""
    if request.mimetype in FORMS:
        raise UnsupportedMediaType
    path = incoming_folder() / "body"
    with path.open("wb") as file:
        while piece := request.stream.read(PIECE):
            file.write(piece)
    if path.stat().st_size == 0:
        raise Invalid(
            "The body is empty.", [Problem("is empty.", "Send the bytes of the file.", field="body")]
        )
    return path


def _refuse_unknown(names: Iterable[str], allowed: Mapping[str, Any], what: str) -> None:
    for name in names:
        if name not in allowed:
            near = get_close_matches(name, allowed, 1)
            takes = (
                f"This operation has the {what}s {', '.join(allowed)}."
                if allowed
                else f"This operation has no {what}s."
            )
            remedy = f"Did you mean {near[0]}?" if near else takes
            raise Invalid(
                f"Unknown {what} {name[:64]!r}. {remedy}",
                [Problem(f"is not a {what} of this operation.", remedy, field=name[:64])],
                did_you_mean=near[0] if near else None,
            )


def _stored(read: Any) -> Any:
    """The dataclass; raises Invalid for a number that no column of the database can hold."""
    waiting = [(field.name, getattr(read, field.name)) for field in fields(read)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, int) and abs(value) > MAX_ID:
            rule = f"must be from -{MAX_ID} to {MAX_ID}."
            raise Invalid(f"{name} {rule}", [Problem(rule, field=name, value=str(value)[:40])])
        if isinstance(value, Mapping):
            waiting += [(name, part) for part in value.values()]
        elif isinstance(value, tuple | list):
            waiting += [(name, part) for part in value]
        elif is_dataclass(value):
            waiting += [(field.name, getattr(value, field.name)) for field in fields(value)]
    return read


def _converted(values: dict[str, Any], record: type, *, strict: bool) -> Any:
    try:
        return _stored(msgspec.convert(values, record, strict=strict))
    except msgspec.ValidationError as error:
        text = str(error)
        place = PLACE.search(text)
        rule = text[: place.start()] if place else text
        needed = [
            field.name for field in fields(record) if field.default is MISSING and field.name not in values
        ]
        field = place["field"] if place else (needed[0] if needed else "")
        raise Invalid(
            f"{field or 'The request'} is not valid: {rule}.",
            [Problem(f"{rule}.", "See the reference at /api.", field=field)],
        ) from None
