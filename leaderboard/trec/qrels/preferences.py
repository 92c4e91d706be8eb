"""Preference files: which of two documents is better, pair by pair or as levels (trec_eval -R prefs)."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from leaderboard.errors import Problem
from leaderboard.measures.judged import UNJUDGED, IntArray, Preferences
from leaderboard.trec.read.entries import ID_BYTES, unfit_text
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, bytes_of, raw_lines, shown, text_of

Pair = tuple[bytes, bytes]
"""The better docno and the worse one."""

Key = tuple[str, str, bytes]
"""Topic, judge and group."""

Group = dict[bytes, tuple[float, int]]
"""The level of each document, and the line it is on."""


class Levels:
    """Collects levels line by line."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str], dict[bytes, Group]] = {}
        self.notes: tuple[Problem, ...] = ()

    def add(self, number: int, key: Key, docno: bytes, level: float) -> Problem | None:
        """Add the level of a document in a group, or return the problem."""
        topic, judge, name = key
        group = self.groups.setdefault((topic, judge), {}).setdefault(name, {})
        before, line = group.setdefault(docno, (level, number))
        if line == number:
            return None
        if before != level:
            rule = f"The group has this document already on line {line} with level {before:g}"
            rule = f"{rule}; here it has {level:g}."
            return Problem(rule, "Keep one of the two lines.", number, "docno", shown(docno))
        if not self.notes:
            rule = "The level is listed twice."
            self.notes = (Problem(rule, "It was counted once.", number, "docno", shown(docno)),)
        return None


class TooMany(Exception):
    """The file has too many preferences."""


