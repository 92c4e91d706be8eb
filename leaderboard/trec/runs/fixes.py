"""Fixes of a run file that keep its rankings: each is applied line by line, and counted.

A fix never invents an order: the documents of a topic stay in the order in which they were scored, or, if
requested, in the order of the rank column.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.read.entries import form_of, is_rank
from leaderboard.trec.read.forms import is_comment
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Source, bytes_of, raw_lines, shown, text_of
from leaderboard.trec.read.usual import usual
from leaderboard.trec.runs.check import Rules, fitting_tag
from leaderboard.trec.topics.records import TopicNames

FIXES = {
    "topics": "Write topic ids as the task does",
    "duplicates": "Remove duplicate documents of a topic, keeping the best ranked one",
    "ranks": "Order documents by the rank column",
    "depth": "Keep the best documents of each topic, up to the task's depth",
    "tag": "Change the tag to one that the task accepts",
}
"""Name -> description, in the order in which fixes are applied."""
OF_RANKINGS = frozenset({"duplicates", "ranks", "depth"})
"""Fixes that look at all documents of a topic."""
TOPIC_BYTES = 2**26
"""Maximum bytes of the lines of one topic, which are kept in memory."""
JOINED_BYTES = 2**22
"""The same of a file whose topics are in parts: its short lines take many times that in memory."""


@dataclass(slots=True)
class Fixing:
    """Fixes to be applied to a file, and afterwards how many lines each has changed.

    dialect: 9 compares scores as 32-bit numbers, as trec_eval 9 does, 10 as 64-bit ones.
    """

    rules: Rules
    names: Collection[str]
    dialect: int = 10
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.names if name not in FIXES]
        if unknown:
            raise Invalid(f"There is no fix {shown(unknown[0])!r}; there are {', '.join(FIXES)}.")
        self.counts = {name: 0 for name in FIXES if name in self.names}

    def log(self) -> list[dict[str, str | int]]:
        """The applied fixes, in order, for storage."""
        return [{"fix": name, "lines": lines} for name, lines in self.counts.items()]


@dataclass(slots=True)
class _Entry:
    """A line of a run: its fields, and the line itself while it is unchanged."""

    number: int
    line: bytes
    fields: list[bytes]

    def put(self, place: int, value: bytes) -> bool:
        """Set a field; whether that changed it."""
        if self.fields[place] == value:
            return False
        self.fields[place] = value
        self.line = b" ".join(self.fields)
        return True

    def score(self, dialect: int) -> float:
        """Its score, as the dialect compares it."""
        try:
            score = -float(self.fields[2]) if len(self.fields) == 3 else float(self.fields[4])
        except ValueError:
            raise _unreadable(self, "score", self.fields[4 if len(self.fields) > 4 else 2]) from None
        return float(np.float32(score)) if dialect == 9 else score

    @property
    def docno(self) -> bytes:
        return self.fields[1 if len(self.fields) == 3 else 2]


def fixed(source: Source, fixing: Fixing, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """The lines of a run file with the fixes applied; comments and all else stay unchanged.

    Fixes that look at whole rankings put the lines of a topic together first, as the check does. Raises
    Invalid where a line cannot be read, where two ids would become one, and for too many lines.
    """
    topics = _Topics(fixing)
    source = usual(source, "run", limits)
    groups = _parts(source, limits, fixing.rules.dialect)
    if OF_RANKINGS & fixing.counts.keys() and _is_split(source, limits, fixing.rules.dialect):
        groups = _joined(groups)
    for group in groups:
        entries = [entry for entry in group if entry.fields]
        if entries:
            topics.rename(entries)
            for entry in entries if "tag" in fixing.counts else ():
                _retag(entry, fixing)
        for entry in _reranked(group, entries, fixing) if OF_RANKINGS & fixing.counts.keys() else group:
            yield entry.line + b"\n"


class _Topics:
    """Writes topic ids as the task does, and sees to it that no two become one."""

    def __init__(self, fixing: Fixing) -> None:
        self._fixing = fixing
        self._names = TopicNames(fixing.rules.topics or sorted(fixing.rules.judged))
        self._sent: dict[bytes, bytes] = {}
        """Current topic id -> topic id as submitted."""

    def rename(self, entries: list[_Entry]) -> None:
        """Give the entries of one topic the task's id."""
        if "topics" not in self._fixing.counts:
            return
        sent = entries[0].fields[0]
        topic = text_of(sent)
        renamed = sent if topic in self._names else bytes_of(self._names.meant(topic) or topic)
        if self._sent.setdefault(renamed, sent) != sent:
            rule = (
                f"Topics {shown(self._sent[renamed])} and {shown(sent)} would both become {shown(renamed)}."
            )
            problem = Problem(rule, "Correct the ids in the file.", entries[0].number, "topic", shown(sent))
            raise Invalid(problem.rule, [problem])
        for entry in entries:
            self._fixing.counts["topics"] += entry.put(0, renamed)


