"""How far the assessors of a pool are, and how long they take."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assignment
from leaderboard.services.assessors.assignments import share_of
from leaderboard.services.assessors.judged_pools import GivenLabel, JudgedPool, PoolAssessor, is_of
from leaderboard.services.assessors.shares import size
from leaderboard.stats.assessors.judging_times import JudgingTimes, judging_times
from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True)
class Progress:
    """One assessor's work in a pool."""

    judge: PoolAssessor
    asked: int
    """Documents to be judged; 0 where labels were imported."""
    judged: int
    skipped: int
    notes: int
    relevant: Annotated[float | None, Shown(digits=3)]
    """Share of the grades that are relevant."""
    times: JudgingTimes
    last_at: datetime | None

    @property
    def left(self) -> int:
        """Documents still to come."""
        return max(self.asked - self.judged - self.skipped, 0)

    @property
    def seconds_left(
        self,
    ) -> Annotated[float | None, Shown("To come", key="left", digits=None, shown=Place.PAGE)]:
        """How long they will take at this pace; None where that is not known."""
        if not self.left or self.times.trimmed_mean is None:
            return None
        return self.left * self.times.trimmed_mean


def progress(session: Session, pool: JudgedPool, whose: str, topic_id: str = "") -> tuple[Progress, ...]:
    """Every assessor with documents or labels in the pool, or in one of its topics."""
    asked = _asked(session, pool, topic_id)
    labels: dict[int, list[GivenLabel]] = {}
    for label in pool.labels:
        labels.setdefault(label.judge.id, []).append(label)
    return tuple(
        _progress(judge, asked.get(judge.id, 0), labels.get(judge.id, ()), pool.facts.level)
        for judge in pool.judges
        if not judge.is_adjudicator and is_of(judge, whose) and (judge.id in asked or judge.id in labels)
    )


def _progress(judge: PoolAssessor, asked: int, labels: Sequence[GivenLabel], level: int) -> Progress:
    grades = [label.grade for label in labels if label.grade is not None]
    return Progress(
        judge=judge,
        asked=asked,
        judged=len(grades),
        skipped=len(labels) - len(grades),
        notes=sum(bool(label.note) for label in labels),
        relevant=sum(grade >= level for grade in grades) / len(grades) if grades else None,
        times=judging_times([label.seconds for label in labels if label.seconds is not None]),
        last_at=max((label.saved_at for label in labels), default=None),
    )


def _asked(session: Session, pool: JudgedPool, topic_id: str) -> dict[int, int]:
    """Id of an assessor -> how many documents were assigned to them."""
    documents = {topic.topic_id: topic.documents for topic in pool.facts.topics}
    query = select(Assignment).where(Assignment.pool_id == pool.facts.id)
    if topic_id:
        query = query.where(Assignment.topic_id == topic_id)
    asked: Counter[int] = Counter()
    for assignment in session.scalars(query):
        count = size(share_of(assignment), documents.get(assignment.topic_id, 0))
        asked[assignment.assessor_id] += count
    return asked
