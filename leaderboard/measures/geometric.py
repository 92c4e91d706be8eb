"""Measures whose scores over topics are averaged geometrically."""

from leaderboard.measures.average_precision import average_precision
from leaderboard.measures.bpref import bpref
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import JUDGED_ONLY, REL, Measure, TrecName

_NOTE = (
    "Topic scores are shown unchanged; in the mean, scores below 1e-5 count as 1e-5, also for missing "
    "topics. trec_eval prints only the mean."
)


def geometric_average_precision(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Average precision of every topic, of which the geometric mean is taken, float64 (topics,).

    The n-th root of the product, topics below 1e-5 counted as 1e-5: raising a hopeless topic from
    0.01 to 0.02 is worth as much as raising a good one from 0.4 to 0.8. Source: Robertson 2006;
    trec_eval `gm_map`.

    Relevant documents at ranks 1 and 3, a third one not retrieved: (1/1 + 2/3) / 3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> geometric_average_precision(judged({1: 1, 2: 0, 3: 2}, missed=[1]))
    array([0.55555556])
    """
    return average_precision(judged, rel=rel)


def geometric_bpref(judged: Judged, *, rel: int = 1) -> FloatArray:
    """Binary preference of every topic, of which the geometric mean is taken, float64 (topics,).

    The n-th root of the product, topics below 1e-5 counted as 1e-5. Source: trec_eval `gm_bpref`.

    Two relevant documents, one below one of two non-relevant ones: (1 + (1 - 1/2)) / 2.

    >>> from leaderboard.measures.richer_examples import judged
    >>> geometric_bpref(judged({1: 1, 2: 0, 5: 1}, missed=[0]))
    array([0.75])
    """
    return bpref(judged, rel=rel)


GMAP = Measure(
    name="GMAP",
    title="Geometric mean of average precision",
    formula="exp(1/topics · Σ over topics of ln(max(AP, 0.00001)))",
    citation="Robertson, On GMAP: and Other Transformations, CIKM 2006",
    compute=geometric_average_precision,
    parameters=(REL, JUDGED_ONLY),
    trec_names=(TrecName("gm_map"),),
    aggregate="geometric",
    note=_NOTE,
)

GM_BPREF = Measure(
    name="GMBpref",
    title="Geometric mean of binary preference",
    formula="exp(1/topics · Σ over topics of ln(max(Bpref, 0.00001)))",
    citation="Buckley and Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004",
    compute=geometric_bpref,
    parameters=(REL,),
    trec_names=(TrecName("gm_bpref"),),
    aggregate="geometric",
    note=_NOTE,
)
