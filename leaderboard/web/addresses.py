"""Parsing of addresses: ids and suffixes in the path, and settings in parameters.

Board settings carried in links to the pages behind a board, and back.

These pages also read phase, measure and edition, so these keep their own parameters. Settings of the board
alone, such as its filter and selected runs, are packed into one parameter, `board`, and unpacked in links to
the board. Every link is built by `url_for`, which uses this module; forms use `carried_fields`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flask import Flask, current_app, g, request, url_for
from werkzeug.routing import AnyConverter, IntegerConverter, Map, UnicodeConverter, ValidationError

from leaderboard.web.session import CARRYING, OF_AN_EDITION, settings

BOARD = "boards.board"
PACKED = "board"
STATE = (*("at", "one", "group", "run", "reference"), *("q", "team", "kind", "tag", "field", "value", "pin"))
FLAGS = ("all", "ranges", "bounds", "own", "independent")
MANY = ("columns", "ticked", "topics")
"""Query parameters read by the board only: with one value, flags, and lists."""
LONGEST = 8000
"""Maximum length of a packed board state; the site never creates a longer one."""
READ_BY_ALL = ("phase", "measure", "edition")


def register_carried(app: Flask) -> None:
    """Provide carried settings to templates and forms; links use the application's `url_for`."""
    app.jinja_env.globals.update(carried_fields=carried_fields, as_now=as_now)


def carried_fields(endpoint: str, but: tuple[str, ...] | list[str] = ()) -> list[tuple[str, str]]:
    """Hidden fields that carry the same settings in a form as in a link."""
    given = {"slug": (request.view_args or {}).get("slug", ""), "run_id": None}
    fields = added(endpoint, given)
    return [
        (name, part)
        for name, value in fields.items()
        if name not in but
        for part in ([value] if isinstance(value, str) else value)
    ]


def as_now() -> str:
    """This page under the current edition."""
    chosen = {name: values for name, values in request.args.lists() if name != "edition"}
    return url_for(str(request.endpoint), **{**(request.view_args or {}), **chosen, "edition": None})


def is_usual(name: str) -> None:
    """Omit default settings from links, such as the primary measure."""
    _chosen().pop(name, None)


def added(endpoint: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings carried by a link to a page of the same task."""
    # A page of a large task has thousands of links, and most pages carry nothing.
    if (
        not (values.keys() & OF_A_TASK)
        or not request
        or not (chosen := _chosen())
        or not _stays_within(values)
    ):
        return {}
    if endpoint not in current_app.extensions[CARRYING]:
        is_file = endpoint.partition(".")[0] in current_app.extensions[OF_AN_EDITION]
        return {name: chosen[name] for name in ("phase", *["edition"] * is_file) if name in chosen}
    if endpoint != BOARD:
        return chosen
    if request.endpoint == BOARD:
        # Links between states of the board name all settings themselves.
        return {name: chosen[name] for name in ("phase",) if name in chosen}
    back = {
        **{name: chosen[name] for name in READ_BY_ALL if name in chosen},
        **_unpacked(chosen.get(PACKED, "")),
    }
    # A board shows an edition or a date: that of the link, otherwise the date shown before.
    back.pop("at" if "edition" in values else "edition" if {"at"} & {*values, *back} else "", None)
    return back


def _stays_within(values: Mapping[str, Any]) -> bool:
    """Whether a link stays in the task: its pages link to it and to its runs; the slug may be another's."""
    here = request.view_args or {}
    within = "run_id" in values or ("slug" in values and values["slug"] == here.get("slug", values["slug"]))
    return within and bool(here.keys() & OF_A_TASK)


def _chosen() -> dict[str, str]:
    """The settings in this address to carry, in the form used by other pages."""
    carried: dict[str, str] | None = g.get("carried")
    if carried is None:
        args = request.args
        carried = g.carried = {name: args[name] for name in READ_BY_ALL if args.get(name)}
        if request.endpoint == BOARD:
            packed = urlencode(
                [(name, value) for name, values in args.lists() if name in _OF_BOARD for value in values]
            )
        else:
            packed = args.get(PACKED, "")
        if packed:
            carried[PACKED] = packed
    return carried


OF_A_TASK = frozenset(("slug", "run_id"))
"""Address values that identify a task."""
_OF_BOARD = frozenset((*STATE, *FLAGS, *MANY))


def _unpacked(packed: str) -> dict[str, Any]:
    """The board state unpacked from one parameter."""
    state: dict[str, Any] = {}
    for name, value in parse_qsl(packed, keep_blank_values=True) if len(packed) <= LONGEST else ():
        if name in MANY:
            state.setdefault(name, []).append(value)
        elif name in _OF_BOARD:
            state[name] = value
    return state


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
