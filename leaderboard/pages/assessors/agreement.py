"""How far the assessors of a pool agree, while they judge: pairs of them, all together, topic by topic."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assignment
from leaderboard.errors import Invalid, NotFound
from leaderboard.pages.assessors.boards_by_assessor import BoardsByAssessor, boards_by_assessor
from leaderboard.pages.judging import agreement
from leaderboard.pages.judging.agreement import PairAgreement
from leaderboard.services.assessors import assignments, judged_pools
from leaderboard.services.assessors.judged_pools import JudgedPool, PoolFacts, TopicOfPool
from leaderboard.services.judging.judged import WHOSE, GivenLabel, Judge
from leaderboard.services.policy import Viewer
from leaderboard.stats.assessors import agreement as stats
from leaderboard.stats.assessors.agreement import Alpha, IntArray, Kappa, Ratings, Scale, Share
from leaderboard.stats.assessors.judging_times import JudgingTimes, judging_times
from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True)
class Progress:
    """One assessor's work in a pool."""

    judge: Judge
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
    query = select(Assignment).where(Assignment.pool_id == pool.facts.id)
    if topic_id:
        query = query.where(Assignment.topic_id == topic_id)
    asked = assignments.asked(session.scalars(query), pool.facts.documents_of)
    labels: dict[int, list[GivenLabel]] = {}
    for label in pool.labels:
        labels.setdefault(label.judge.id, []).append(label)
    return tuple(
        _progress(judge, asked.get(judge.id, 0), labels.get(judge.id, ()), pool.facts.level)
        for judge in pool.judges
        if not judge.is_adjudicator and judge.is_of(whose) and (judge.id in asked or judge.id in labels)
    )


def _progress(judge: Judge, asked: int, labels: Sequence[GivenLabel], level: int) -> Progress:
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


SCALES: dict[Scale, str] = {
    "nominal": "grades are names",
    "ordinal": "grades are in order",
    "interval": "differences of grades count",
}
Two = tuple[IntArray, IntArray]
"""The grades two assessors gave to the same documents."""


@dataclass(frozen=True, slots=True)
class TopicAgreement:
    """The assessors on one topic."""

    topic: TopicOfPool
    judged: int
    """Documents with a grade."""
    double: Annotated[int, Shown("By several", key="judged_by_several")]
    """Documents with the grades of two or more."""
    raw: Share
    alpha: Alpha
    disagreements: Annotated[int, Shown("Different")]
    relevant: Annotated[float | None, Shown(digits=3)]
    """Share of the grades that are relevant."""


@dataclass(frozen=True, slots=True, eq=False)
class AgreementOfAll:
    """All assessors on the documents that several graded."""

    judged: int
    double: int
    disagreements: int
    raw: Share
    """Of the pairs of grades that a document has."""
    overlap: Share
    """Of the same pairs, by whether they are relevant."""
    fleiss: Kappa
    alphas: dict[Scale, Alpha]


@dataclass(frozen=True, slots=True, eq=False)
class AgreementPage:
    """What the organisers of a pool see of its assessors' agreement."""

    pool: PoolFacts
    whose: str
    topic_id: str
    """Of the topic that is looked at alone; empty for all."""
    scale: Scale
    """That suits the task's grades."""
    together: AgreementOfAll
    pairs: tuple[PairAgreement, ...]
    """Those that share a document, most documents first."""
    chosen: PairAgreement | None
    """The pair whose grades are set against each other."""
    topics: tuple[TopicAgreement, ...]
    progress: tuple[Progress, ...]
    remarks: tuple[GivenLabel, ...]
    """Skipped documents and labels with a note, the latest first."""
    machines: bool
    """Whether the task has any."""
    boards: BoardsByAssessor | None
    """The order of the runs under each assessor, of all topics; None unless it was asked for."""


