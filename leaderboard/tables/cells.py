"""A value of a table as people read it where there is no page: in LaTeX and Markdown."""

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

from leaderboard.tables.record import Column

DIGITS = 4
"""Decimals of a number whose column says nothing else."""
DAGGER, DOUBLE_DAGGER, DOT = "†", "‡", "●"
"""Marks behind a cell; others are small letters."""
_UNSEEN = "?"
"""Represents what no font can show."""


def cell_text(column: Column[Any], value: Any) -> str | None:
    """A value with the decimals of its column, four where it says nothing; None where it is absent.

    >>> column = Column(key="AP", value=len, digits=2)
    >>> [cell_text(column, value) for value in (0.256, 12, True, "a", None, float("nan"))]
    ['0.26', '12', 'yes', 'a', None, None]
    """
    if value is None or value == "" or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{DIGITS if column.digits is None else column.digits}f}"
    return str(value)


def seen(text: str) -> str:
    """The text with a question mark for each letter that no font can show."""
    return "".join(
        letter if letter == " " or unicodedata.category(letter)[0] not in "CZ" else _UNSEEN for letter in text
    )


def stands_right(column: Column[Any], values: Sequence[Any]) -> bool:
    """Whether a column is one of numbers, by its record or by all its values that are there."""
    present = [value for value in values if value is not None]
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
    return column.is_number or (bool(present) and are_numbers)
