"""Between which ends scores lie while some documents are open and all others settled, for many runs at once.

The bounds of this folder take every unjudged document as open. Here a run's ranks without a judged document
are filled with one that is not relevant, so that the documents of grade -1 alone are open.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leaderboard.measures.binding import BoundMeasure, like
from leaderboard.measures.bounds.ndcg import NDCG_MAX, NDCG_MIN
from leaderboard.measures.bounds.scores import AP_MAX, AP_MIN
from leaderboard.measures.judged import UNJUDGED, FloatArray, IntArray, Judged, Judgments

_FALLING = {"AP": (AP_MIN, AP_MAX), "nDCG": (NDCG_MIN, NDCG_MAX)}
"""Measures that a relevant document may lower, as it is one more to be found; with what bounds them."""


def stack(runs: Sequence[Judged]) -> Judged:
    """Runs on the same judgments as one, whose topics are those of the first run, of the second, and so on.

    Raises ValueError for no run.

    >>> from leaderboard.measures.example import judged
    >>> both = stack([judged({1: 1}), judged({2: 1})])
    >>> both.topic, both.rank, both.document
    (array([0, 1]), array([1, 2]), array([0, 1]))
    """
    if not runs:
        raise ValueError("there is nothing to stack")
    first, times = runs[0].judgments, len(runs)
    topics, documents = len(first), len(first.grades)
    starts = [first.starts[:-1] + documents * place for place in range(times)]
    return Judged(
        Judgments(
            first.topics * times, np.tile(first.grades, times), np.concatenate([*starts, [documents * times]])
        ),
        np.concatenate([run.topic + topics * place for place, run in enumerate(runs)]),
        np.concatenate([run.rank for run in runs]),
        np.concatenate([run.document + documents * place for place, run in enumerate(runs)]),
        np.concatenate([run.retrieved for run in runs]),
        runs[0].dialect,
    )


def filled(judged: Judged, cutoff: int | None) -> Judged:
    """The run down to its last judged document within the cutoff, with one of grade 0 on every other rank.

    The first document of each topic stands for all of these; what lies deeper cannot become a hit.

    >>> from leaderboard.measures.example import judged
    >>> full = filled(judged({2: 1, 4: 0}), 3)
    >>> full.rank, full.grade, full.retrieved
    (array([1, 2]), array([0, 1]), array([2]))
    """
    topics = len(judged.judgments)
    kept = judged.rank <= (cutoff or np.inf)
    topic, rank, document = judged.topic[kept], judged.rank[kept], judged.document[kept]
    deep = np.zeros(topics, dtype=np.int64)
    np.maximum.at(deep, topic, rank)
    begins = np.cumsum(deep) - deep
    every = np.repeat(np.arange(topics, dtype=np.int64), deep)
    documents = judged.judgments.starts[every] + every
    documents[begins[topic] + rank - 1] = document + topic + 1
    return Judged(
        _with_one_more(judged.judgments),
        every,
        np.arange(1, len(every) + 1) - begins[every],
        documents,
        deep,
        judged.dialect,
    )


def regraded(judged: Judged, grades: IntArray) -> Judged:
    """The run under other grades of the same documents, (documents,)."""
    return replace(judged, judgments=replace(judged.judgments, grades=grades))


def open_ends(
    bound: BoundMeasure, judged: Judged, full: Judged, highest: int
) -> tuple[FloatArray, FloatArray]:
    """The lowest and highest score of each topic, (topics,) both.

    Whatever grade of 0 to highest the documents of grade -1 have, retrieved or not; full: the run as `filled`
    to the measure's cutoff.

    Relevant at rank 1, open at 2: 1/2 or 2/2.

    >>> from leaderboard.measures.example import judged
    >>> from leaderboard.measures.grammar import parse
    >>> run = judged({1: 1, 2: -1})
    >>> open_ends(parse("P@2"), run, filled(run, 2), 1)
    (array([0.5]), array([1.]))
    """
    if bound.measure.name in _FALLING:
        low, high = (
            like(bound, end, highest).compute(regraded(full, _spread(full, judged)))
            for end in _FALLING[bound.measure.name]
        )
        return low, np.maximum(low, high)
    grades = judged.judgments.grades
    best = regraded(judged, np.where(grades == UNJUDGED, highest, grades))
    return bound.compute(judged), bound.compute(best)


def _with_one_more(judgments: Judgments) -> Judgments:
    """The judgments with a document of grade 0 more at the begin of each topic."""
    starts = judgments.starts + np.arange(len(judgments.starts))
    grades = np.zeros(len(judgments.grades) + len(judgments), dtype=np.int64)
    grades[np.arange(len(judgments.grades)) + judgments.topic + 1] = judgments.grades
    return Judgments(judgments.topics, grades, starts)


def _spread(full: Judged, judged: Judged) -> IntArray:
    """The grades that the run has, as documents of the filled one."""
    grades = np.zeros_like(full.judgments.grades)
    grades[np.arange(len(judged.judgments.grades)) + judged.judgments.topic + 1] = judged.judgments.grades
    return grades
