"""Recognition of files of other types: one list of forms, each with its remedy."""

import json
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from leaderboard.errors import Problem
from leaderboard.trec.read.converted import fits
from leaderboard.trec.read.forms import ROLES, SAMPLED_BYTES, Head, Kind, is_grade, is_number, looks_ranked
from leaderboard.trec.read.lines import shown

Sent = Literal["run", "qrels", "topics"]
"""Kind that a file was sent as."""
RUN_LINE, QRELS_LINE = "topic Q0 docno rank score tag", "topic 0 docno grade"
_BLANKS = rb"^[\s\xef\xbb\xbf]*"


class Other(NamedTuple):
    """A form: how its bytes begin or what they hold, its name, and what to do about it.

    of_topics: what to do where it was sent as topics, None where a file of topics may look so.
    """

    pattern: re.Pattern[bytes]
    name: str
    remedy: str
    of_topics: str | None = ""


_LINES = "Submit the plain text file: one line `{line}` each."
_AS_TOPICS = "Submit it as topics."
OTHERS = (
    Other(
        re.compile(rb"^version https://git-lfs"),
        "a Git LFS pointer instead of the file itself",
        "Run `git lfs pull` and submit the file that it fetches.",
    ),
    Other(
        re.compile(_BLANKS + rb"(?>(<!--(?s:.*?)-->\s*)*)<(!doctype\s+)?html\b", re.IGNORECASE),
        "a web page (HTML), perhaps the error page of a failed download",
        "Open it in a browser, download the file again and submit that.",
    ),
    Other(re.compile(rb"^PAR1"), "a Parquet table", "Write it as lines, for example with pandas: {write}"),
    Other(re.compile(rb"^%PDF"), "a PDF document", _LINES),
    Other(re.compile(rb"^(\x89PNG|\xff\xd8\xff|GIF8|BM\x00?)"), "a picture", _LINES),
    Other(
        re.compile(
            rb"^(\xd0\xcf\x11\xe0|PK(?s:.*)(\[Content_Types\]\.xml|xl/|mimetypeapplication/vnd\.oasis))"
        ),
        "a spreadsheet",
        "Save the sheet as CSV and submit that.",
    ),
    Other(
        re.compile(rb"^(\x93NUMPY|\x89HDF|SQLite format 3|\x80[\x02-\x05]|ORC|Obj\x01|ARROW1)"),
        "a binary data file",
        "Read it with the program that wrote it, and write one line `{line}` each.",
    ),
    Other(
        re.compile(rb"<item\s[^>]*\b(seqNum|shotId)\s*=", re.IGNORECASE),
        "a TRECVID run in XML",
        "Write a line for each item: tNum Q0 shotId seqNum SCORE pid, with scores that fall as seqNum rises.",
        "Submit it as a run.",
    ),
    Other(
        re.compile(
            _BLANKS
            + rb"(<top>|(<\?xml|<!doctype|<[a-z]+[\s>])(?s:.*)"
            + rb"<(top|topic|query|num|topics|queries|argument)[\s>])",
            re.IGNORECASE,
        ),
        "a topics file",
        _AS_TOPICS,
        None,
    ),
    Other(
        re.compile(_BLANKS + rb"(<\?xml|<[a-z])", re.IGNORECASE),
        "an XML file",
        "Write one line `{line}` each.",
        None,
    ),
    Other(
        re.compile(rb'"(mteb_version|mteb_dataset_name|dataset_revision)"|"task_name"(?s:.*)"scores"'),
        "a file of MTEB results, which has scores but no rankings",
        "Submit the rankings; MTEB writes them with `save_predictions=True`.",
        "Submit the topics: one line `{line}` each.",
    ),
    Other(
        re.compile(rb'"(turns|utterances|conversation)"\s*:\s*\['),
        "a file of conversations with turns",
        "Submit it as topics, one object per line with the turn's id and text.",
        None,
    ),
    Other(
        re.compile(_BLANKS + rb'\{(?s:.*?)"(responses?|answer|references|citations)"\s*:', re.IGNORECASE),
        "a file of answers",
        "Submit it to an answer task, or check it with `--kind answers`.",
        None,
    ),
    Other(
        re.compile(rb'^[\s]*[\[{](?s:.*?)"(text|title|query|question|body)"\s*:'),
        "a topics file",
        _AS_TOPICS,
        None,
    ),
    Other(
        re.compile(rb"^# ir_metadata.start(?![\s\S]*\n[^#\s])"),
        "an ir_metadata header without a run",
        "Put the run's lines `{line}` below it and submit both as one file.",
    ),
    Other(re.compile(_BLANKS + rb"[\[{]", re.IGNORECASE), "JSON of an unknown shape", "{json}", None),
    Other(
        re.compile(rb"^\s*(---[ \t]*\n|%YAML|-\s+[\w-]+:\s|[A-Za-z_][\w-]*:[ \t\r]*\n\s*+(-|(?<=[ \t])\S))"),
        "a YAML file",
        "Write one line `{line}` each.",
    ),
    Other(
        re.compile(rb"^[A-Za-z_][\w -]*:[ ]\S.*\n[A-Za-z_][\w -]*:"),
        "a YAML file",
        "Write one line `{line}` each.",
        None,
    ),
)
SENT_AS: Mapping[str, str] = {"run": "a run", "qrels": "judgments", "topics": "topics"}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "run": {
        "line": RUN_LINE,
        "write": "df.assign(Q0='Q0')[['topic','Q0','docno','rank','score','tag']].to_csv('run.txt', sep=' ', "
        "header=False, index=False)",
        "json": f'Write {{"TOPIC": {{"DOCNO": SCORE}}}}, or one line `{RUN_LINE}` each.',
    },
    "qrels": {
        "line": QRELS_LINE,
        "write": "df.assign(Q0=0)[['topic','Q0','docno','grade']].to_csv('qrels.txt', sep=' ', header=False, "
        "index=False)",
        "json": f'Write {{"TOPIC": {{"DOCNO": GRADE}}}}, or one line `{QRELS_LINE}` each.',
    },
    "topics": {"line": "id, a tab and the title", "write": "df.to_json('topics.jsonl', orient='records', "
               "lines=True)"},
}  # fmt: skip
"""Words for remedies, by the kind the file was sent as."""
BY_LINES: Mapping[str, tuple[str, str]] = {
    "run": ("a run", "Submit it as a run."),
    "qrels": ("a qrels file", "Submit it as judgments."),
    "letor": ("a file of LETOR or RankLib judgments", "Submit it as judgments."),
    "topics": ("a topics file", _AS_TOPICS),
    "pairs": ("a list of two columns without scores, ranks or grades", "Write one line `{line}` each."),
}
"""Possible formats of lines -> the name, and the remedy where the file was sent as something else."""
_GRADES = "If each pair is relevant, use map grade=1 (--map grade=1); else add the column of grades."

