"""Plain values as JSON, and tables as CSV that no spreadsheet runs."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from leaderboard.tables.record import Table

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A text cell that starts like this would be run as a formula by a spreadsheet, the last four by some that
take full-width signs for plain ones."""


def finite(value: float) -> float | None:
    """A number as JSON can have it: None for one that is not finite, no zero with a sign."""
    return float(value) + 0.0 if isfinite(value) else None


def json_text(facts: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
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

    >>> [cell(value) for value in (None, -0.5, "=1+1", "plain", "'=1")]
    ['', -0.5, "'=1+1", 'plain', "''=1"]
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def text_of_cell(cell: str) -> str:
    """The text that `cell` made a cell of.

    >>> [text_of_cell(text) for text in ("'=1+1", "''=1", "plain", "'tis")]
    ['=1+1', "'=1", 'plain', "'tis"]
    """
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text, or that of a quoted one: so no two texts have one cell."""
    return text.lstrip("'").startswith(FORMULA)
