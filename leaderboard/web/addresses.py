"""What an address says: ids and endings in its path, and what its parameters choose."""

from collections.abc import Iterable
from typing import Any

from flask import Flask, request, url_for
from werkzeug.routing import AnyConverter, IntegerConverter, Map, ValidationError

from leaderboard.web.session import settings

MAX_ID = 2**63 - 1
DIGITS = 9
"""As many digits as a number in an address may have."""


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
    """The ending of a path that asks for a page as a file: `/tasks/<slug>.<form:form>`."""

    def __init__(self, map: Map) -> None:
        super().__init__(map, "json", "csv", "tex", "md")


def register(app: Flask) -> None:
    """Let routes use `<id:...>` and `<form:...>`."""
    app.url_map.converters["id"] = IdConverter
    app.url_map.converters["form"] = FormConverter


def kept(names: Iterable[str], *, flags: Iterable[str] = (), lists: Iterable[str] = ()) -> dict[str, Any]:
    """What of this address is to be kept in links to other states of the page.

    names are parameters with one value, kept where it is not empty; flags count by being there; lists may
    come again and again.
    """
    given = request.args
    one = {name: given[name] for name in names if given.get(name)}
    flagged = {name: "" for name in flags if name in given}
    many = {name: values for name in lists if (values := [value for value in given.getlist(name) if value])}
    return {**one, **flagged, **many}


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
