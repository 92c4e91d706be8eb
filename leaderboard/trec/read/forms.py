"""The forms of lines of runs and judgments, and the requested mapping of columns and grades."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import islice
from typing import Literal, NamedTuple

from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.trec.read.archives import Limits, Source
from leaderboard.trec.read.lines import BOM, shown
from leaderboard.trec.read.plain import plain_blocks

Kind = Literal["run", "qrels"]
NAMES = {"run": "run", "qrels": "qrels file"}
"""Names of each kind of file in messages."""
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GRADE = re.compile(rb"[+-]?\d{1,9}|L\d")
_WHOLE = re.compile(rb"[+-]?\d+")
SAMPLED_BYTES = 2**16
SAMPLED_LINES = 50
RANK_NOT_GRADE = 5
"""From this number on, ascending numbers count as ranks in a file submitted as judgments."""

ROLES: Mapping[str, Collection[str]] = {
    "topic": ("topic", "topicid", "queryid", "qid", "query", "q", "topicno", "topicnumber", "tid"),
    "docno": (
        "doc", "docno", "docid", "document", "documentid", "corpusid", "cid", "pid", "passageid", "did",
        "passage", "itemid", "chunkid",
    ),
    "iteration": ("iter", "iteration", "q0", "0", "unused", "dummy", "zero", "round", "subtopic"),
    "grade": (
        "grade", "rel", "relevance", "label", "judgment", "judgement", "score", "relevancegrade",
        "relevancelabel", "relevancescore", "qrel", "rating",
    ),
    "score": ("score", "sim", "similarity", "rsv"),
    "rank": ("rank", "position", "pos"),
    "tag": ("tag", "run", "runid", "runtag", "runname", "system", "systemid"),
}  # fmt: skip
"""Name of a column -> how headings write it, without case, blanks and signs."""


@dataclass(frozen=True)
class Asked:
    """Options for reading a file: the version of trec_eval, and the sender's mapping of grades and columns.

    dialect: 9 reads a line that begins with `#` as an entry if it has the fields of one; 10 skips it.
    words: grade as written -> number; columns: names of the columns in order, `-` for one to ignore;
    grade: the grade of all documents in a file that has none.
    """

    dialect: int = 10
    words: Mapping[bytes, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    grade: int | None = None
    task_topics: bool = False
    """Whether topic ids are to be written as the task's, where they differ by padding, prefix or suffix."""


USUAL = Asked()
MAP_REMEDY = "Write WORD=NUMBER, grade=NUMBER, columns=topic,iteration,docno,grade, or topics=task."


def asked(texts: Collection[str], dialect: int = 10) -> Asked:
    """The mapping in `--map` and the fields of the same name; raises Invalid for anything else.

    >>> made = asked(["relevant=1, highly relevant=2", "columns=topic,-,docno,grade"])
    >>> made.words, made.columns
    ({b'relevant': 1, b'highly relevant': 2}, ('topic', '-', 'docno', 'grade'))
    """
    mapping = Asked(dialect)
    for text in (line for given in texts for line in given.splitlines()):
        parts = [text] if text.strip().startswith("columns=") else re.split(r"[,;]", text)
        for part in parts:
            if part.strip():
                mapping = _with_part(mapping, part.strip())
    return mapping


def _with_part(mapping: Asked, part: str) -> Asked:
    name, sign, value = (word.strip() for word in part.rpartition("="))
    if name == "columns":
        columns = tuple(re.split(r"[,\s]+", value))
        allowed = {"-", "probability", *ROLES}
        if {"topic", "docno"} <= set(columns) <= allowed:
            return replace(mapping, columns=columns)
    elif name == "topics" and value == "task":
        return replace(mapping, task_topics=True)
    elif name and sign and re.fullmatch(r"[+-]?\d{1,9}", value):
        if name == "grade":
            return replace(mapping, grade=int(value))
        return replace(mapping, words={**mapping.words, name.encode(): int(value)})
    rule = "This maps no grades, columns or topics."
    raise Invalid(
        f"{shown(part)}: {rule} {MAP_REMEDY}", [Problem(rule, MAP_REMEDY, None, "map", shown(part))]
    )