def preferred(groups: Collection[Group], most: int) -> set[Pair]:
    """The preferences of a judge: the higher levels of every group, and what follows from several groups.

    Documents of one level in a group are not preferred to each other by it. Raises CycleError where the
    groups contradict each other, and TooMany if these could be more than most.

    >>> sorted(preferred([{b"a": (2, 1), b"b": (1, 2)}, {b"b": (3, 3), b"c": (0, 4)}], 10))
    [(b'a', b'b'), (b'a', b'c'), (b'b', b'c')]
    """
    if sum(len(group) * (len(group) - 1) // 2 for group in groups) > most:
        raise TooMany
    below: dict[bytes, set[bytes]] = {}
    for group in groups:
        for docno, (level, _) in group.items():
            lower = {other for other, (level_of_other, _) in group.items() if level_of_other < level}
            below.setdefault(docno, set()).update(lower)
    if len(groups) > 1:
        for docno in TopologicalSorter(below).static_order():
            below[docno].update(*(below[other] for other in tuple(below[docno])))
            most -= len(below[docno])
            if most < 0:
                raise TooMany
    return {(better, worse) for better, lower in below.items() for worse in lower}


def contradiction(judge: str, groups: Collection[Group], error: CycleError) -> Problem:
    """The problem of a judge whose groups contradict each other."""
    circle: list[bytes] = error.args[1][::-1]
    names = " to ".join(shown(docno) for docno in circle[:5])
    line = max(group[circle[0]][1] for group in groups if circle[0] in group)
    rule = f"Judge {shown(judge)} prefers {names}{' and so on' if len(circle) > 5 else ''}, which is a cycle."
    remedy = "Use two judges, or remove one of the groups."
    return Problem(rule, remedy, line, "docno", shown(circle[0]))


__all__ = ["Pair", "PreferenceJudgments", "preferences_of", "read_preferences", "with_documents"]

MAX_PREFERENCES = 1_000_000
"""Levels of n documents are up to n(n - 1)/2 preferences."""

_NUMBER = re.compile(rb"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_FORMS = {
    3: ("topic", "better docno", "worse docno"),
    4: ("topic", "better docno", "worse docno", "weight"),
    5: ("topic", "judge", "group", "docno", "level"),
}


@dataclass(frozen=True, eq=False)
class PreferenceJudgments:
    """The preferences of a file: topic -> judge -> (better, worse) -> weight, topics in its order.

    Files of pairs have one judge, ''. A judge who preferred no document to another has no pairs.
    notes are oddities seen while reading.
    """

    pairs: Mapping[str, Mapping[str, Mapping[Pair, float]]]
    notes: tuple[Problem, ...] = ()


def read_preferences(path: Path, limits: Limits = DEFAULT_LIMITS) -> PreferenceJudgments:
    """The preferences in a file, in one of two forms that the first line decides.

    `topic better worse [weight]`: a weight is above 0, 1 if the column is missing; a pair that comes
    again adds its weight, also if it is the other way round elsewhere. `topic judge group docno level`,
    trec_eval's prefs: among the documents of a group each is preferred to those of a lower level; what
    follows from several groups of one judge counts as preferred too, and must not contradict itself.
    Judges may differ. Blank lines and `#` comments are skipped. Raises Invalid with up to 25 problems.
    """
    reader = _Reader()
    for number, line in raw_lines(path, limits):
        if line.strip() and not line.startswith(b"#"):
            reader.add(number, line)
    return reader.preferences()


def with_documents(
    by_topic: Mapping[str, Mapping[bytes, int]], preferences: PreferenceJudgments
) -> dict[str, dict[bytes, int]]:
    """The judgments (topic -> docno -> grade) and, pooled but not judged, documents only preferences name.

    Measures that distinguish pooled documents from others, infAP, RelString and Judged, see them as such.

    >>> given = PreferenceJudgments({"1": {"": {(b"a", b"b"): 1.0}}})
    >>> with_documents({"1": {b"a": 2}}, given)
    {'1': {b'a': 2, b'b': -1}}
    """
    whole = {topic: dict(grades) for topic, grades in by_topic.items()}
    for topic, judges in preferences.pairs.items():
        grades = whole.setdefault(topic, {})
        for pairs in judges.values():
            for pair in pairs:
                for docno in pair:
                    grades.setdefault(docno, UNJUDGED)
    return whole


def preferences_of(
    preferences: PreferenceJudgments,
    topics: Sequence[str],
    starts: IntArray,
    docnos: Sequence[Sequence[bytes]],
) -> Preferences:
    """The preferences by place of document.

    topics, starts: those of the Judgments; docnos: the judged documents of each topic in their order,
    among them all that the preferences name. Topics that are not in topics are left out.

    >>> given = PreferenceJudgments({"1": {"": {(b"b", b"a"): 2.0}}})
    >>> made = preferences_of(given, ["1"], np.array([0, 2]), [[b"a", b"b"]])
    >>> made.better, made.worse, made.weight
    (array([1]), array([0]), array([2.]))
    """
    rows: list[tuple[int, int, int]] = []
    weights: list[float] = []
    for topic, start, judged in zip(topics, starts[:-1].tolist(), docnos, strict=True):
        place = {docno: start + index for index, docno in enumerate(judged)}
        judges = preferences.pairs.get(topic, {})
        for number, judge in enumerate(sorted(judges, key=bytes_of)):
            rows.extend((place[better], place[worse], number) for better, worse in judges[judge])
            weights.extend(judges[judge].values())
    better, worse, judge_of = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
    count = np.array([len(preferences.pairs.get(topic, ())) for topic in topics], dtype=np.int64)
    return Preferences(better, worse, np.array(weights, dtype=np.float64), judge_of, count)


class _Reader:
    """Collects preferences line by line."""

    def __init__(self) -> None:
        self.problems = Problems("file of preferences")
        self.columns = 0
        self.pairs: dict[str, dict[str, dict[Pair, float]]] = {}
        self.levels = Levels()
        self.count = 0

    def add(self, number: int, line: bytes) -> None:
        """Add a line that is neither blank nor a comment."""
        if problem := unfit_text(number, line):
            self.problems.add(problem)
            return
        fields = line.split()
        self.columns = self.columns or (len(fields) if len(fields) in _FORMS else 3)
        if len(fields) != self.columns:
            self.problems.add(self._wrong_count(number, line))
        elif problem := self._bad_id(number, fields) or self._bad_number(number, fields):
            self.problems.add(problem)
        elif self.columns == 5:
            topic, judge, group, docno, level = fields
            clash = self.levels.add(number, (text_of(topic), text_of(judge), group), docno, float(level))
            if clash:
                self.problems.add(clash)
        else:
            self._add_pair(number, fields)

    def preferences(self) -> PreferenceJudgments:
        """All preferences added; raises Invalid where there were problems."""
        if not self.pairs and not self.levels.groups and not self.problems.found:
            remedy = "Write one line each: topic, better docno, worse docno."
            self.problems.add(Problem("The file has no preferences.", remedy))
        for (topic, judge), groups in self.levels.groups.items():
            self.pairs.setdefault(topic, {})[judge] = self._preferred(judge, groups.values())
        self.problems.stop()
        return PreferenceJudgments(self.pairs, self.levels.notes)

    def _add_pair(self, number: int, fields: list[bytes]) -> None:
        topic, better, worse = fields[:3]
        if better == worse:
            rule = "A document is not better than itself."
            self.problems.add(Problem(rule, "Name two documents.", number, "docno", shown(better)))
            return
        pairs = self.pairs.setdefault(text_of(topic), {}).setdefault("", {})
        weight = float(fields[3]) if len(fields) == 4 else 1.0
        pairs[better, worse] = pairs.get((better, worse), 0.0) + weight

    def _preferred(self, judge: str, groups: Collection[Group]) -> dict[Pair, float]:
        try:
            pairs = preferred(groups, MAX_PREFERENCES - self.count)
        except CycleError as error:
            self.problems.add(contradiction(judge, groups, error))
            return {}
        except TooMany:
            rule = f"The levels make more than {MAX_PREFERENCES:,} preferences."
            self.problems.add(Problem(rule, "Leave out documents, or write grades as qrels."))
            self.problems.stop()
        self.count += len(pairs)
        return dict.fromkeys(sorted(pairs), 1.0)

    def _bad_id(self, number: int, fields: list[bytes]) -> Problem | None:
        for name, value in zip(_FORMS[self.columns], fields, strict=True):
            if len(value) > ID_BYTES and name not in ("weight", "level"):
                rule = f"A {name} has at most {ID_BYTES} bytes; this one has {len(value):,}."
                return Problem(rule, "Check the columns.", number, name, shown(value))
        return None

    def _bad_number(self, number: int, fields: list[bytes]) -> Problem | None:
        name, text = _FORMS[self.columns][-1], fields[-1]
        if self.columns == 3:
            return None
        value = float(text) if _NUMBER.fullmatch(text) else -1.0
        if name == "weight" and not 0.0 < value < math.inf:
            rule, remedy = (
                "A weight is a number above 0.",
                "Levels need five columns: topic judge group docno level.",
            )
        elif name == "level" and not 0.0 <= value < math.inf:
            rule, remedy = "A level must be a number of at least 0.", "The last column is the level."
        else:
            return None
        return Problem(rule, remedy, number, name, shown(text))

    def _wrong_count(self, number: int, line: bytes) -> Problem:
        names = ", ".join(_FORMS[self.columns])
        rule = f"A line has {self.columns} fields ({names}); this one has {len(line.split())}."
        return Problem(rule, "Separate the fields by blanks or tabs.", number, "", shown(line))
