"""Interpolated precision at levels of recall."""

from collections.abc import Sequence

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.measures.precision import up_from_a_tenth
from leaderboard.measures.record import JUDGED_ONLY, REL, Levels, Measure, Parameter, TrecName

ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
THREE = {"trec": (0.2, 0.5, 0.8), "quartiles": (0.25, 0.5, 0.75)}

_CITATION = "Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005"
_NOTE = (
    "The number of relevant documents at a recall of x depends on the version: trec_eval 9 rounds x · R "
    "up from a "
    "fraction of 0.1 on, trec_eval 10 to the nearest whole number, up from a half. The dialect decides. "
    "If -J leaves no document, trec_eval prints nan; here it is 0."
)


def interpolated_precision(judged: Judged, *, recall: float, rel: int = 1) -> FloatArray:
    """The best precision at or below the rank that reaches a recall, float64 (topics,), 0 to 1.

    Recall x is reached at the m-th relevant document, m = x · R as a whole number in the dialect's
    way; at m = 0 it is the best precision anywhere. 0 where the ranking never gets there.
    Source: trec_eval `iprec_at_recall_x`.

    Relevant documents at ranks 1, 4 and 5: the second one is reached with precision 2/4, but 3/5 at
    the third is better.

    >>> from leaderboard.measures.richer_examples import judged
    >>> interpolated_precision(judged({1: 1, 4: 1, 5: 1}, missed=[1]), recall=0.5)
    array([0.6])
    """
    if recall in ELEVEN:
        # Who asks for one of the usual levels mostly asks for all.
        usual = judged.keep(("eleven", rel), lambda: precision_at_recalls(judged, ELEVEN, rel=rel))
        of_level: FloatArray = usual[ELEVEN.index(recall)]
        return of_level
    return best_precision_from(judged, rel, _needed(judged, recall, rel))


def eleven_point_average(judged: Judged, *, rel: int = 1, levels: Levels | None = None) -> FloatArray:
    """The mean of interpolated precision at recall 0, 0.1, ... 1 or at levels, float64 (topics,), 0 to 1.

    Source: trec_eval `11pt_avg`.

    Relevant documents at ranks 1 and 4, no others: 1 while the first is enough, then 2/4. It is up to
    recall 0.7 in trec_eval 10, so (8 + 3/2) / 11, and up to 0.5 in trec_eval 9, so (6 + 5/2) / 11.

    >>> from leaderboard.measures.richer_examples import judged
    >>> eleven_point_average(judged({1: 1, 4: 1}, dialect=10))
    array([0.86363636])
    >>> eleven_point_average(judged({1: 1, 4: 1}, dialect=9))
    array([0.77272727])
    """
    return _average(judged, levels or ELEVEN, rel)


def three_point_average(judged: Judged, *, rel: int = 1, points: str = "trec") -> FloatArray:
    """The mean of interpolated precision at three levels of recall, float64 (topics,), 0 to 1.

    Recall 0.2, 0.5 and 0.8, or 0.25, 0.5 and 0.75 with points='quartiles'. Source: trec_eval,
    `3-pt_avg` up to version 8, `11pt_avg` with these levels since.

    One of four relevant documents found, at rank 2: 1/2 at recall 0.25, then 0.

    >>> from leaderboard.measures.richer_examples import judged
    >>> three_point_average(judged({2: 1}, missed=[1, 1, 1]), points="quartiles")
    array([0.16666667])
    """
    return _average(judged, THREE[points], rel)


def precision_at_recalls(judged: Judged, recalls: Sequence[float], *, rel: int = 1) -> FloatArray:
    """Interpolated precision at several levels of recall at once, (recalls, topics).

    >>> from leaderboard.measures.richer_examples import judged
    >>> precision_at_recalls(judged({1: 1, 4: 1, 5: 1}, missed=[1]), (0.0, 0.5))
    array([[1. ],
           [0.6]])
    """
    needed = judged.judgments.keep(
        ("needed", tuple(recalls), rel, judged.dialect),
        lambda: np.array([_needed(judged, recall, rel) for recall in recalls]),
    )
    return _best_precision(judged, rel, needed)