class Head(NamedTuple):
    """The beginning of a file: its first bytes, and its first lines with what may be a comment left out."""

    block: bytes
    lines: list[bytes]

    @classmethod
    def of(cls, block: bytes) -> "Head":
        """The head of a file that begins with a block; it has no lines if it is not text."""
        block = block[:SAMPLED_BYTES].removeprefix(BOM)
        if b"\0" in block or block.startswith((b"\xff\xfe", b"\xfe\xff")):
            return cls(block, [])
        # One by one: of a large file only the first few are needed.
        data_lines = (line for line in BytesIO(block) if not (line.startswith(b"#") or line.isspace()))
        # One more than is checked: the last one of the block may be cut off.
        first = islice(data_lines, SAMPLED_LINES + 1)
        kept = [line.removesuffix(b"\n").removesuffix(b"\r") for line in first]
        whole = kept if len(block) < SAMPLED_BYTES - len(BOM) or len(kept) < 2 else kept[:-1]
        return cls(block, whole[:SAMPLED_LINES])

    @classmethod
    def of_file(cls, source: Source, limits: Limits) -> "Head":
        """The head of a file; of one that cannot be unpacked, its bytes as they are."""
        block = b""
        try:
            blocks = plain_blocks(source, limits)
            while len(block) < SAMPLED_BYTES and (more := next(blocks, b"")):
                block += more
        except (Invalid, TooLarge):
            # The reader meets the same, and says it, unless the archive is a spreadsheet.
            with source.open("rb") as file:
                return cls(file.read(SAMPLED_BYTES), [])
        return cls.of(block)


def is_beir(line: bytes) -> bool:
    """Whether a line is the heading of BEIR's judgments, with tabs."""
    return tuple(line.lower().split()) == (b"query-id", b"corpus-id", b"score")


def is_ranked(fields: list[bytes]) -> bool:
    """Whether fields are topic, docno and rank."""
    return len(fields) == 3 and fields[2].isdigit()


def is_grade(text: bytes) -> bool:
    """Whether a field is a grade as qrels have it."""
    return _GRADE.fullmatch(text) is not None


def is_number(text: bytes) -> bool:
    """Whether a field is a decimal number."""
    return _NUMBER.fullmatch(text) is not None


def is_whole(text: bytes) -> bool:
    """Whether a field is a whole number."""
    return _WHOLE.fullmatch(text) is not None


def looks_ranked(lines: list[bytes], least: int = 1) -> bool:
    """Whether lines are `topic Q0 docno rank`: the last fields count up within topics, at least so far."""
    rows = [line.split() for line in lines]
    if not all(len(row) == 4 and row[1] == b"Q0" and row[3].isdigit() for row in rows):
        return False
    ranks = [int(row[3]) for row in rows]
    steps = zip(rows, rows[1:], ranks, ranks[1:], strict=False)
    counts = all(
        rank == before + 1 if above[0] == below[0] else rank < 2 for above, below, before, rank in steps
    )
    return counts and ranks[0] < 2 and max(ranks) >= least


def role_of(name: bytes, kind: Kind) -> str:
    """The role of a column by its heading, '' if unknown.

    >>> role_of(b"Query-ID", "qrels"), role_of(b"score", "run"), role_of(b"colour", "run")
    ('topic', 'score', '')
    """
    word = re.sub(r"[^a-z0-9]", "", name.decode("utf-8", "replace").casefold())
    roles = {
        "run": ("topic", "docno", "score", "rank", "tag", "iteration"),
        "qrels": ("topic", "docno", "grade", "iteration"),
    }
    return next((role for role in roles[kind] if word in ROLES[role]), "")


def is_entry(line: bytes, fields: int) -> bool:
    """Whether a line that begins with `#` has the fields of an entry (6) or a judgment (4)."""
    words = line.split()
    if fields == 6:
        return len(words) >= 6 and len(words[0]) > 1 and is_number(words[4])
    return len(words) == 4 and len(words[0]) > 1 and is_grade(words[3])


def is_comment(line: bytes, dialect: int, fields: int = 6) -> bool:
    """Whether a line of a run, or with 4 fields of judgments, is a comment in this dialect."""
    return line.startswith(b"#") and not (dialect == 9 and is_entry(line, fields))


def skipped(count: int, line: int, text: bytes) -> Problem:
    """The note on lines that begin with `#`: how many were skipped, and one of them."""
    what = "1 line that begins with # was" if count == 1 else f"{count:,} lines that begin with # were"
    remedy = "If these are entries, use dialect 9, where such ids count as trec_eval 9 counts them."
    return Problem(f"{what} skipped as comments.", remedy, line, "", shown(text))
