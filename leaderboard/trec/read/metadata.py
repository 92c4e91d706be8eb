"""The ir_metadata header of a run file: its indented `key: value` comment lines as nested dicts.

ir_metadata (https://www.ir-metadata.org) is YAML between two marker comments. Values are kept as the
text that was written; of YAML, mappings, lists, quotes and block text are read, which is all its
templates use. Headers in use are not always YAML: the TIREx tracker writes `caches: L1: 32 KB, L2: 1 MB,`,
and people leave colons, tabs, `@` and `*` unquoted. A YAML parser refuses all of such a header; here a value
may be any text.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MAX_LINES = 2000
"""The number of comment lines read; a header has about a hundred."""
MAX_DEPTH = 20
MAX_CHARACTERS = 60_000
MOST_FILE_CHARACTERS = 2**20
LONGEST_LINE = 4000
"""Characters kept of a header and of each of its lines: a page that lists runs by metadata reads it all."""

_START, _END = "ir_metadata.start", "ir_metadata.end"
_KEY = re.compile(r"""("[^"]*"|'[^']*'|[^\s:#"'\[{-][^:#]*)\s*:(?:\s+(.*))?$""")
_QUOTED = re.compile(r"""("[^"]*"|'[^']*')\s*(?:#.*)?$""")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]{1,1000}@")
_NEVER_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

Line = tuple[int, str]
"""Indentation of a line, and its content."""


def parse(comments: Sequence[str]) -> dict[str, Any]:
    """The header in a run's comment lines as nested dicts, lists and strings; {} without a header.

    A header that cannot be read is kept whole under the key "text". Name and password in an address, such as
    the token that a tracker copies from a repository's remote, are left out: a header is shown to others.

    >>> parse(["# ir_metadata.start", "# tag: bm25", "# actor:", "#   team: one", "# ir_metadata.end"])
    {'tag': 'bm25', 'actor': {'team': 'one'}}
    """
    text = [_shown(comment) for comment in comments[:MAX_LINES]]
    marks = [line.strip() for line in text]
    if _START not in marks:
        return {}
    start = marks.index(_START) + 1
    end = marks.index(_END, start) if _END in marks[start:] else len(marks)
    body = _first(text[start:end])
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in body if _says_something(line)]
    if not lines:
        return {}
    value, rest = _block(lines, 0)
    return value if isinstance(value, dict) and not rest else {"text": "\n".join(body)}


def parse_file(path: Path) -> dict[str, Any]:
    """The header in a file of its own, as `parse` reads one among comments; its first megabyte at most."""
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(MOST_FILE_CHARACTERS).splitlines()
    return parse([f"# {_START}", *(f"# {line}" for line in lines), f"# {_END}"])


def _shown(comment: str) -> str:
    line = _NEVER_TEXT.sub("", comment.lstrip("#").rstrip())[:LONGEST_LINE]
    return _CREDENTIALS.sub("", line)


def _first(lines: Sequence[str]) -> list[str]:
    """The lines that fit into the stored part of a header."""
    kept, size = [], 0
    for line in lines:
        size += len(line)
        if size > MAX_CHARACTERS:
            break
        kept.append(line)
    return kept


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "---", "..."))


def _block(lines: Sequence[Line], depth: int) -> tuple[Any, Sequence[Line]]:
    """The value that starts at the first line, and the lines after it."""
    if depth > MAX_DEPTH:
        return None, lines
    if lines[0][1].startswith("- ") or lines[0][1] == "-":
        return _list(lines, depth)
    if _KEY.match(lines[0][1]):
        return _mapping(lines, depth)
    return _joined(lines, lines[0][0])


def _mapping(lines: Sequence[Line], depth: int) -> tuple[dict[str, Any], Sequence[Line]]:
    indent, mapping = lines[0][0], dict[str, Any]()
    while lines and lines[0][0] == indent and (match := _KEY.match(lines[0][1])):
        key, value = _unquoted(match[1].rstrip()), (match[2] or "").strip()
        lines = lines[1:]
        if value[:1] in ("|", ">"):
            mapping[key], lines = _joined(lines, indent + 1)
        elif _plain(value):
            mapping[key] = _scalar(value)
        elif lines and (lines[0][0] > indent or (lines[0][0] == indent and lines[0][1].startswith("-"))):
            mapping[key], lines = _block(lines, depth + 1)
        else:
            mapping[key] = ""
    return mapping, lines


def _list(lines: Sequence[Line], depth: int) -> tuple[list[Any], Sequence[Line]]:
    indent, items = lines[0][0], list[Any]()
    while lines and lines[0][0] == indent and lines[0][1].startswith("-"):
        rest = lines[0][1][1:].lstrip()
        inner = indent + len(lines[0][1]) - len(rest)
        if _KEY.match(rest) and not rest.startswith(("http:", "https:")):
            value, lines = _block([(inner, rest), *lines[1:]], depth + 1)
        elif rest:
            value, lines = _scalar(rest), lines[1:]
        elif len(lines) > 1 and lines[1][0] > indent:
            value, lines = _block(lines[1:], depth + 1)
        else:
            value, lines = "", lines[1:]
        items.append(value)
    return items, lines


def _joined(lines: Sequence[Line], indent: int) -> tuple[str, Sequence[Line]]:
    count = next((place for place, line in enumerate(lines) if line[0] < indent), len(lines))
    return "\n".join(text for _, text in lines[:count]), lines[count:]


def _scalar(value: str) -> Any:
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(item.strip()) for item in value[1:-1].split(",") if item.strip()]
    return _unquoted(_plain(value))


def _plain(value: str) -> str:
    """The value without a trailing comment."""
    quoted = _QUOTED.match(value)
    return quoted[1] if quoted else _COMMENT.sub("", value).strip()


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
