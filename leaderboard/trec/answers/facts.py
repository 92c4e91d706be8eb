"""What a file of answers amounts to: how many answers, how long, citing how much, what was cut."""

from collections import Counter
from statistics import median
from typing import Any

from leaderboard.trec.answers.counting import COUNTS, Unit
from leaderboard.trec.answers.dialects import Dialect
from leaderboard.trec.answers.record import Answer


class AnswerFacts:
    """Counts of the answers of one file, added up one by one."""

    def __init__(self) -> None:
        self.run = ""
        self.missing = 0
        self._counts: Counter[str] = Counter()
        self._lengths: list[int] = []

    def add(self, sent: Answer, counted: Answer, unit: Unit) -> None:
        """Count an answer as it was sent, and as it counts after it was cut."""
        self.run = self.run or sent.run
        self._lengths.append(COUNTS[unit](sent.texts))
        cited = [len(segment.citations) for segment in sent.segments]
        self._counts.update(
            answers=1,
            segments=len(cited),
            citations=sum(cited),
            uncited=cited.count(0),
            references=len(sent.references),
            cut=int(len(counted.segments) < len(sent.segments)),
            empty=int(not counted.text),
        )

    def as_json(self, dialect: Dialect, unit: Unit) -> dict[str, Any]:
        """The facts as plain values: counts, and the least, median and greatest length in the unit."""
        lengths = self._lengths or [0]
        names = ("answers", "segments", "citations", "uncited", "references", "cut", "empty")
        return {
            "run": self.run,
            "dialect": dialect.name,
            **{name: self._counts[name] for name in names},
            "missing": self.missing,
            "length": {
                "unit": unit,
                "min": min(lengths),
                "median": float(median(lengths)),
                "max": max(lengths),
            },
        }
