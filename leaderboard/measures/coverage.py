"""Coverage of a ranking by judgments, and plain counts."""

import numpy as np

from leaderboard.measures.judged import UNJUDGED, FloatArray, Judged, ratio
from leaderboard.measures.record import CUTOFF, CUTOFF_REQUIRED, REL, Measure, TrecName

COUNT_RANGE = (0.0, float("inf"))


def judged_share(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """The share of the top cutoff documents that was judged, float64 (topics,), between 0 and 1.

    Of all documents without a cutoff; divides by the number retrieved where that is smaller. Grade
    -1 means pooled but not judged; every other grade, -2 (junk) too, is a judgment. 0 where nothing
    was retrieved.

    Three documents retrieved, one judged, one pooled only:

    >>> from leaderboard.measures.richer_examples import judged
    >>> judged_share(judged({1: 0, 2: -1}, retrieved=3), cutoff=10)
    array([0.33333333])
    """
    counted = judged.grade != UNJUDGED
    if cutoff is not None:
        counted &= judged.rank <= cutoff
    count = np.bincount(judged.topic[counted], minlength=len(judged.judgments))
    return ratio(count, judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff))


def unjudged_share(judged: Judged, *, cutoff: int) -> FloatArray:
    """The share of the top cutoff ranks that hold an unjudged document, float64 (topics,), 0 to 1.

    Every document of a negative grade is unjudged here; ranks below the end of the ranking are not,
    though they divide. Source: trec_eval 10 `unj_k`.

    Three documents retrieved, one of them judged:

    >>> from leaderboard.measures.richer_examples import judged
    >>> unjudged_share(judged({1: 0, 2: -1}, retrieved=3), cutoff=10)
    array([0.2])
    """
    counted = (judged.rank <= cutoff) & (judged.grade >= 0)
    count = np.bincount(judged.topic[counted], minlength=len(judged.judgments))
    return (np.minimum(judged.retrieved, cutoff) - count) / np.float64(cutoff)


def number_of_topics(judged: Judged) -> FloatArray:
    """1 for every judged topic, float64 (topics,), retrieved or not. Source: trec_eval `num_q`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> number_of_topics(judged({}, missed=[1]))
    array([1.])
    """
    return np.ones(len(judged.judgments))


def number_retrieved(judged: Judged) -> FloatArray:
    """The number of documents retrieved, float64 (topics,). Source: trec_eval `num_ret`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> number_retrieved(judged({1: 1}, retrieved=100))
    array([100.])
    """
    return judged.retrieved.astype(np.float64)


def number_relevant(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The number of relevant documents, retrieved or not, float64 (topics,). Source: trec_eval `num_rel`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> number_relevant(judged({1: 1, 2: 0}, missed=[2, -1]))
    array([2.])
    """
    return judged.judgments.relevant(rel).astype(np.float64)


def number_relevant_retrieved(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The number of relevant documents retrieved, float64 (topics,). Source: trec_eval `num_rel_ret`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> number_relevant_retrieved(judged({1: 1, 2: 0}, missed=[2]))
    array([1.])
    """
    return judged.relevant_count(rel).astype(np.float64)


def number_nonrelevant_retrieved(judged: Judged, *, rel: int = 1) -> FloatArray:
    """The number of documents retrieved that were judged not relevant, float64 (topics,).

    Those of a negative grade do not count. Source: trec_eval `num_nonrel_judged_ret`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> number_nonrelevant_retrieved(judged({1: 1, 2: 0, 3: -1}, missed=[0], retrieved=50))
    array([1.])
    """
    counted = (judged.grade >= 0) & (judged.grade < rel)
    return np.bincount(judged.topic[counted], minlength=len(judged.judgments)).astype(np.float64)


def hits(judged: Judged, *, cutoff: int, rel: int = 1) -> FloatArray:
    """The number of relevant documents in the top cutoff ranks, float64 (topics,).

    >>> from leaderboard.measures.richer_examples import judged
    >>> hits(judged({1: 1, 2: 0, 3: 2}), cutoff=2)
    array([1.])
    """
    return judged.relevant_count(rel, cutoff).astype(np.float64)


HITS = Measure(
    name="Hits",
    title="Relevant documents in the top k",
    formula="relevant in top k",
    citation="Bassani, ranx: A Blazing-Fast Python Library for Ranking Evaluation and Comparison, ECIR 2022",
    compute=hits,
    parameters=(REL, CUTOFF_REQUIRED),
    aliases=("hits",),
    range=COUNT_RANGE,
    note="The mean over topics, as in ranx; NumRelRet is the sum over topics of whole rankings.",
)

JUDGED = Measure(
    name="Judged",
    title="Share of the top k that was judged",
    formula="(judged in top k) / min(k, retrieved)",
    citation="Buckley and Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004",
    compute=judged_share,
    parameters=(CUTOFF,),
    direction="none",
    note="Grade -2 and below is a judgment, -1 is none; ir_measures counts both, unj of trec_eval neither.",
)

UNJ = Measure(
    name="Unj",
    title="Share of the top k that is unjudged",
    formula="(unjudged in top k) / k",
    citation="trec_eval, unj",
    compute=unjudged_share,
    parameters=(CUTOFF_REQUIRED,),
    aliases=("Hole", "hole"),
    trec_names=(TrecName("unj", "cutoff"),),
    direction="none",
    note=(
        "Not 1 − Judged@k: it divides by k where fewer were retrieved, and grade -2 is unjudged. Hole@k of "
        "BEIR and MTEB takes a document that was judged for any topic as judged; this asks for its own topic."
    ),
)

NUM_Q = Measure(
    name="NumQ",
    title="Topics",
    formula="number of judged topics",
    citation="trec_eval, num_q",
    compute=number_of_topics,
    trec_names=(TrecName("num_q"),),
    direction="none",
    range=(1.0, 1.0),
    undefined=1.0,
    aggregate="sum",
    digits=0,
    note="All judged topics, as with trec_eval -c; without -c it counts those of the run.",
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
    note="ir_measures counts relevant documents as NumRet(rel=1): that is NumRelRet, under either name.",
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
    note=(
        "With -c, trec_eval's number for all topics counts every grade above 0, regardless of the level; "
        "evaluate --format trec does the same."
    ),
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
    note="NumRet(rel=1) in ir_measures.",
)

NUM_NONREL_JUDGED_RET = Measure(
    name="NumNonrelJudgedRet",
    title="Documents retrieved that were judged not relevant",
    formula="number of documents with 0 ≤ grade < rel that were retrieved",
    citation="trec_eval, num_nonrel_judged_ret",
    compute=number_nonrelevant_retrieved,
    parameters=(REL,),
    trec_names=(TrecName("num_nonrel_judged_ret"),),
    direction="none",
    range=COUNT_RANGE,
    aggregate="sum",
    digits=0,
)
