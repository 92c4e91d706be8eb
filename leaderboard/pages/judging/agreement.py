"""How far each two assessors agree on what both labelled."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.services.judging.judged import GivenLabel, Judge
from leaderboard.stats.assessors import agreement as stats
from leaderboard.stats.assessors.agreement import Confusion, Kappa, Ratings, Share


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """Two assessors on the documents or items both graded."""

    first: Judge
    second: Judge
    documents: int
    raw: Share
    plain: Kappa
    linear: Kappa
    quadratic: Kappa
    overlap: Share
    confusion: Confusion


def ratings(labels: Iterable[GivenLabel]) -> Ratings:
    """The grades of labels as a table; skipped ones have none."""
    return stats.ratings(
        (label.topic_id, label.docno, label.assessor, label.grade)
        for label in labels
        if label.grade is not None
    )


def pairs(
    table: Ratings, judges: Iterable[Judge], *, level: int = 1, grades: Sequence[int] = ()
) -> tuple[PairAgreement, ...]:
    """Each two assessors of a table who share something, most documents first.

    level: from which grade on a document is relevant; grades: all there are, else those given.
    """
    by_name = {judge.name: judge for judge in judges}
    given = table.given.astype(np.int64)
    shared = given @ given.T
    first, second = np.nonzero(np.triu(shared, 1))
    found = []
    for place in np.argsort(-shared[first, second], kind="stable").tolist():
        one, other = int(first[place]), int(second[place])
        both = stats.pair(table, one, other)
        confusion = stats.confusion(*both, grades)
        found.append(
            PairAgreement(
                first=by_name[table.assessors[one]],
                second=by_name[table.assessors[other]],
                documents=len(both[0]),
                raw=stats.raw(confusion),
                plain=stats.cohen(confusion),
                linear=stats.cohen(confusion, "linear"),
                quadratic=stats.cohen(confusion, "quadratic"),
                overlap=stats.overlap(*both, level),
                confusion=confusion,
            )
        )
    return tuple(found)