def best_precision_from(judged: Judged, rel: int, needed: IntArray) -> FloatArray:
    """The best precision at or below each topic's needed-th relevant document, (topics,).

    0 where the ranking has fewer; a need of 0 is one of 1. Precision is best at a relevant document,
    so only those are considered.
    """
    best: FloatArray = _best_precision(judged, rel, needed[None])[0]
    return best


def _best_precision(judged: Judged, rel: int, needed: IntArray) -> FloatArray:
    """The same for several needs of each topic, (needs, topics)."""
    precision, ends = judged.keep(("precision", rel), lambda: _precision(judged, rel))
    count = judged.relevant_count(rel)
    ends = np.broadcast_to(ends, needed.shape)
    needed = np.maximum(needed, 1)
    reached = count >= needed
    best = np.zeros(needed.shape)
    if reached.any():
        # reduceat takes from each place to the next: first to last of a topic, then to the next first.
        places = np.column_stack(((ends - count + needed - 1)[reached], ends[reached])).ravel()
        best[reached] = np.maximum.reduceat(precision, places)[::2]
    return best


def _precision(judged: Judged, rel: int) -> tuple[FloatArray, IntArray]:
    """The precision at every relevant document, 0 after the last; and where those of each topic end."""
    hits = judged.relevant(rel)
    return np.append(hits.nth / hits.rank, 0.0), np.cumsum(judged.relevant_count(rel))


def _needed(judged: Judged, recall: float, rel: int) -> IntArray:
    total = judged.judgments.relevant(rel)
    if judged.dialect == 9:
        return up_from_a_tenth(recall, total)
    share = recall * total
    whole = np.trunc(share)
    needed: IntArray = (whole + (share - whole >= 0.5)).astype(np.int64)
    return needed


def _average(judged: Judged, levels: tuple[float, ...], rel: int) -> FloatArray:
    total = np.zeros(len(judged.judgments))
    for recall in reversed(levels):
        total += interpolated_precision(judged, recall=recall, rel=rel)
    return total / len(levels)


IPREC = Measure(
    name="IPrec",
    title="Interpolated precision at a level of recall",
    formula="max over ranks i at or below that of the m-th relevant document of (relevant in top i) / i",
    citation=_CITATION,
    compute=interpolated_precision,
    parameters=(
        REL,
        Parameter("recall", "number", "The level of recall.", 0.0, 1.0, required=True, at=True),
        JUDGED_ONLY,
    ),
    trec_names=(TrecName("iprec_at_recall", "recall", decimals=2),),
    note=_NOTE,
)

IAP11 = Measure(
    name="IAP11",
    title="11-point interpolated average precision",
    formula="1/11 · Σ over x = 0, 0.1, ... 1 of IPrec@x",
    citation=_CITATION,
    compute=eleven_point_average,
    parameters=(
        REL,
        Parameter("levels", "levels", "Other levels of recall, such as {0.2,0.5,0.8}."),
        JUDGED_ONLY,
    ),
    trec_names=(TrecName("11pt_avg"),),
    note=_NOTE,
)

IAP3 = Measure(
    name="IAP3",
    title="3-point interpolated average precision",
    formula="1/3 · Σ over three levels x of IPrec@x",
    citation=_CITATION,
    compute=three_point_average,
    parameters=(
        REL,
        Parameter(
            "points",
            "choice",
            "The levels: 'trec' for recall 0.2, 0.5 and 0.8, 'quartiles' for 0.25, 0.5 and 0.75.",
            default="trec",
            choices=tuple(THREE),
        ),
        JUDGED_ONLY,
    ),
    trec_names=(
        TrecName("11pt_avg_0.2,0.5,0.8"),
        TrecName("11pt_avg_0.25,0.5,0.75", fixed=(("points", "quartiles"),)),
    ),
    note=_NOTE,
)
