"""One-topic examples small enough to work out by hand, for the measures' docstrings and docs."""

from collections.abc import Iterable, Mapping

import numpy as np

from leaderboard.measures.judged import Judged, Judgments


def judged(
    hits: Mapping[int, int],
    *,
    missed: Iterable[int] = (),
    retrieved: int | None = None,
    dialect: int = 10,
    collection_size: int | None = None,
) -> Judged:
    """One topic's ranking with the given grade at each judged rank, as every measure takes it.

    missed: grades of judged documents that were not retrieved; retrieved: length of the ranking,
    by default up to the last judged rank.

    >>> judged({1: 2, 3: 0}, missed=[1]).judgments.grades
    array([2, 0, 1])
    """
    rank = np.array(sorted(hits), dtype=np.int64)
    grades = np.array([*(hits[rank] for rank in sorted(hits)), *missed], dtype=np.int64)
    judgments = Judgments(("1",), grades, np.array([0, len(grades)]), collection_size=collection_size)
    length = int(rank.max(initial=0)) if retrieved is None else retrieved
    hit = np.arange(len(rank))
    return Judged(judgments, np.zeros(len(rank), dtype=np.int64), rank, hit, np.array([length]), dialect)
