"""How judgments come in: the last hour of each assessor, the share that is done of each topic."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from leaderboard.pages.room.scene import RoomPool
from leaderboard.services.assessors.judged_pools import GivenLabel, JudgedPool, PoolAssessor, TopicOfPool

BIN = timedelta(minutes=2)
BINS = 30
RECENT = timedelta(minutes=10)
"""What the pace of now is taken over."""


@dataclass(frozen=True, slots=True)
class AssessorPace:
    """One assessor's part and the last hour of it."""

    judge: PoolAssessor
    asked: int
    judged: int
    recent: int
    """Judgments of the last ten minutes."""
    counts: tuple[int, ...]
    """Judgments by two minutes, the oldest first."""
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """How many of a topic's documents have a grade."""

    topic: TopicOfPool
    judged: int

    @property
    def share(self) -> float:
        """From 0 to 1; a topic without documents to judge is done."""
        return self.judged / self.topic.documents if self.topic.documents else 1.0


def paces(scene: RoomPool, pool: JudgedPool, at: datetime) -> tuple[AssessorPace, ...]:
    """The people who were asked for documents or judged some, by name, as of a moment."""
    asked = {queue.assessor_id: sum(map(len, queue.topics.values())) for queue in scene.queues}
    own: dict[int, list[GivenLabel]] = {}
    for label in pool.labels_of("human"):
        if label.grade is not None:
            own.setdefault(label.judge.id, []).append(label)
    return tuple(
        _pace(judge, asked.get(judge.id, 0), own.get(judge.id, []), at)
        for judge in scene.judges
        if not judge.is_machine and not judge.is_adjudicator and (judge.id in asked or judge.id in own)
    )


def topics_done(pool: JudgedPool) -> tuple[TopicProgress, ...]:
    """The topics in the task's order with how much of each people judged."""
    graded = {(label.topic_id, label.docno) for label in pool.labels_of("human") if label.grade is not None}
    counts = Counter(topic for topic, _ in graded)
    return tuple(TopicProgress(topic, counts[topic.topic_id]) for topic in pool.facts.topics)


def _pace(judge: PoolAssessor, asked: int, labels: Sequence[GivenLabel], at: datetime) -> AssessorPace:
    ages = [at - label.saved_at for label in labels if label.saved_at > at - BINS * BIN]
    bins = Counter(max(age, timedelta(0)) // BIN for age in ages)
    return AssessorPace(
        judge=judge,
        asked=asked,
        judged=len(labels),
        recent=sum(age <= RECENT for age in ages),
        counts=tuple(bins[place] for place in reversed(range(BINS))),
        last_at=max((label.saved_at for label in labels), default=None),
    )
