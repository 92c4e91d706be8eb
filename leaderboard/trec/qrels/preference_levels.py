"""Preferences written as levels of documents: trec_eval's prefs, group by group."""

from collections.abc import Collection
from graphlib import CycleError, TopologicalSorter

from leaderboard.errors import Problem
from leaderboard.trec.read.lines import shown

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
        """Take the level of a document in a group, or say why it cannot be."""
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
            rule = "The same level comes twice."
            self.notes = (Problem(rule, "It was taken once.", number, "docno", shown(docno)),)
        return None


class TooMany(Exception):
    """There are more preferences than are taken."""


def preferred(groups: Collection[Group], most: int) -> set[Pair]:
    """What a judge prefers: in every group the higher levels, and what follows from several groups.

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
    rule = (
        f"Judge {shown(judge)} prefers {names}{' and so on' if len(circle) > 5 else ''}, round in a circle."
    )
    remedy = "Make these two judges, or leave out one of the groups."
    return Problem(rule, remedy, line, "docno", shown(circle[0]))
