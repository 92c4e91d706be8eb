"""What the check of a run file found, as an object and as plain values."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from leaderboard.errors import Problem

EXAMPLES = 5
"""Values that a problem which stands for several names."""
_VARYING = re.compile(r"\S*\d\S*")


@dataclass(frozen=True)
class Report:
    """What was found in a run file: problems reject it, warnings do not; facts describe it.

    facts, {} where the file was not read to its end: tag, tags, entries, topics (found), missing (number of
    topics without documents), depth {min, median, max}, ties (share), metadata (whether it has any),
    preview (first entries as read).
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether the file makes a run."""
        return not self.problems

    @property
    def fixes(self) -> tuple[str, ...]:
        """The names of the fixes that mend something in the file, those of problems first."""
        found = (problem.fix for problem in (*self.problems, *self.warnings))
        return tuple(dict.fromkeys(name for name in found if name))

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.problems:
            return "rejected"
        return "accepted with warnings" if self.warnings else "accepted"

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "accepted": self.accepted,
            "problems": [asdict(problem) for problem in self.problems],
            "warnings": [asdict(warning) for warning in self.warnings],
            "facts": self.facts,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Report":
        """The report that as_json made."""
        return cls(
            tuple(map(_problem, stored["problems"])),
            tuple(map(_problem, stored["warnings"])),
            stored["facts"],
        )


def _problem(stored: dict[str, Any]) -> Problem:
    return Problem(**{**stored, "examples": tuple(stored.get("examples", ()))})


def grouped(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """One problem for all that differ in lines, values and numbers only, in the order of the first of each.

    >>> [str(one) for one in grouped([Problem("Bad.", line=1), Problem("Bad.", line=2)])]
    ['line 1: Bad. (and 1 more like it)']
    """
    kinds: defaultdict[tuple[str, str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        kinds[problem.field, _VARYING.sub("#", problem.rule), problem.fix].append(problem)
    return tuple(map(_one_for, kinds.values()))


def _one_for(alike: list[Problem]) -> Problem:
    if len(alike) == 1:
        return alike[0]
    values = dict.fromkeys(problem.value for problem in alike if problem.value)
    return replace(alike[0], count=sum(one.count for one in alike), examples=tuple(values)[:EXAMPLES])