def _retag(entry: _Entry, fixing: Fixing) -> None:
    if len(entry.fields) > 5 and fixing.rules.tag_pattern:
        tag = text_of(entry.fields[5])
        fitting = fitting_tag(tag, fixing.rules.tag_pattern)
        fixing.counts["tag"] += entry.put(5, bytes_of(fitting or tag))


def _is_split(source: Source, limits: Limits, dialect: int) -> bool:
    """Whether the lines of some topic are not all together."""
    seen: set[bytes] = set()
    topic = b""
    for _, line in raw_lines(source, limits):
        first = [] if is_comment(line, dialect) else line.split(None, 1)[:1]
        if first and first[0] != topic:
            topic = first[0]
            if topic in seen:
                return True
            seen.add(topic)
    return False


def _joined(parts: Iterator[list[_Entry]]) -> Iterator[list[_Entry]]:
    """The lines of each topic together, in the order of the topics' first lines; all are kept in memory."""
    joined: dict[bytes, list[_Entry]] = {}
    size = 0
    for part in parts:
        topic = next((entry.fields[0] for entry in part if entry.fields), b"")
        joined.setdefault(topic, []).extend(part)
        size += sum(len(entry.line) for entry in part)
        if size > JOINED_BYTES:
            raise Invalid(
                "The lines of topics are scattered, and there are too many to join. Sort the file by topic."
            )
    yield from joined.values()


def _parts(source: Source, limits: Limits, dialect: int) -> Iterator[list[_Entry]]:
    """The lines of one topic after the other, comments with the lines around them."""
    group: list[_Entry] = []
    topic, size = b"", 0
    columns = 0
    for number, line in raw_lines(source, limits):
        fields = [] if is_comment(line, dialect) else line.split()
        if fields:
            columns = columns or form_of(fields, strict=True).columns
            if len(fields) != columns:
                raise _unreadable(_Entry(number, line, fields), "line", line)
            if fields[0] != topic:
                yield group
                group, size, topic = [], 0, fields[0]
        group.append(_Entry(number, line, fields))
        size += len(line)
        if size > TOPIC_BYTES:
            raise Invalid(f"Topic {shown(topic)} has more lines than can be fixed here.")
    yield group


def _reranked(group: list[_Entry], entries: list[_Entry], fixing: Fixing) -> list[_Entry]:
    """The lines of one topic, without dropped ones and, if requested, by rank."""
    kept = entries
    if "duplicates" in fixing.counts:
        kept = _without_duplicates(kept, fixing)
    if "ranks" in fixing.counts and _by_rank(kept, fixing):
        comments = [entry for entry in group if not entry.fields]
        return comments + _cut(sorted(kept, key=_rank), fixing)
    stay = set(map(id, _cut(kept, fixing)))
    return [entry for entry in group if not entry.fields or id(entry) in stay]


def _without_duplicates(entries: list[_Entry], fixing: Fixing) -> list[_Entry]:
    # By rank the best has the smallest rank, else the highest score; for equals the first line.
    by_rank = "ranks" in fixing.counts
    best: dict[bytes, tuple[float, _Entry]] = {}
    for entry in entries:
        merit = -float(_rank(entry)) if by_rank else entry.score(fixing.dialect)
        if entry.docno not in best or merit > best[entry.docno][0]:
            best[entry.docno] = merit, entry
    fixing.counts["duplicates"] += len(entries) - len(best)
    stay = {id(entry) for _, entry in best.values()}
    return [entry for entry in entries if id(entry) in stay]


def _by_rank(entries: list[_Entry], fixing: Fixing) -> bool:
    """Give scores that fall with the rank; whether any had to be given: scores that fall already stay."""
    ordered = sorted(entries, key=_rank)
    scores = [entry.score(9) for entry in ordered]
    if len(ordered[:1]) and len(ordered[0].fields) == 3:
        return False
    if all(above > below for above, below in pairwise(scores)):
        return False
    for place, entry in enumerate(ordered):
        fixing.counts["ranks"] += entry.put(4, b"%d" % (len(ordered) - place))
    return True


def _rank(entry: _Entry) -> int:
    rank = entry.fields[2 if len(entry.fields) == 3 else 3]
    if not is_rank(rank):
        raise _unreadable(entry, "rank", rank)
    return int(rank)


def _cut(entries: list[_Entry], fixing: Fixing) -> list[_Entry]:
    """The best of them in their order; ties as trec_eval breaks them, by docno descending."""
    depth = fixing.rules.depth
    if "depth" not in fixing.counts or depth is None or len(entries) <= depth:
        return entries
    best = sorted(entries, key=lambda entry: (entry.score(fixing.dialect), entry.docno), reverse=True)
    fixing.counts["depth"] += len(entries) - depth
    stay = set(map(id, best[:depth]))
    return [entry for entry in entries if id(entry) in stay]


def _unreadable(entry: _Entry, name: str, value: bytes) -> Invalid:
    rule, remedy = f"The {name} cannot be read, so the fix cannot be applied.", "Fix this line first."
    return Invalid(f"{rule} {remedy}", [Problem(rule, remedy, entry.number, name, shown(value))])
