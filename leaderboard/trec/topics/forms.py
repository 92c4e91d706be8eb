"""What a file sent as topics is, by its first bytes."""

import csv
import json
import re
from collections.abc import Mapping

from leaderboard.trec.read.forms import ROLES
from leaderboard.trec.read.lines import BOM
from leaderboard.trec.read.other_forms import OTHERS
from leaderboard.trec.topics.records import is_heading, squeezed

HEAD_BYTES = 2**16

SGML = "TREC SGML"
XML = "XML"
TABS = "tab-separated columns"
COMMAS = "comma-separated columns"
SEMICOLONS = "semicolon-separated columns"
BARS = "columns separated by |"
JSON_LINES = "JSON lines"
JSON = "JSON"
COLON = "an id, a colon and a title a line"
BLANK = "an id, a blank and a title a line"
IDS = "ids only"
LABELLED = "labelled lines"
EMPTY = "an empty file"

DELIMITERS = {TABS: "\t", COMMAS: ",", SEMICOLONS: ";", BARS: "|"}

TEXT = "plain text"
_NEVER_TOPICS = {
    one.name: one.pattern
    for one in OTHERS
    if one.name in ("a picture", "a binary data file", "a file of MTEB results: scores, no rankings")
}
REFUSED: Mapping[str, tuple[str, str]] = {
    EMPTY: ("The file has no topics.", "Write TREC SGML, XML, JSON, or an id, a tab and the title a line."),
    "qrels": ("This is a qrels file, not topics.", "Put it under Judgments."),
    "a run": ("This is a run, not topics.", "Send it as a run once the task is published."),
    "LETOR": ("These are LETOR judgments with features, not topics.", "Put them under Judgments."),
    "HTML": (
        "This is an HTML page, not topics; a download that needs a licence or a sign-in often ends in one.",
        "Open the address in a browser and download the file itself.",
    ),
    "a Git LFS pointer": (
        "This is a Git LFS pointer: the topics themselves are in the repository's large file storage.",
        "Run git lfs pull in the repository and send the file again.",
    ),
    "Parquet": (
        "This is a Parquet file.",
        "Write it as JSON lines (pandas.read_parquet(...).to_json(..., orient='records', lines=True)).",
    ),
    "a spreadsheet": ("This is a spreadsheet.", "Save the sheet as CSV and send that."),
    "PDF": ("This is a PDF.", "Send the topics as text: an id, a tab and the title a line."),
    "YAML": ("This is YAML.", "Write the same as JSON, or an id, a tab and the title a line."),
    TEXT: (
        "The lines do not begin with topic ids, so this is plain text and not topics.",
        "Write an id, a tab and the title on each line.",
    ),
    **{
        name: (
            f"This is {name}; it has no topics.",
            "Send the topics as text: an id, a tab and the title a line.",
        )
        for name in _NEVER_TOPICS
    },
}
"""Form -> what to say of it and the step that leads on, for forms that hold no topics or cannot be read."""

_MAGIC = (
    (b"PAR1", "Parquet"),
    (b"%PDF-", "PDF"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet"),
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer"),
)
_SHEET = re.compile(rb"\[Content_Types\]\.xml|xl/|mimetypeapplication/vnd\.oasis", re.DOTALL)
_QRELS = re.compile(
    r"\S+\s+(?:[\d.]+|Q0)\s+\S+\s+(?:[+-]?\d+|L\d)|[^\s]+\t[^\s]+\t(?:[+-]?\d+|L\d)", re.IGNORECASE
)
"""Topic, iteration, docno and grade; or without the iteration, separated by tabs."""
_JUDGED = re.compile(
    r"\S+\s+(?:0|Q0)\s+\S+\s+\S+|\S+\s+\S+\s+-?\d\s+\d\s+[\d.]+|\S+\s+0\s+\S+\s+-?\d+\s+[\d.]+", re.IGNORECASE
)
"""Judgments whose grades are words or fractions, NIST's prels, and judgments with a probability."""
_DOCUMENTS = frozenset(ROLES["docno"])
_RANKS = frozenset((*ROLES["rank"], *ROLES["tag"], "sim"))
_RUN = re.compile(r"\S+\s+Q0\s+\S+\s+\S+\s+\S+\s+\S+|\S+\t\S+\t\d+\t[+-]?\d*\.\d+", re.IGNORECASE)
_LETOR = re.compile(r"[+-]?\d+(?:\.\d+)?\s+qid:\S+(?:\s+\d+:\S+)*(?:\s*#.*)?")
_YAML = re.compile(r"---\s*$|%YAML|-\s+[\w-]+:(?:\s|$)|[A-Za-z_][\w-]*:\s*(?:\n\s*-|\n\s+\S)")
_SEEN = 200
"""Lines from which the form of plain text is judged."""
_QUOTED_ID = re.compile(r'"?([^\s",;|]*\d[^\s",;|]*)"?\s*([,;|])')


def form(head: bytes) -> str:
    """The name of the form of a topics file, from its first bytes.

    >>> form(b"1\\tone\\n"), form(b'[{"qid": "1"}]'), form(b"1:one"), form(b"PAR1")
    ('tab-separated columns', 'JSON', 'an id, a colon and a title a line', 'Parquet')
    """
    magic = next((name for start, name in _MAGIC if head.startswith(start)), "")
    magic = magic or next((name for name, known in _NEVER_TOPICS.items() if known.search(head)), "")
    if magic:
        return magic
    if head.startswith(b"PK") and _SHEET.search(head):
        return "a spreadsheet"
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    start = text.lstrip()
    if not start:
        return EMPTY
    if start.startswith("<"):
        return _markup(start)
    if start.startswith("["):
        return JSON
    if start.startswith("{"):
        return _json(start)
    return _lines(text)


def _markup(start: str) -> str:
    if re.match(r"(?:<!--.*?-->\s*)*<(?:!DOCTYPE\s+)?html\b", start, re.IGNORECASE | re.DOTALL):
        return "HTML"
    if re.search(r"<item\s[^<>]*\bshotId\s*=", start):
        return "a run"
    return SGML if re.search(r"<top(?:\s[^<>]*)?>", start, re.IGNORECASE) else XML


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
    whole = text if len(text) < HEAD_BYTES else text[: text.rfind("\n") + 1] or text
    if _YAML.match(whole.lstrip()):
        return "YAML"
    lines = [line.strip("\r") for line in whole.split("\n") if line.strip()][:_SEEN]
    headings = {squeezed(name) for name in re.split(r"[\s,;]+", lines[0])}
    if headings & _DOCUMENTS and any(is_heading([name, "text"]) for name in headings):
        return "a run" if headings & _RANKS else "qrels"
    for known, pattern in (("a run", _RUN), ("qrels", _QRELS), ("qrels", _JUDGED), ("LETOR", _LETOR)):
        if all(pattern.fullmatch(line.strip()) for line in lines[:5]):
            return known
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
