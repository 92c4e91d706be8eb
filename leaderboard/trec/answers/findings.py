"""Findings of a check: errors one by one up to 25, similar warnings as one."""

from dataclasses import replace

from leaderboard.errors import MAX_PROBLEMS, Problem
from leaderboard.trec.answers.dialects import Dialect, Finding
from leaderboard.trec.runs.check import EXAMPLES


class Enough(Exception):
    """The maximum number of reported errors was reached."""


class Findings:
    """The findings of one file; memory does not grow with how often a warning is met."""

    def __init__(self) -> None:
        self.errors: list[Problem] = []
        self._warnings: dict[str, Problem] = {}

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """One problem for each kind of warning, in the order of the first of each."""
        return tuple(self._warnings.values())

    def found(self, dialect: Dialect, finding: Finding, problem: Problem) -> None:
        """Add a finding as an error or a warning by the dialect; raises Enough with the 25th error."""
        severity = dialect.severity(finding)
        if severity == "error":
            self.error(problem)
        elif severity == "warning":
            self.warn(finding, problem)

    def error(self, problem: Problem) -> None:
        """Keep an error; raises Enough with the 25th."""
        self.errors.append(problem)
        if len(self.errors) >= MAX_PROBLEMS:
            raise Enough

    def warn(self, kind: str, problem: Problem) -> None:
        """Keep a warning, or count it to the first of its kind and field."""
        key = f"{kind} {problem.field}"
        first = self._warnings.get(key)
        if first is None:
            self._warnings[key] = replace(problem, examples=(problem.value,) if problem.value else ())
            return
        examples = first.examples
        if problem.value and problem.value not in examples and len(examples) < EXAMPLES:
            examples = (*examples, problem.value)
        self._warnings[key] = replace(first, count=first.count + 1, examples=examples)
