"""A part of a table, and the address of the next one."""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from flask import request
from msgspec import Meta

from leaderboard.errors import Invalid, Problem
from leaderboard.tables.record import Table
from leaderboard.web.api.operations import Reply

USUAL, MOST = 200, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of a table, with the keys and values of its CSV file."""

    rows: tuple[Mapping[str, str | int | float | bool | None], ...]
    """Each row as keys and plain values; null where a cell is empty."""
    total: int
    """Number of rows of the whole table."""
    next: str | None
    """The cursor of the next part, null at the end; the header `Link` has its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Page of a list: the number of rows, and the cursor of the answer before."""

    limit: Annotated[int, Meta(ge=1, le=MOST)] = USUAL
    cursor: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]*$")] = ""


def part(table: Table[Any], query: ListQuery, key: str) -> Reply:
    """The rows that the query asks for; key: the column by which a row is known again.

    Raises Invalid for a cursor that is not one of this list.
    """
    rows = table.facts()
    cut = cut_of([row[key] for row in rows], query.limit, query.cursor)
    answer = Rows(rows=tuple(rows[cut.start : cut.end]), total=len(rows), next=cut.next)
    return Reply(answer=answer, status=200, headers=cut.headers)


@dataclass(frozen=True, slots=True)
class Cut:
    """The part of a list that a request asks for: from where to where, and the cursor of the next one."""

    start: int
    end: int
    next: str | None

    @property
    def headers(self) -> dict[str, str]:
        """The address of the next part, in the header `Link`."""
        return {"Link": f'<{_address(self.next)}>; rel="next"'} if self.next else {}


def cut_of(keys: Sequence[Any], limit: int, cursor: str) -> Cut:
    """The part of a list whose rows are known again by these keys.

    A cursor names the last row that was read, so that rows that come or go meanwhile neither repeat nor
    hide others. Raises Invalid for a cursor that is not one of this list.
    """
    start = _start(keys, cursor) if cursor else 0
    end = min(start + limit, len(keys))
    return Cut(start, end, _cursor(end, keys[end - 1]) if start < end < len(keys) else None)


def _start(keys: Sequence[Any], cursor: str) -> int:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        end, last, of = json.loads(base64.urlsafe_b64decode(padded))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        of = None
    if of != _list() or type(end) is not int or end < 0:
        rule = "is not a valid cursor for this list."
        remedy = "Use `next` from a response to the same request, or leave it out."
        raise Invalid(f"The cursor {rule}", [Problem(rule, remedy, field="cursor")])
    start = next((place for place, key in enumerate(keys, 1) if key == last), None)
    # A row that went away meanwhile leaves its place, which is the best there is then.
    return end if start is None else start


def _cursor(end: int, last: Any) -> str:
    text = json.dumps([end, last, _list()], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _list() -> str:
    """Identity of a cursor: the path and its query, so that it is used for nothing else."""
    return hashlib.sha256(urlencode([("", request.path), *_asked()]).encode()).hexdigest()[:12]


def _asked() -> list[tuple[str, str]]:
    return sorted(
        (name, value) for name, value in request.args.items(multi=True) if name not in ("cursor", "limit")
    )


def _address(cursor: str) -> str:
    limit = [("limit", request.args["limit"])] if "limit" in request.args else []
    return f"{request.path}?{urlencode([*_asked(), *limit, ('cursor', cursor)])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureQuery(ListQuery):
    """By which measure; none for the primary one."""

    measure: str | None = None
    phase: str | None = None
