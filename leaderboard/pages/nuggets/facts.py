"""What a revision of judgments of answers holds, as pages say it; loaded where there are rankings too."""

from dataclasses import dataclass, field
from typing import Any

from leaderboard.db.tables import Task
from leaderboard.errors import NotFound


def require_rankings(task: Task) -> None:
    """Raise NotFound for a task of answers or judges, on pages that look at rankings of documents."""
    if task.kind != "rankings":
        raise NotFound(
            f"{task.name} takes {task.kind}, which rank no documents: there is nothing to show here."
        )


@dataclass(frozen=True, slots=True)
class AnswersNote:
    """What was noticed when files were read; links: (topic, run number) of answers that it is about."""

    rule: str
    remedy: str
    links: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersFacts:
    """What a revision holds of nuggets and labels.

    parts: those that are there; made_by: (part, who made it) in words; median_vital: of the topics with
    nuggets the median number of vital ones; without_vital, without_nuggets: topics of the task that lack
    them; leaves_out: whether the former are left out of measures of vital nuggets; failed: the share of
    assignments that failed, None without assignments.
    """

    parts: tuple[str, ...]
    made_by: tuple[tuple[str, str], ...]
    nuggets: int
    topics: int
    runs: int
    median_vital: float | None
    without_vital: tuple[str, ...]
    without_nuggets: tuple[str, ...]
    leaves_out: bool
    failed: float | None
    notes: tuple[AnswersNote, ...] = field(default=())


def facts(of: AnswersFacts) -> dict[str, Any]:
    """The facts as plain values."""
    return {
        "made_by": dict(of.made_by),
        "nuggets": of.nuggets,
        "topics_with_nuggets": of.topics,
        "runs": of.runs,
        "median_vital": of.median_vital,
        "without_vital": list(of.without_vital),
        "without_nuggets": list(of.without_nuggets),
        "leaves_out_without_vital": of.leaves_out,
        "failed": of.failed,
        "notes": [{"rule": note.rule, "remedy": note.remedy} for note in of.notes],
    }
