"""The forms of topics files, by their first bytes; `read.other_forms` has other files."""

import csv
import json
import re
from collections.abc import Mapping

from leaderboard.trec.read.forms import SAMPLED_BYTES
from leaderboard.trec.read.lines import BOM
from leaderboard.trec.topics.records import is_heading

SGML = "TREC SGML"
XML = "XML"
TABS = "tab-separated columns"
COMMAS = "comma-separated columns"
SEMICOLONS = "semicolon-separated columns"
BARS = "columns separated by |"
JSON_LINES = "JSON lines"
JSON = "JSON"
COLON = "an id, a colon and a title on each line"
BLANK = "an id, a blank and a title on each line"
IDS = "ids only"
LABELLED = "labelled lines"
EMPTY = "an empty file"

DELIMITERS = {TABS: "\t", COMMAS: ",", SEMICOLONS: ";", BARS: "|"}

TEXT = "plain text"
REFUSED: Mapping[str, tuple[str, str]] = {
    EMPTY: ("The file has no topics.", "Write TREC SGML, XML, JSON, or lines of an id, a tab and the title."),
    TEXT: (
        "The lines do not begin with topic ids, so this is plain text and not topics.",
        "Write an id, a tab and the title on each line.",
    ),
}
"""Form -> its message and the next step, for text without topics."""
GUESSED = frozenset({COLON, BLANK, IDS, TEXT})
"""Forms that text of any kind may have."""
_SEEN = 200
"""Lines from which the form of plain text is judged."""
_QUOTED_ID = re.compile(r'"?([^\s",;|]*\d[^\s",;|]*)"?\s*([,;|])')


def form(head: bytes) -> str:
    """The name of the form of a topics file, from its first bytes.

    >>> form(b"1\\tone\\n"), form(b'[{"qid": "1"}]'), form(b"1:one"), form(b"one")
    ('tab-separated columns', 'JSON', 'an id, a colon and a title on each line', 'ids only')
    """
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    start = text.lstrip()
    if not start:
        return EMPTY
    if start.startswith("<"):
        return SGML if re.search(r"<top(?:\s[^<>]*)?>", start, re.IGNORECASE) else XML
    if start.startswith("["):
        return JSON
    if start.startswith("{"):
        return _json(start)
    return _lines(text)


def _json(start: str) -> str:
    """JSON lines where the first line is an object and others follow, else one document."""
    first, _, rest = start.partition("\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        # Cut off in the middle of a long line, or an object over several lines.
        return JSON_LINES if "\n" not in start or not re.match(r"\{\s*$|\{.*[,\[{]\s*$", first) else JSON
    return JSON_LINES if rest.strip() else JSON


def _lines(text: str) -> str:
    whole = text if len(text) < SAMPLED_BYTES else text[: text.rfind("\n") + 1] or text
    lines = [line.strip("\r") for line in whole.split("\n") if line.strip()][:_SEEN]
    if "\t" in lines[0]:
        return TABS
    if re.match(r"(?:Topic|Query)\s*:\s*\S", lines[0]) and any(
        re.match(r"(?:Title|Query)\s*:", line) for line in lines[1:]
    ):
        return LABELLED
    return _separated(lines)


def _separated(lines: list[str]) -> str:
    for name, delimiter in DELIMITERS.items():
        if is_heading(_cells(lines[0], delimiter)):
            return name
    separators = [match[2] for line in lines if (match := _QUOTED_ID.match(line))]
    for name, delimiter in DELIMITERS.items():
        if separators.count(delimiter) >= 0.9 * len(lines):
            return name
    if _most(lines, re.compile(r"[^\s:]*\d[^\s:]*:\s*\S")):
        return COLON
    if all(len(line.split()) == 1 for line in lines):
        return IDS
    if _most(lines, re.compile(r"\S*\d\S*\s+\S")):
        return BLANK
    return TEXT


def _most(lines: list[str], pattern: re.Pattern[str]) -> bool:
    """Whether nine in ten lines begin like this."""
    return sum(pattern.match(line) is not None for line in lines) >= 0.9 * len(lines)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
