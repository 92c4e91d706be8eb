"""What the check of a run file found, as an object and as plain values."""

from dataclasses import asdict, dataclass, field
from typing import Any

from leaderboard.errors import Problem


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
            tuple(Problem(**problem) for problem in stored["problems"]),
            tuple(Problem(**warning) for warning in stored["warnings"]),
            stored["facts"],
        )
