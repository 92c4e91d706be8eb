"""What was judged together: who gave which label to what, as agreement, decisions and settling need it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy.orm import Session

from leaderboard.db.tables import Task
from leaderboard.services.judging import links
from leaderboard.stats.assessors.settling import RuleKey, Settled, settle
from leaderboard.tables import record
from leaderboard.tables.record import Shown

WHOSE = {"human": "people", "machine": "machines", "all": "people and machines beside each other"}
"""Whose labels a page looks at, by its name in an address, and how a form calls it."""
Place = tuple[str, str]
"""Topic and document, or the name that an item has within its topic."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A person or a machine with labels, or asked for them."""

    id: int
    name: Annotated[str, Shown(key="assessor")]
    is_machine: bool
    machine: Annotated[str, Shown(shown=~record.Place.PAGE)]
    """Which one; empty of people."""
    is_adjudicator: bool

    @property
    def origin(self) -> Annotated[str, Shown(shown=~record.Place.PAGE)]:
        """`machine` or `human`."""
        return links.MACHINE if self.is_machine else links.HUMAN

    def is_of(self, whose: str) -> bool:
        """Whether it is one of people, machines or all."""
        return whose == "all" or self.is_machine == (whose == "machine")


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A judge's label that is in force; grade None where it was skipped, or the judge could not say."""

    topic_id: Annotated[str, Shown(key="topic")]
    docno: Annotated[str, Shown("Document")]
    judge: Judge
    grade: Annotated[int | None, Shown(digits=None)]
    saved_at: datetime
    note: str = ""
    seconds: float | None = None

    @property
    def assessor(self) -> str:
        """The judge's name."""
        return self.judge.name

    @property
    def place(self) -> Place:
        """What is labelled."""
        return self.topic_id, self.docno


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedLabels:
    """Everybody's labels, adjudicators' apart."""

    judges: tuple[Judge, ...]
    labels: tuple[GivenLabel, ...]
    """Of assessors."""
    decisions: tuple[GivenLabel, ...]
    """Of adjudicators."""

    def labels_of(self, whose: str) -> tuple[GivenLabel, ...]:
        """Assessors' labels of people, of machines, or of both."""
        return tuple(label for label in self.labels if label.judge.is_of(whose))

    def decided(self) -> dict[Place, GivenLabel]:
        """Place -> the adjudicators' last decision."""
        by_time = sorted(self.decisions, key=lambda label: label.saved_at)
        return {label.place: label for label in by_time if label.grade is not None}


def judges_of(session: Session, task: Task) -> tuple[Judge, ...]:
    """Who judges or judged for a task: people first, then machines, by name; one statement."""
    return tuple(
        Judge(
            id=assessor.id,
            name=assessor.name,
            is_machine=assessor.origin == links.MACHINE,
            machine=assessor.origin_name,
            is_adjudicator=assessor.role == links.ADJUDICATOR,
        )
        for assessor in links.of_task(session, task.id)
    )


def by_place(labels: Iterable[GivenLabel]) -> dict[Place, list[GivenLabel]]:
    """Place -> its labels, in the order given."""
    found: dict[Place, list[GivenLabel]] = {}
    for label in labels:
        found.setdefault(label.place, []).append(label)
    return found


def grades_of(labels: Iterable[GivenLabel]) -> set[int]:
    """The grades that some labels give."""
    return {label.grade for label in labels if label.grade is not None}


def settled_by(labels: Collection[GivenLabel], rule: RuleKey) -> Settled:
    """One grade a place by a rule of RULES."""
    adjudicators = {label.assessor for label in labels if label.judge.is_adjudicator}
    return settle(labels, rule, adjudicators=adjudicators)
