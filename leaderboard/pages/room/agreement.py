"""How far assessors agree, and how that moved as their judgments came in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.pages.assessors.agreement import Two
from leaderboard.pages.room.orders import by_time
from leaderboard.services.assessors.judged_pools import GivenLabel, PoolFacts
from leaderboard.stats.assessors import agreement as stats
from leaderboard.stats.assessors.agreement import Alpha, Kappa, Ratings, Scale, Share

MOST_POINTS = 16
"""Points of the curve: enough to see where it goes."""


@dataclass(frozen=True, slots=True)
class AgreementPoint:
    """The agreement after so many judgments."""

    judgments: int
    alpha: float


@dataclass(frozen=True, slots=True)
class RoomAgreement:
    """The agreement on the documents that several judged; kappa is Cohen's of two assessors, else Fleiss'."""

    double: int
    scale: Scale
    """That suits the task's grades."""
    alpha: Alpha
    kappa: Kappa
    raw: Share
    """Of the pairs of grades that a document has."""
    points: tuple[AgreementPoint, ...]
    """By the labels that are in force now, in the order in which they came; the last is that of now."""

    @property
    def kappa_name(self) -> str:
        """Whose kappa it is."""
        return "Cohen’s kappa" if self.kappa.assessors == 2 else "Fleiss’ kappa"


def room_agreement(labels: Sequence[GivenLabel], pool: PoolFacts) -> RoomAgreement:
    """The agreement of assessors by their labels, now and along the way."""
    scale: Scale = "nominal" if pool.is_binary else "ordinal"
    ordered = by_time(labels)
    table = stats.ratings(
        (label.topic_id, label.docno, label.assessor, label.grade)
        for label in ordered
        if label.grade is not None
    )
    double = _several(table)
    return RoomAgreement(
        double=len(double.documents),
        scale=scale,
        alpha=stats.alpha(table, scale),
        kappa=_kappa(double),
        raw=_raw(double),
        points=_points(table, ordered, scale),
    )


def _several(table: Ratings) -> Ratings:
    """The documents that two or more judged."""
    columns = np.flatnonzero(table.given.sum(axis=0) > 1)
    documents = tuple(table.documents[column] for column in columns.tolist())
    return Ratings(table.assessors, documents, table.grades[:, columns], table.given[:, columns])


def _kappa(double: Ratings) -> Kappa:
    rows = np.flatnonzero(double.given.any(axis=1)).tolist()
    if len(rows) == 2:
        return stats.cohen(stats.confusion(*stats.pair(double, *rows)))
    return stats.fleiss(double)


def _raw(double: Ratings) -> Share:
    """The share of equal grades of all pairs that a document has."""
    pairs: list[Two] = [
        stats.pair(double, one, other)
        for one in range(len(double.assessors))
        for other in range(one + 1, len(double.assessors))
    ]
    of = sum(len(first) for first, _ in pairs)
    if not of:
        return Share(None, 0, stats.NOTHING_DOUBLE)
    return Share(sum(int(np.count_nonzero(first == second)) for first, second in pairs) / of, of)


def _points(table: Ratings, ordered: Sequence[GivenLabel], scale: Scale) -> tuple[AgreementPoint, ...]:
    """The alpha after parts of the labels; where it is undefined there is no point."""
    row = {name: place for place, name in enumerate(table.assessors)}
    column = {document: place for place, document in enumerate(table.documents)}
    came = np.full(table.given.shape, len(ordered), dtype=np.int64)
    for place, label in enumerate(ordered):
        came[row[label.assessor], column[label.topic_id, label.docno]] = place
    steps = np.unique(np.linspace(0, len(ordered), MOST_POINTS + 1).round().astype(np.int64))[1:]
    points = []
    for count in steps.tolist():
        given = table.given & (came < count)
        then = stats.alpha(Ratings(table.assessors, table.documents, table.grades * given, given), scale)
        if then.value is not None:
            points.append(AgreementPoint(count, then.value))
    return tuple(points)
