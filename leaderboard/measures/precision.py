"""Precision and success in the top ranks, and R-precision."""

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged, ratio
from leaderboard.measures.record import CUTOFF_REQUIRED, JUDGED_ONLY, REL, Measure, Parameter, TrecName


def precision(judged: Judged, *, cutoff: int, rel: int = 1) -> FloatArray:
    """The share of the top cutoff ranks that is relevant, float64 (topics,), between 0 and 1.

    Divides by cutoff even where fewer documents were retrieved. Source: trec_eval `P_k`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> precision(judged({1: 1, 2: 0, 3: 2}), cutoff=5)
    array([0.4])
    """
    return judged.relevant_count(rel, cutoff) / np.float64(cutoff)


def relative_precision(judged: Judged, *, cutoff: int, rel: int = 1) -> FloatArray:
    """Precision over the best precision possible at that cut-off, float64 (topics,), between 0 and 1.

    Precision up to rank R, recall from there on; 0 where a topic has no relevant document.
    Source: trec_eval `relative_P_k`.

    Two of three relevant documents in the top five, where three could be: 2/3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> relative_precision(judged({1: 1, 2: 0, 3: 2}, missed=[1]), cutoff=5)
    array([0.66666667])
    """
    total = judged.judgments.relevant(rel)
    return ratio(judged.relevant_count(rel, cutoff), np.minimum(total, cutoff))


def success(judged: Judged, *, cutoff: int, rel: int = 1) -> FloatArray:
    """1 where a relevant document is in the top cutoff ranks, else 0, float64 (topics,).

    Source: trec_eval `success_k`.

    >>> from leaderboard.measures.richer_examples import judged
    >>> success(judged({2: 0, 4: 1}), cutoff=4), success(judged({2: 0, 4: 1}), cutoff=3)
    (array([1.]), array([0.]))
    """
    return (judged.relevant_count(rel, cutoff) > 0).astype(np.float64)


def r_precision(judged: Judged, *, rel: int = 1, mult: float | None = None) -> FloatArray:
    """Precision in the top R ranks, R the topic's number of relevant documents, float64 (topics,).

    With mult, in the top m = mult · R ranks, a fraction counted as a rank from 0.1 on; fewer
    documents retrieved still divide by m. 0 where a topic has no relevant document.
    Source: trec_eval `Rprec`, `Rprec_mult_x`.

    Three relevant documents, one of them in the top three:

    >>> from leaderboard.measures.richer_examples import judged
    >>> r_precision(judged({2: 1, 4: 1}, missed=[1]))
    array([0.33333333])
    """
    total = judged.judgments.relevant(rel)
    depth = total if mult is None else up_from_a_tenth(mult, total)
    return ratio(judged.relevant_count(rel, depth), depth)


def up_from_a_tenth(share: float, total: IntArray) -> IntArray:
    """share · total as whole numbers, a fraction counted as one more from about 0.1 on.

    trec_eval's arithmetic, whose last bit decides at 0.1 itself.

    >>> up_from_a_tenth(0.2, np.array([10, 11, 0]))
    array([2, 3, 0])
    """
    return (share * total + 0.9).astype(np.int64)


MULTIPLE = Parameter(
    "mult", "number", "The number of ranks evaluated as a multiple of R; R ranks if not set.", 0.01, 1000.0
)

P = Measure(
    name="P",
    title="Precision in the top k",
    formula="(relevant in top k) / k",
    citation="van Rijsbergen, Information Retrieval, 2nd edition, 1979",
    compute=precision,
    parameters=(REL, CUTOFF_REQUIRED, JUDGED_ONLY),
    aliases=("Precision", "precision"),
    trec_names=(TrecName("P", "cutoff"),),
)

REL_P = Measure(
    name="RelP",
    title="Precision in the top k relative to the best possible",
    formula="(relevant in top k) / min(k, R)",
    citation="trec_eval, relative_P",
    compute=relative_precision,
    parameters=(REL, CUTOFF_REQUIRED, JUDGED_ONLY),
    aliases=("R_cap", "recall_cap"),
    trec_names=(TrecName("relative_P", "cutoff"),),
    note="The capped recall of BEIR and MTEB, R_cap@k.",
)

SUCCESS = Measure(
    name="Success",
    title="A relevant document in the top k",
    formula="1 if (relevant in top k) > 0, else 0",
    citation="Craswell et al., Effective Site Finding Using Link Anchor Information, SIGIR 2001",
    compute=success,
    parameters=(REL, CUTOFF_REQUIRED, JUDGED_ONLY),
    aliases=("hit_rate",),
    trec_names=(TrecName("success", "cutoff"),),
)

RPREC = Measure(
    name="Rprec",
    title="Precision in the top R",
    formula="(relevant in top m) / m, where m = R, or ⌊mult · R + 0.9⌋ where mult is given",
    citation="Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005",
    compute=r_precision,
    parameters=(REL, MULTIPLE, JUDGED_ONLY),
    aliases=("RPrec", "r_precision"),
    trec_names=(TrecName("Rprec"), TrecName("Rprec_mult", "mult", decimals=2)),
)
