"""Plain values as JSON, and tables as CSV that no spreadsheet runs."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leaderboard.tables.record import Table

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A text cell that starts like this would be run as a formula by a spreadsheet."""


def json_text(facts: Mapping[str, Any]) -> str:
    """The facts as one line of JSON, numbers at full double precision."""
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def csv_text(table: Table[Any]) -> str:
    """A table as CSV, numbers at full double precision, None as an empty cell."""
    return csv_lines(*table.data())


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Header and rows as CSV, with every cell as `cell` has it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([cell(name) for name in header])
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


def cell(value: Any) -> Any:
    """A value as a CSV cell: None is empty, and text that a spreadsheet would run is quoted.

    >>> [cell(value) for value in (None, -0.5, "=1+1", "plain")]
    ['', -0.5, "'=1+1", 'plain']
    """
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return value