_LETOR = re.compile(rb"[+-]?\d+(?:\.\d+)?\s+qid:\S+(?:\s+\d+:\S+)*(?:\s*#.*)?")
_RANKED = re.compile(rb"\S+\s+Q0\s+\S+\s+\S+\s+\S+\s+\S+|\S+\t\S+\t\d+\t[+-]?\d*\.\d+", re.IGNORECASE)
_JUDGED = re.compile(
    rb"\S+\s+(?:[\d.]+|Q0)\s+\S+\s+(?:[+-]?\d{1,9}|L\d)|\S+\t\S+\t(?:[+-]?\d+|L\d)|\S+\s+Q?0\s+\S+\s+\S+"
    rb"|\S+\s+\S+\s+-?\d\s+\d\s+[\d.]+|\S+\s+0\s+\S+\s+-?\d+\s+[\d.]+",
    re.IGNORECASE,
)
"""Four or three columns with a grade; a word or a fraction as grade; NIST's prels; with a probability."""
_PAIR = rb'\s*"[^"]*"\s*:\s*[+-]?[\d.eE+-]+'
_DICTIONARY = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{(' + _PAIR + rb"(?:\s*," + _PAIR + rb")*)")
"""A JSON dictionary of dictionaries; the first one begins with numbers."""
_RANKS = frozenset((*ROLES["rank"], *ROLES["tag"], "sim"))
_GRADED = frozenset(ROLES["grade"])
KINDS: tuple[Kind, Kind] = ("run", "qrels")
A_FEW = 3
"""Consecutive lines without a title of three words and a number at its end."""


def problem_of(head: Head, sent: Sent) -> Problem | None:
    """The problem of a file of another type than expected, None if its type is unknown."""
    form = named(head.block, sent) or _by_lines(head, sent)
    if form is None:
        return None
    name, remedy = form
    for word, text in _WORDS[sent].items():
        remedy = remedy.replace(f"{{{word}}}", text)
    first = head.lines[0] if head.lines else head.block.split(b"\n", 1)[0]
    number = head.block[: head.block.find(first)].count(b"\n") + 1
    return Problem(f"This is {name}, not {SENT_AS[sent]}.", remedy, number, "", shown(first))


def named(block: bytes, sent: Sent) -> tuple[str, str] | None:
    """Name and remedy of the form that the first bytes show, None if it does not matter."""
    for form in OTHERS:
        if (sent != "topics" or form.of_topics is not None) and form.pattern.search(block):
            return form.name, (sent == "topics" and form.of_topics) or form.remedy
    return None


def _by_lines(head: Head, sent: Sent) -> tuple[str, str] | None:
    kind = kind_of(head, tables=sent != "topics")
    if kind in ("", sent) or (kind == "letor" and sent == "qrels") or (kind == "pairs" and sent == "topics"):
        return None
    name, remedy = BY_LINES[kind]
    return name, _GRADES if (kind, sent) == ("pairs", "qrels") else remedy


def kind_of(head: Head, *, tables: bool = True) -> str:
    """The type of the lines: a key of BY_LINES, or '' if unknown.

    tables: whether every table that can be read as a run, or as judgments, is one; topics may look so.

    >>> kind_of(Head(b"", [b"1 Q0 a 1 0.5 t"])), kind_of(Head(b"", [b"1 0 a 1"])), kind_of(Head(b"", [b"a"]))
    ('run', 'qrels', '')
    """
    match = _DICTIONARY.match(head.block)
    if match and (head.block[match.end() :].lstrip()[:1] == b"}" or len(head.block) >= SAMPLED_BYTES):
        return "run" if re.search(rb":\s*[\d+-]*[.eE]", match[1]) else "qrels"
    lines = [line.strip() for line in head.lines]
    if not lines:
        return ""
    if kind := _by_heading(lines):
        return kind
    if lines[0][:1] in b"[{<":
        return ""
    if _are_titled(lines):
        return "topics"
    for separator in (b",", b";"):
        if all(separator in line and len(line.split()) == 1 for line in lines):
            lines = [line.replace(separator, b"\t") for line in lines]
    rows = [line.split() for line in lines]
    # One line out of order does not make a run another file: its check reports errors.
    if sum(map(_is_ranked, rows)) * 2 > len(rows) or looks_ranked(lines, A_FEW):
        return "run"
    if all(map(_LETOR.fullmatch, lines)):
        return "letor"
    if all(map(_RANKED.fullmatch, lines)):
        return "run"
    if all(map(_JUDGED.fullmatch, lines)):
        return "qrels"
    if len(rows) >= A_FEW and all(len(row) == 4 and is_grade(row[3]) for row in rows):
        return "qrels"
    is_run, is_qrels = (tables and fits(head, kind) for kind in KINDS)
    if is_run != is_qrels:
        return "run" if is_run else "qrels"
    return "pairs" if all(len(row) == 2 for row in rows) else ""


def _by_heading(lines: list[bytes]) -> str:
    """The type by the names of columns or the keys of an object."""
    line = lines[0].decode("utf-8", "replace")
    if line.startswith("{"):
        try:
            words = [*json.loads(line)]
        except (ValueError, RecursionError):
            return ""
    else:
        words = re.split(r"[\s,;]+", line)
    names = {re.sub(r"[\W_]+", "", word.casefold()) for word in words}
    if names.isdisjoint(ROLES["docno"]) or names.isdisjoint(ROLES["topic"]):
        return ""
    last = [re.split(rb"[\s,;]+", row)[-1] for row in lines[1:]]
    if names & _RANKS or ("score" in names and any(is_number(cell) and not is_grade(cell) for cell in last)):
        return "run"
    # Topics in JSON may have a passage with them; judgments have a grade.
    return "qrels" if names & _GRADED or not line.startswith("{") else ""


def _are_titled(lines: list[bytes]) -> bool:
    """Whether each line is an id of its own, a tab and a title, which may look like a judgment."""
    pairs = [line.split(b"\t") for line in lines]
    return (
        all(len(pair) == 2 and pair[1].strip() for pair in pairs)
        and any(b" " in pair[1].strip() for pair in pairs)
        and len({pair[0] for pair in pairs}) == len(pairs)
    )


def _is_ranked(row: list[bytes]) -> bool:
    return len(row) >= 6 and is_grade(row[3]) and is_number(row[4])
