"""What files of a folder are, by their first lines: topics, judgments, runs, a list of teams, or none."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from leaderboard.errors import Invalid, TooLarge
from leaderboard.services.runs import lists
from leaderboard.trec.read.archives import Limits, plain_blocks
from leaderboard.trec.read.forms import is_beir
from leaderboard.trec.topics.records import ID_KEYS

TOPICS, QRELS, RUN, LIST = "topics", "judgments", "run", "list of teams"
LOOKED_AT = 50
"""Lines that a file is known by."""
HEAD_BYTES = 2**17
ONE_LINE = Limits(line_bytes=2**20)

_MARKUP = re.compile(rb"<(?:top|topics?|quer(?:y|ies)|xml|\?xml)\b", re.IGNORECASE)
_GRADE = re.compile(rb"[+-]?\d{1,9}|L\d")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)", re.IGNORECASE)
_NAMED_TOPICS = re.compile(r"topic|quer", re.IGNORECASE)


def kind_of(path: Path, name: str) -> tuple[str, str]:
    """What a file is, or '' and why it is none of these; names count only where lines do not tell."""
    if lists.is_list(path, name):
        return LIST, ""
    try:
        head = next(plain_blocks(path, ONE_LINE), b"")[:HEAD_BYTES]
    except (Invalid, TooLarge) as error:
        return "", error.message
    if not head.strip():
        return "", "it is empty"
    if b"\0" in head:
        return "", "it is not text"
    if _MARKUP.search(head[:2000]):
        return TOPICS, ""
    return _by_lines(_lines(head), name)


def _lines(head: bytes) -> list[bytes]:
    """The first whole lines, without comments and a byte order mark."""
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines()
    whole = lines[:-1] if len(head) == HEAD_BYTES else lines
    return [line for line in whole if line.strip() and not line.startswith(b"#")][:LOOKED_AT]


def _by_lines(lines: Sequence[bytes], name: str) -> tuple[str, str]:
    if not lines:
        return "", "it has comments only"
    if _is_json(lines[0]):
        return TOPICS, ""
    if _has_ids(lines) and any(b" " in line.split(b"\t")[1].strip() for line in lines):
        # Four words of which the last is a number are a title still, where but one tab is in the line.
        return TOPICS, ""
    fields = [line.split() for line in lines]
    if is_beir(lines[0]) or all(map(_is_judgment, fields)):
        return QRELS, ""
    # One line out of order does not make a run another file: its check says what is wrong with it.
    if sum(map(_is_ranked, fields)) * 2 > len(fields):
        return RUN, ""
    if all(b"\t" in line for line in lines) and (_NAMED_TOPICS.search(name) or _has_ids(lines)):
        return TOPICS, ""
    return "", "its lines are no topics, judgments or run"


def _is_json(line: bytes) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and any(key in record for key in ID_KEYS)


def _is_judgment(fields: Sequence[bytes]) -> bool:
    return len(fields) == 4 and _GRADE.fullmatch(fields[3]) is not None


def _is_ranked(fields: Sequence[bytes]) -> bool:
    return len(fields) >= 6 and _GRADE.fullmatch(fields[3]) is not None and bool(_NUMBER.fullmatch(fields[4]))


def _has_ids(lines: Sequence[bytes]) -> bool:
    """Whether each line has an id of its own and a text after it."""
    pairs = [line.split(b"\t") for line in lines]
    return all(len(pair) == 2 and pair[1].strip() for pair in pairs) and len(
        {pair[0] for pair in pairs}
    ) == len(pairs)
