"""How much of a ranking was judged, and plain counts."""

import numpy as np

from leaderboard.measures.judged import UNJUDGED, FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF_REQUIRED, REL, Measure, TrecName

COUNT_RANGE = (0.0, float("inf"))


def judged_share(judged: Judged, *, cutoff: int) -> FloatArray:
    """The share of the top cutoff documents that was judged, float64 (topics,), between 0 and 1.

    Divides by the number retrieved where that is smaller. Grade -1 means pooled but not judged;
    every other grade, -2 (junk) too, is a judgment. 0 where nothing was retrieved.

    Three documents retrieved, one judged, one pooled only:

    >>> from leaderboard.measures.example import judged
    >>> judged_share(judged({1: 0, 2: -1}, retrieved=3), cutoff=10)
    array([0.33333333])
    """
    wanted = (judged.rank <= cutoff) & (judged.grade != UNJUDGED)
    count = np.bincount(judged.topic[wanted], minlength=len(judged.judgments))
    return ratio(count, np.minimum(judged.retrieved, cutoff))


def number_retrieved(judged: Judged) -> FloatArray:
    """The number of documents retrieved, float64 (topics,). Source: trec_eval `num_ret`.

    >>> from leaderboard.measures.example import judged
    >>> number_retrieved(judged({1: 1}, retrieved=100))
    array([100.])
    """
    return judged.retrieved.astype(np.float64)


def number_relevant(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The number of relevant documents, retrieved or not, float64 (topics,). Source: trec_eval `num_rel`.

    >>> from leaderboard.measures.example import judged
    >>> number_relevant(judged({1: 1, 2: 0}, missed=[2, -1]))
    array([2.])
    """
    return judged.judgments.relevant(rel).astype(np.float64)


def number_relevant_retrieved(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The number of relevant documents retrieved, float64 (topics,). Source: trec_eval `num_rel_ret`.

    >>> from leaderboard.measures.example import judged
    >>> number_relevant_retrieved(judged({1: 1, 2: 0}, missed=[2]))
    array([1.])
    """
    return judged.relevant_count(rel).astype(np.float64)


JUDGED = Measure(
    name="Judged",
    title="Share of the top k that was judged",
    formula="(judged in top k) / min(k, retrieved)",
    citation="Buckley and Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004",
    compute=judged_share,
    parameters=(CUTOFF_REQUIRED,),
    direction="none",
)

NUM_RET = Measure(
    name="NumRet",
    title="Documents retrieved",
    formula="number of documents retrieved",
    citation="trec_eval, num_ret",
    compute=number_retrieved,
    trec_names=(TrecName("num_ret"),),
    direction="none",
    range=COUNT_RANGE,
    aggregate="sum",
    digits=0,
)

NUM_REL = Measure(
    name="NumRel",
    title="Relevant documents",
    formula="number of documents with grade ≥ rel",
    citation="trec_eval, num_rel",
    compute=number_relevant,
    parameters=(REL,),
    trec_names=(TrecName("num_rel"),),
    direction="none",
    range=COUNT_RANGE,
    aggregate="sum",
    digits=0,
)

NUM_REL_RET = Measure(
    name="NumRelRet",
    title="Relevant documents retrieved",
    formula="number of documents with grade ≥ rel that were retrieved",
    citation="trec_eval, num_rel_ret",
    compute=number_relevant_retrieved,
    parameters=(REL,),
    trec_names=(TrecName("num_rel_ret"),),
    direction="higher",
    range=COUNT_RANGE,
    aggregate="sum",
    digits=0,
)
