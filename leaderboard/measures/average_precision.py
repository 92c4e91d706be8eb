"""Average precision."""

import math

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF, JUDGED_ONLY, REL, Measure, TrecName


def average_precision(judged: Judged, *, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """Average precision of every topic, float64 (topics,), between 0 and 1.

    Divides by all relevant documents, also with a cutoff; 0 if the topic has none.
    Source: Buckley and Voorhees 2005; trec_eval `map`, `map_cut_k`.

    Relevant documents at ranks 1 and 3, a third one not retrieved: (1/1 + 2/3) / 3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> average_precision(judged({1: 1, 2: 0, 3: 2}, missed=[1]))
    array([0.55555556])
    """
    hits = judged.relevant(rel, cutoff)
    return ratio(judged.totals(hits.topic, hits.nth / hits.rank), judged.judgments.relevant(rel))


def smoothed_average_precision(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The logarithm of the odds of average precision, smoothed by 1, float64 (topics,), any number.

    Orders runs on one topic as average precision does, and tells small values apart. 0 where no document is
    relevant. Source: Robertson, On Smoothing Average Precision, ECIR 2012; trec_eval `yaap`.

    Relevant documents at ranks 1 and 3, a third one not retrieved: precisions of 1 + 2/3 in all, so
    log((1 + 5/3) / (1 + 3 - 5/3)) = log(8/7).

    >>> from leaderboard.measures.richer_examples import judged
    >>> smoothed_average_precision(judged({1: 1, 2: 0, 3: 2}, missed=[1]))
    array([0.13353139])
    """
    hits = judged.relevant(rel)
    total = judged.totals(hits.topic, hits.nth / hits.rank)
    odds = (1.0 + total) / (1.0 + judged.judgments.relevant(rel) - total)
    # math.log and not np.log: the same bits on every processor.
    return np.array([math.log(each) for each in odds.tolist()], dtype=np.float64)


AP = Measure(
    name="AP",
    title="Average precision (its mean is MAP)",
    formula="1/R · Σ over relevant documents at rank i ≤ k of (relevant in top i) / i",
    citation="Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005",
    compute=average_precision,
    parameters=(REL, CUTOFF, JUDGED_ONLY),
    aliases=("MAP", "map"),
    trec_names=(TrecName("map"), TrecName("map_cut", "cutoff")),
)

YAAP = Measure(
    name="YAAP",
    title="Yet another average precision (smoothed, as log odds)",
    formula="log((1 + S) / (1 + R − S)), S = Σ over relevant documents at rank i of (relevant in top i) / i",
    citation="Robertson, On Smoothing Average Precision, ECIR, 2012",
    compute=smoothed_average_precision,
    parameters=(REL, JUDGED_ONLY),
    range=(-math.inf, math.inf),
    trec_names=(TrecName("yaap"),),
    note="Runs are ordered as by AP on a topic, not by its mean: small values weigh more.",
)