def agreement_page(
    session: Session,
    viewer: Viewer,
    slug: str,
    number: int,
    *,
    whose: str = "human",
    topic_id: str = "",
    pair: tuple[int | None, int | None] = (None, None),
    with_boards: bool = False,
) -> AgreementPage:
    """The agreement of a pool's assessors as it is now, of all topics or of one.

    whose: `human`, `machine` or `all`; pair: ids of the two whose confusion table is shown, by default
    those with most documents in common; with_boards takes seconds. Raises NotFound for an unknown pool,
    topic or pair, Invalid for another `whose`, SignInNeeded or Forbidden unless the viewer organises the
    task.
    """
    if whose not in WHOSE:
        raise Invalid(f"Labels are of one of {', '.join(WHOSE)}, not {whose[:20]!r}.")
    _, judged = judged_pools.judged_pool(session, viewer, slug, number, topic_id or None)
    pool = judged.facts
    if topic_id and topic_id not in {topic.topic_id for topic in pool.topics}:
        raise NotFound(f"Pool {number} has no topic {topic_id!r}.", topic=topic_id)
    labels = judged.labels_of(whose)
    scale: Scale = "nominal" if pool.is_binary else "ordinal"
    table, grades = agreement.ratings(labels), [grade.value for grade in pool.scale]
    pairs = agreement.pairs(table, judged.judges, level=pool.level, grades=grades)
    topics = [topic for topic in pool.topics if not topic_id or topic.topic_id == topic_id]
    return AgreementPage(
        pool=pool,
        whose=whose,
        topic_id=topic_id,
        scale=scale,
        together=_together(table, pool),
        pairs=pairs,
        chosen=_chosen(pairs, pair),
        topics=_by_topic(table, topics, pool, scale),
        progress=progress(session, judged, whose, topic_id),
        remarks=_remarks(labels),
        machines=any(judge.is_machine for judge in judged.judges),
        boards=boards_by_assessor(session, viewer, slug, number, whose) if with_boards else None,
    )


@dataclass(frozen=True, eq=False)
class _Double:
    """The documents of a table that several judged, and every pair of grades they have."""

    table: Ratings

    @cached_property
    def columns(self) -> IntArray:
        """Places of documents with two or more grades."""
        return np.flatnonzero(self.table.given.sum(axis=0) > 1)

    @cached_property
    def pairs(self) -> Two:
        """Of each such document each two grades."""
        ones, others = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        count = self.table.given.sum(axis=0)
        for several in np.unique(count[self.columns]).tolist():
            columns = np.flatnonzero(count == several)
            # By document, then assessor: as many grades of each.
            given = self.table.grades[:, columns].T[self.table.given[:, columns].T].reshape(-1, several)
            first, second = np.triu_indices(several, 1)
            ones.append(given[:, first].ravel())
            others.append(given[:, second].ravel())
        return np.concatenate(ones), np.concatenate(others)

    @cached_property
    def disagreements(self) -> int:
        """Documents with different grades."""
        grades, given = self.table.grades[:, self.columns], self.table.given[:, self.columns]
        low = np.where(given, grades, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
        high = np.where(given, grades, np.iinfo(np.int64).min).max(axis=0, initial=np.iinfo(np.int64).min)
        return int(np.count_nonzero(low < high))


def _together(table: Ratings, pool: PoolFacts) -> AgreementOfAll:
    double = _Double(table)
    ones, others = double.pairs
    return AgreementOfAll(
        judged=len(table.documents),
        double=len(double.columns),
        disagreements=double.disagreements,
        raw=_raw(double.pairs),
        overlap=stats.overlap(ones, others, pool.level),
        fleiss=stats.fleiss(table),
        alphas={scale: stats.alpha(table, scale) for scale in SCALES},
    )


def _raw(pairs: Two) -> Share:
    share = stats.raw(stats.confusion(*pairs))
    return share if share.of else Share(None, 0, stats.NOTHING_DOUBLE)


def _chosen(pairs: Sequence[PairAgreement], ids: tuple[int | None, int | None]) -> PairAgreement | None:
    if ids == (None, None):
        return pairs[0] if pairs else None
    for pair in pairs:
        if {pair.first.id, pair.second.id} == set(ids):
            return pair
    raise NotFound("These two assessors have no document in common.")


def _by_topic(
    table: Ratings, topics: Sequence[TopicOfPool], pool: PoolFacts, scale: Scale
) -> tuple[TopicAgreement, ...]:
    """Documents are sorted by topic, so each topic is one stretch of the table."""
    names = np.array([topic for topic, _ in table.documents], dtype=object)
    edges = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
    part = {names[start]: slice(start, end) for start, end in pairwise(edges) if end > start}
    agreements = []
    for topic in topics:
        where = part.get(topic.topic_id, slice(0, 0))
        here = Ratings(table.assessors, table.documents[where], table.grades[:, where], table.given[:, where])
        double, graded = _Double(here), here.grades[here.given]
        agreements.append(
            TopicAgreement(
                topic=topic,
                judged=len(here.documents),
                double=len(double.columns),
                raw=_raw(double.pairs),
                alpha=stats.alpha(here, scale),
                disagreements=double.disagreements,
                relevant=float((graded >= pool.level).mean()) if graded.size else None,
            )
        )
    return tuple(agreements)


def _remarks(labels: Sequence[GivenLabel]) -> tuple[GivenLabel, ...]:
    remarkable = [label for label in labels if label.grade is None or label.note]
    return tuple(sorted(remarkable, key=lambda label: label.saved_at, reverse=True))
