"""The dialects of answers: contents of a line, checks, and recognition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from leaderboard.trec.answers.record import Over, Unit
from leaderboard.trec.read.json_objects import Fault

Severity = Literal["error", "warning", "-"]
Finding = Literal[
    "form",
    "tag",
    "unknown topic",
    "topic twice",
    "topic text",
    "type",
    "left out",
    "docno pattern",
    "reference twice",
    "too many references",
    "unknown citation",
    "too many citations",
    "response length",
    "empty text",
    "cited twice",
    "no references",
    "no answer",
]

_LETTERS: Mapping[str, Severity] = {"E": "error", "W": "warning", "-": "-"}
_TABLE: Mapping[Finding, str] = {
    "form": "EEEE",
    "tag": "EEEE",
    "unknown topic": "EEEE",
    "topic twice": "EEEE",
    "topic text": "E-E-",
    "type": "-E--",
    "left out": "-W--",
    "docno pattern": "EW--",
    "reference twice": "EW--",
    "too many references": "EW--",
    "unknown citation": "EEEW",
    "too many citations": "--E-",
    "response length": "W---",
    "empty text": "WWEW",
    "cited twice": "WWWW",
    "no references": "EEEW",
    "no answer": "WWE-",
}
"""Severity of each finding in rag24, rag25, rag26 and report: error, warning, or not checked."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing answers.

    column: its place in the table of findings. topic_keys: where the topic's id may be, all of which must
    agree; top_level: the facts are next to the answer instead of under `metadata`. required: texts that must
    be there; official: the key of the topic's official text. positions, docnos, maps: what citations may be;
    mixed: whether one answer may have both of the first two. most_references: more are too many; over: the
    default for what is too long.
    """

    name: str
    column: int
    topic_keys: tuple[str, ...]
    required: tuple[str, ...]
    unit: Unit
    limit: int | None
    over: Over
    top_level: bool = False
    official: str = ""
    positions: bool = True
    docnos: bool = True
    maps: bool = False
    mixed: bool = False
    most_references: int | None = None
    most_citations: int | None = None

    @property
    def within(self) -> str:
        """The prefix of its field names in messages."""
        return "" if self.top_level else "metadata."

    def severity(self, finding: Finding) -> Severity:
        """The severity of a finding in this dialect."""
        return _LETTERS[_TABLE[finding][self.column]]


_NARRATIVE = ("narrative_id",)
RAG24 = Dialect(
    "rag24", 0, ("topic_id",), ("run_id", "topic"), "nfkc-words", 400, "cut",
    top_level=True, official="topic", docnos=False, most_references=20,
)  # fmt: skip
RAG25 = Dialect("rag25", 1, _NARRATIVE, ("team_id", "run_id"), "nfkc-words", 400, "warn", most_references=100)
RAG26 = Dialect(
    "rag26", 2, _NARRATIVE, ("team_id", "run_id", "narrative", "run_desc"), "words", 1024, "refuse",
    official="narrative", mixed=True, most_citations=3,
)  # fmt: skip
REPORT = Dialect(
    "report", 3, ("topic_id", "request_id"), ("team_id", "run_id"), "characters", None, "warn",
    positions=False, maps=True,
)  # fmt: skip
LONGEVAL = Dialect(
    "longeval-rag", 1, _NARRATIVE, ("team_id", "run_id"), "nfkc-words", None, "warn", docnos=False
)

DIALECTS = {dialect.name: dialect for dialect in (RAG24, RAG25, RAG26, REPORT, LONGEVAL)}


def biogen_2024() -> Fault:
    """The problem of a file of BioGen 2024, which is not supported."""
    return Fault(
        "This is BioGen 2024's format: one document with citations in brackets inside the text.",
        "Split the text into sentences and submit one line per topic with metadata, responses and "
        "references, "
        "as for BioGen 2025: sentences split by the site would not be the organisers'.",
    )


def recognised(record: Mapping[str, Any]) -> Dialect:
    """The dialect of a line by its keys; raises Fault for an unknown one.

    >>> recognised({"metadata": {"narrative_id": 7}, "references": [], "answer": []}).name
    'rag25'
    """
    if "results" in record and "answer" not in record:
        raise biogen_2024()
    if "metadata" not in record and "answer" in record:
        return RAG24
    facts = record.get("metadata")
    if isinstance(facts, dict):
        if "narrative_id" in facts and ("answer" in record or "topic_id" not in facts):
            return RAG26 if "run_desc" in facts else RAG25
        if "answer" in record or "responses" in record:
            return REPORT
    raise Fault(
        "The keys of the line match no dialect of answers.",
        f"Write one of {', '.join(DIALECTS)}; each has an example in docs/answers.md.",
        "keys",
        ", ".join(map(str, record))[:80],
    )
