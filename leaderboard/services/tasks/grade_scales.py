"""The grades that assessors of a task may give, and what they are called."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Judgment, Qrels, QrelsRevision, Task
from leaderboard.errors import Invalid, Problem
from leaderboard.services import policy
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import changes
from leaderboard.services.tasks.setting_values import written
from leaderboard.services.tasks.topics import grade_names

BINARY = {0: "not relevant", 1: "relevant"}
LOWEST, HIGHEST = -9, 9
NAME_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Grade:
    """One grade an assessor may give, with the key that gives it."""

    value: int
    name: str
    key: str
    """A digit; empty for grades below 0, which have only their button."""
    is_relevant: bool


def scale(task: Task) -> tuple[Grade, ...]:
    """The task's grades, lowest first: from 0 to the highest that has a name or counts as relevant."""
    named = grade_names(task)
    highest = max([*named, task.level, 1])
    usual = BINARY if highest == 1 else {0: BINARY[0]}
    names = dict.fromkeys(range(highest + 1), "") | usual | named
    return tuple(
        Grade(value, name, str(value) if value >= 0 else "", value >= task.level)
        for value, name in sorted(names.items())
    )


def grades(task: Task) -> frozenset[int]:
    """The grades alone."""
    return frozenset(grade.value for grade in scale(task))


def highest_judged(session: Session, task: Task) -> int | None:
    """The highest grade in the newest revision of each of the task's lines of graded judgments."""
    newest = (
        select(func.max(QrelsRevision.id))
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task.id)
        .group_by(QrelsRevision.qrels_id)
    )
    return session.scalar(select(func.max(Judgment.grade)).where(Judgment.revision_id.in_(newest)))


def reach(session: Session, viewer: Viewer, task: Task, highest: int) -> None:
    """Let assessors of the task give grades up to highest; raises Invalid where that is out of range.

    Nothing changes where the scale ends there already. Otherwise grades without a name are called by their
    number, so that every desk of the task has the same scale.
    """
    if not max(task.level, 1) <= highest <= HIGHEST:
        rule = f"must be from {max(task.level, 1)} to {HIGHEST}."
        raise Invalid(
            "The grades of this pool cannot be set.",
            [Problem(rule, "", field="highest grade", value=str(highest))],
        )
    if highest == scale(task)[-1].value:
        return
    named = {value: name for value, name in grade_names(task).items() if value <= highest}
    usual = {0: BINARY[0], 1: "grade 1" if highest > 1 else BINARY[1]}
    names = {value: f"grade {value}" for value in range(highest + 1)} | usual | named
    before = written(task.grade_names)
    task.grade_names = checked(names)
    changes.note(session, viewer, task, "names of grades", before, written(task.grade_names))


def rename(session: Session, viewer: Viewer, slug: str, named: Mapping[int, str]) -> None:
    """Name a task's grades; raises Invalid where one is out of range, unnamed or too long."""
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    before = written(task.grade_names)
    task.grade_names = checked(named)
    changes.note(session, viewer, task, "names of grades", before, written(task.grade_names))


def checked(named: Mapping[int, str]) -> dict[str, str]:
    """Names of grades as a task keeps them; raises Invalid where one is out of range, unnamed or too long."""
    problems = []
    for grade, name in named.items():
        if not LOWEST <= grade <= HIGHEST:
            rule = f"must be a whole number from {LOWEST} to {HIGHEST}."
            problems.append(Problem(rule, "", field="grade", value=str(grade)))
        if not 1 <= len(name.strip()) <= NAME_CHARACTERS:
            rule = f"must be 1 to {NAME_CHARACTERS} characters."
            problems.append(Problem(rule, "", field=f"name of grade {grade}", value=name[:60]))
    if named and 0 not in named:
        problems.append(Problem("is missing.", "Name grade 0 too: not relevant.", field="grade", value="0"))
    if problems:
        raise Invalid("The grades cannot be named like this.", problems)
    return {str(grade): name.strip() for grade, name in sorted(named.items())}
