"""F of precision and recall at a cut-off, by alpha, and the best over all ranks."""

import numpy as np

from leaderboard.measures.coverage import COUNT_RANGE
from leaderboard.measures.judged import FloatArray, Judged, Relevant, ratio
from leaderboard.measures.record import CUTOFF, CUTOFF_REQUIRED, JUDGED_ONLY, REL, Measure, Parameter
from leaderboard.measures.sets import BETA


def f_at(judged: Judged, *, rel: int = 1, beta: float = 1.0, cutoff: int) -> FloatArray:
    """The weighted harmonic mean of precision and recall in the top cutoff, float64 (topics,), 0 to 1.

    beta: how many times as much recall weighs as precision. Precision divides by the cutoff, also
    where fewer documents were retrieved. Source: van Rijsbergen 1979.

    Two of three relevant documents in the top 5: 2 · 2 / (3 + 5).

    >>> from leaderboard.measures.richer_examples import judged
    >>> f_at(judged({1: 1, 4: 1}, missed=[1]), cutoff=5)
    array([0.5])
    """
    x = beta * beta
    relevant = judged.judgments.relevant(rel)
    return ratio((x + 1.0) * judged.relevant_count(rel, cutoff), x * relevant + cutoff)


def f_alpha(judged: Judged, *, rel: int = 1, alpha: float = 0.5, cutoff: int | None = None) -> FloatArray:
    """The harmonic mean of precision, of weight alpha, and recall, float64 (topics,), between 0 and 1.

    Of everything retrieved, or of P@k and R@k. alpha = 1 / (1 + beta²). Source: van Rijsbergen 1979,
    as 1 - E.

    Precision 1/2, recall 1/4: 1 / (0.8 / (1/2) + 0.2 / (1/4)).

    >>> from leaderboard.measures.richer_examples import judged
    >>> f_alpha(judged({1: 1}, missed=[1, 1, 1], retrieved=2), alpha=0.8)
    array([0.41666667])
    """
    length = judged.retrieved if cutoff is None else np.full(len(judged.judgments), cutoff)
    divisor = alpha * length + (1.0 - alpha) * judged.judgments.relevant(rel)
    return ratio(judged.relevant_count(rel, cutoff), divisor)


def best_f(judged: Judged, *, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """The highest F over all ranks at which a ranking could be cut, float64 (topics,), between 0 and 1.

    beta: how many times as much recall weighs as precision. 0 where nothing relevant was retrieved.

    F is 2/4 when cut at rank 1, 4/6 at rank 3, where it is highest, and 6/12 at rank 9.

    >>> from leaderboard.measures.richer_examples import judged
    >>> best_f(judged({1: 1, 3: 1, 9: 1}))
    array([0.66666667])
    """
    hits, f = _f_by_hit(judged, rel, beta)
    best = np.zeros(len(judged.judgments))
    np.maximum.at(best, hits.topic, f)
    return best


def best_f_rank(judged: Judged, *, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """The rank at which F is highest, the first of several, float64 (topics,); 0 where F is always 0.

    beta: how many times as much recall weighs as precision.

    >>> from leaderboard.measures.richer_examples import judged
    >>> best_f_rank(judged({1: 1, 3: 1, 9: 1}))
    array([3.])
    """
    hits, f = _f_by_hit(judged, rel, beta)
    best = best_f(judged, rel=rel, beta=beta)
    reached = f == best[hits.topic]
    rank = np.zeros(len(judged.judgments))
    # Hits are in rank order, so when written backwards the first of several remains.
    rank[hits.topic[reached][::-1]] = hits.rank[reached][::-1]
    return rank


def _f_by_hit(judged: Judged, rel: int, beta: float) -> tuple[Relevant, FloatArray]:
    """The relevant hits and F when cut at each: between two of them F only falls."""
    x = beta * beta
    hits = judged.relevant(rel)
    relevant = judged.judgments.relevant(rel)[hits.topic]
    return hits, (x + 1.0) * hits.nth / (x * relevant + hits.rank)


ALPHA = Parameter("alpha", "number", "The weight of precision; recall has the rest.", 0.0, 1.0, default=0.5)

_BOOK = "van Rijsbergen, Information Retrieval, 2nd edition, 1979"

F_AT = Measure(
    name="F",
    title="F measure in the top k, by beta",
    formula="(β² + 1) · P@k · R@k / (R@k + β² · P@k)",
    citation=_BOOK,
    compute=f_at,
    parameters=(REL, BETA, CUTOFF_REQUIRED, JUDGED_ONLY),
)

F_ALPHA = Measure(
    name="FAlpha",
    title="F measure by alpha, the weight of precision",
    formula="1 / (α / P + (1 − α) / R), of everything retrieved or of P@k and R@k",
    citation=_BOOK,
    compute=f_alpha,
    parameters=(REL, ALPHA, CUTOFF, JUDGED_ONLY),
    note=(
        "Some texts write β for this α: their `F with β = 0.5` is F1, while β = 0.5 elsewhere is α = 0.8. "
        "SetF and F take β."
    ),
)

BEST_F = Measure(
    name="BestF",
    title="Highest F over all ranks",
    formula="max over ranks i of (β² + 1) · (relevant in top i) / (β² · R + i)",
    citation=_BOOK,
    compute=best_f,
    parameters=(REL, BETA, JUDGED_ONLY),
    note="The rank is chosen by the judgments of each topic: an upper bound for any cut-off.",
)

BEST_F_RANK = Measure(
    name="BestFRank",
    title="Rank at which F is highest",
    formula="the first rank i at which (β² + 1) · (relevant in top i) / (β² · R + i) is highest",
    citation=_BOOK,
    compute=best_f_rank,
    parameters=(REL, BETA, JUDGED_ONLY),
    direction="none",
    range=COUNT_RANGE,
    digits=1,
)
