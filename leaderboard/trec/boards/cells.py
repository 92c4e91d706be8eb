"""The lines of a board file as cells, whether they are columns or JSON objects."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.boards.orders import ORDERS, Line, heading, holds
from leaderboard.trec.read.lines import Limits, numbered_lines, shown

_WIDTHS = {len(columns) for columns in ORDERS.values()}
_REMEDY = 'Write {"run_id": ..., "topic_id": ..., "measure": ..., "value": ...}.'


@dataclass(frozen=True, slots=True)
class Cells:
    """The lines of a file but blank ones, comments and the heading.

    head: what the columns hold by the heading, () without one; of JSON lines the cells stand in the order
    `jsonl`.
    """

    lines: list[Line]
    head: tuple[str, ...]
    is_json: bool


def cells_of(path: Path, limits: Limits) -> Cells:
    """The cells of a board file; raises Invalid where a line of JSON is not an object with all four keys."""
    head: tuple[str, ...] = ()
    is_json, lines = False, list[Line]()
    for number, text in _filled(path, limits):
        if not lines:
            is_json = text.startswith("{")
            if not head and (head := heading(_parted(text))):
                continue
        lines.append(Line(number, _of_json(number, text) if is_json else _parted(text)))
    return Cells(lines, head, is_json)


def _filled(path: Path, limits: Limits) -> Iterator[tuple[int, str]]:
    for number, line in numbered_lines(path, limits):
        if (text := line.strip()) and not text.startswith("#"):
            yield number, text


def _parted(text: str) -> tuple[str, ...]:
    """The columns: between tabs where that makes as many as some order has, else between blanks."""
    by_tabs = [cell.strip() for cell in text.split("\t")]
    return tuple(by_tabs if len(by_tabs) in _WIDTHS and all(by_tabs) else text.split())


def _of_json(number: int, text: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _refused(Problem("The line is not a JSON object.", _REMEDY, number, "", shown(text)))
    by_column = {holds(str(key)): value for key, value in found.items()}
    missing = [column for column in ORDERS["jsonl"] if column not in by_column]
    if missing:
        raise _refused(Problem(f"The object has no {missing[0]}.", _REMEDY, number, "", shown(text)))
    return tuple(_plain(by_column[column]) for column in ORDERS["jsonl"])


def _plain(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _refused(problem: Problem) -> Invalid:
    return Invalid(f"The board file cannot be read: {problem}", [problem])
