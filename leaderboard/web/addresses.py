"""Parsing of addresses: ids and suffixes in the path, and settings in parameters."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, request, url_for
from werkzeug.routing import AnyConverter, IntegerConverter, Map, UnicodeConverter, ValidationError

from leaderboard.web.session import settings

MAX_ID = 2**63 - 1
DIGITS = 9
"""As many digits as a number in an address may have."""
_ESCAPED = re.compile(r"~(2F|2E|7E)")
_NO_STEP = re.compile(r"\.(?=(?:json|csv|tex|md)$)|^\.(?=\.?$)", re.IGNORECASE)
"""The dots of an id that would make it a relative step, or a file suffix."""


class IdConverter(IntegerConverter):
    """A database id in a path, `<id:run_id>`: 1 to 2**63 - 1; anything else is not found."""

    def __init__(self, map: Map) -> None:
        super().__init__(map, min=1, max=MAX_ID)

    def to_python(self, value: str) -> int:
        """The id; refuses before converting what has more digits than any id."""
        if len(value) > len(str(MAX_ID)):
            raise ValidationError
        number: int = super().to_python(value)
        return number


class FormConverter(AnyConverter):
    """The suffix of a path that requests a page as a file: `/tasks/<slug>.<form:form>`."""

    def __init__(self, map: Map) -> None:
        super().__init__(map, "json", "csv", "tex", "md")


class TopicConverter(UnicodeConverter):
    """The id of a topic in a path, `<topic:topic_id>`: any id, with ~2F for a slash and ~2E for some points.

    Servers decode %2F before a path is split at its slashes, so that would be two steps of it.
    """

    def to_python(self, value: str) -> str:
        """The id that an address represents."""
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)

    def to_url(self, value: str) -> str:
        """The step of an address for an id.

        >>> TopicConverter(Map()).to_url("a/b.json"), TopicConverter(Map()).to_python("a~2Fb~2Ejson")
        ('a~2Fb~2Ejson', 'a/b.json')
        """
        value = _ESCAPED.sub(r"~7E\1", value).replace("/", "~2F")
        return super().to_url(_NO_STEP.sub("~2E", value))


def register(app: Flask) -> None:
    """Let routes use `<id:...>`, `<form:...>` and `<topic:...>`."""
    app.url_map.converters["topic"] = TopicConverter
    app.url_map.converters["id"] = IdConverter
    app.url_map.converters["form"] = FormConverter


def kept(names: Iterable[str], *, flags: Iterable[str] = (), lists: Iterable[str] = ()) -> dict[str, Any]:
    """Query parameters of this address that links to other states of the page keep.

    names are parameters with one value, kept where it is not empty; flags count by being there; lists may
    come again and again.
    """
    given = request.args
    single = {name: given[name] for name in names if given.get(name)}
    flagged = {name: "" for name in flags if name in given}
    many = {name: values for name in lists if (values := [value for value in given.getlist(name) if value])}
    return {**single, **flagged, **many}


def addresses_by_id(endpoint: str, name: str) -> Callable[[int], str]:
    """A function from an id to its address on this page, which is built once for all ids.

    Building hundreds of them takes longer than the rest of a page. name: of the id among the endpoint's
    values.
    """
    values: dict[str, Any] = {name: 0}
    before, _, after = url_for(endpoint, **values).partition("/0")
    return lambda number: f"{before}/{number}{after}"


def absolute(endpoint: str, **values: Any) -> str:
    """The whole address of a page for a letter: by the settings, as a request's host may be made up."""
    here = settings().public_url.rstrip("/")
    return f"{here}{url_for(endpoint, **values)}" if here else url_for(endpoint, **values, _external=True)


def whole(text: str | None, *, digits: int = DIGITS) -> int | None:
    """A text as a whole number of at most `digits` digits; None for anything else.

    >>> whole("12"), whole("-1"), whole("1e3"), whole(None), whole("1234567890")
    (12, None, None, None, None)
    """
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= digits else None
