"""Measures of the C/W/L family: what a reader gains per document, given when they stop reading.

C(i) is the probability that a reader who saw rank i continues to rank i + 1; the weight W(i) of a rank
is proportional to C(1) · ... · C(i - 1), and the score is the sum of weight times gain.
"""

from dataclasses import replace

import numpy as np

from leaderboard.measures.curves import inverse_squares
from leaderboard.measures.graded_gain import MAX_REL, MIN_REL, scaled_gains
from leaderboard.measures.judged import FloatArray, Judged, log2_discounts
from leaderboard.measures.record import CUTOFF_REQUIRED, JUDGED_ONLY, Measure, Parameter
from leaderboard.measures.running import before, last, running


def insq(
    judged: Judged, *, max_rel: int, min_rel: int = 0, T: float = 1.0, depth: int | None = None
) -> FloatArray:
    """The gain per document of a reader who wants T of it and reads on accordingly, (topics,).

    float64, from 0 to 1. C(i) = ((i + 2T - 1) / (i + 2T))², so the weights fall with the square of
    the rank. depth: how many ranks they are spread over, without end by default.
    Source: Moffat, Scholer and Thomas 2012.

    With T = 1/2 the weights are 1, 1/4, 1/9, ... over their sum π²/6, or over 1 + 1/4 at depth 2:

    >>> from leaderboard.measures.richer_examples import judged
    >>> insq(judged({1: 1}), max_rel=1, T=0.5).round(6), insq(judged({1: 1}), max_rel=1, T=0.5, depth=2)
    (array([0.607927]), array([0.8]))
    """
    hits = scaled_gains(judged, min_rel, max_rel, depth)
    weight = 1.0 / np.square(hits.rank - 1 + 2.0 * T)
    return judged.totals(hits.topic, hits.gain * weight) / squares_up_to(2.0 * T, depth)


def inst(
    judged: Judged, *, max_rel: int, min_rel: int = 0, T: float = 1.0, depth: int | None = None
) -> FloatArray:
    """The gain per document of a reader who wants T of it and considers what is still missing, (topics,).

    float64, from 0 to 1. C(i) = ((i + T + T(i) - 1) / (i + T + T(i)))², where T(i) is T less the gain
    of the top i: every find makes going on less likely. depth: how many ranks the weights are spread
    over, without end by default. Source: Moffat, Bailey, Scholer and Thomas 2017.

    A relevant document at rank 1: a reader with T = 1/2 is done, one with T = 1 has weights 1, 1/4,
    1/9, ... over their sum π²/6.

    >>> from leaderboard.measures.richer_examples import judged
    >>> inst(judged({1: 1}), max_rel=1, T=0.5), inst(judged({1: 1}), max_rel=1, T=1.0).round(6)
    (array([1.]), array([0.607927]))
    """
    hits = scaled_gains(judged, min_rel, max_rel, depth)
    gained = running(np.add, hits.starts, hits.steps.astype(np.float64))
    # From one find to the next, c = T + T(i) stays, C telescopes, and the weight of rank i is
    # level / (i - 1 + c)²; at a find, c falls by its gain, and level so that the weight continues.
    c_above = 2.0 * T - (gained - hits.steps) / hits.scale
    c_below = 2.0 * T - gained / hits.scale
    above, below = hits.rank - 1 + c_above, hits.rank - 1 + c_below
    start = (2.0 * T) ** 2
    level = start * running(np.multiply, hits.starts, np.square(below / above))
    level_above = before(hits.starts, level, start)
    total = start * inverse_squares(np.array([2.0 * T])) + judged.totals(
        hits.topic, level * inverse_squares(below + 1.0) - level_above * inverse_squares(above + 1.0)
    )
    if depth is not None:
        end = depth + last(hits.starts, c_below, 2.0 * T)
        total -= last(hits.starts, level, start) * inverse_squares(end)
    return judged.totals(hits.topic, hits.gain * level_above / np.square(above)) / total


def scaled_dcg(judged: Judged, *, max_rel: int, min_rel: int = 0, cutoff: int) -> FloatArray:
    """Discounted gain over that of cutoff documents of the highest grade, float64 (topics,), 0 to 1.

    C(i) = log(i + 1) / log(i + 2) down to the cutoff. Unlike in nDCG, a topic with few relevant
    documents cannot reach 1. Source: Moffat, Bailey, Scholer and Thomas 2017.

    Of three ranks with weights 1, 1/log2(3) and 1/2, the last has half the gain: 1/4 over their sum.

    >>> from leaderboard.measures.richer_examples import judged
    >>> scaled_dcg(judged({3: 1}), max_rel=2, cutoff=3).round(6)
    array([0.11732])
    """
    hits = scaled_gains(judged, min_rel, max_rel, cutoff)
    best = np.cumsum(1.0 / log2_discounts(np.arange(1, cutoff + 1)))[-1]
    scores: FloatArray = judged.totals(hits.topic, hits.gain / log2_discounts(hits.rank)) / best
    return scores


def bejeweled_player_model(
    judged: Judged, *, max_rel: int, min_rel: int = 0, T: float = 1.0, cutoff: int
) -> FloatArray:
    """The gain per document of a reader who stops when they have T of it, or at the cutoff, (topics,).

    float64, from 0 to 1. Source: Zhang et al. 2017 (upper limits that stay fixed), C/W/L form.

    Two gains of 1/2 by rank 3 are enough for T = 1: 1 / 3. For T = 2 the reader continues to rank 4.

    >>> from leaderboard.measures.richer_examples import judged
    >>> hits = judged({1: 1, 3: 1, 9: 1})
    >>> bejeweled_player_model(hits, max_rel=2, cutoff=4)
    array([0.33333333])
    >>> bejeweled_player_model(hits, max_rel=2, T=2, cutoff=4)
    array([0.25])
    """
    hits = scaled_gains(judged, min_rel, max_rel, cutoff)
    gained = running(np.add, hits.starts, hits.steps.astype(np.float64))
    goes_on = before(hits.starts, gained, 0.0) < T * hits.scale
    enough = goes_on & (gained >= T * hits.scale)
    read = np.full(len(judged.judgments), float(cutoff))
    read[hits.topic[enough]] = hits.rank[enough]
    scores: FloatArray = judged.totals(hits.topic[goes_on], hits.gain[goes_on]) / read
    return scores


def squares_up_to(start: float, depth: int | None) -> FloatArray:
    """1/start² + 1/(start + 1)² + ..., depth terms or all of them, as an array of one."""
    whole = inverse_squares(np.array([start]))
    return whole if depth is None else whole - inverse_squares(np.array([start + depth]))


WANTED = Parameter(
    "T", "number", "The gain that the reader wants, in documents of the highest grade.", 0.5, 1e6, default=1.0
)
"""With less than 1/2, a find could make a reader of INST more likely to continue."""
DEPTH = Parameter(
    "depth", "integer", "The number of ranks that the weights cover; all if not set.", 1, 100_000
)
LISTED_CUTOFF = replace(CUTOFF_REQUIRED, high=100_000)
"""A cut-off down to which the weights of all ranks are added up, seen or not."""

SCALED = (MAX_REL, MIN_REL)
ENDLESS = (
    "The weights are spread over all ranks, as published. cwl_eval, and ir_measures through it, spreads them "
    "over exactly 1,000 ranks: set depth=1000 for its numbers."
)

INSQ = Measure(
    name="INSQ",
    title="Inverse squares (C/W/L)",
    formula="Σ W(i) · gain(i), W(i) ∝ 1 / (i + 2T − 1)², Σ W(i) = 1",
    citation="Moffat, Scholer and Thomas, Models and Metrics: IR Evaluation as a User Process, ADCS 2012",
    compute=insq,
    parameters=(*SCALED, WANTED, DEPTH, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=ENDLESS,
)

INST = Measure(
    name="INST",
    title="INST, inverse squares that adapt to what was found (C/W/L)",
    formula=(
        "Σ W(i) · gain(i), W(i + 1) / W(i) = C(i) = ((i + T + T(i) − 1) / (i + T + T(i)))², "
        "T(i) = T − gain of the top i, Σ W(i) = 1"
    ),
    citation=(
        "Moffat, Bailey, Scholer and Thomas, Incorporating User Expectations and Behavior into the "
        "Measurement of Search Effectiveness, TOIS 35(3), 2017"
    ),
    compute=inst,
    parameters=(*SCALED, WANTED, DEPTH, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=ENDLESS,
)

SDCG = Measure(
    name="SDCG",
    title="Scaled discounted cumulative gain (C/W/L)",
    formula="Σ over ranks i ≤ k of gain(i) / log2(i + 1), divided by Σ over ranks i ≤ k of 1 / log2(i + 1)",
    citation=(
        "Moffat, Bailey, Scholer and Thomas, Incorporating User Expectations and Behavior into the "
        "Measurement of Search Effectiveness, TOIS 35(3), 2017"
    ),
    compute=scaled_dcg,
    parameters=(*SCALED, LISTED_CUTOFF, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note="cwl_eval calls this NDCG-k and knows no rank below 1,000.",
)

BPM = Measure(
    name="BPM",
    title="Bejeweled player model, static (C/W/L)",
    formula="(gain of the top d) / d, d = the first rank with a gain of T or more in the top d, or k",
    citation=(
        "Zhang, Liu, Li, Zhang, Xu and Ma, Evaluating Web Search with a Bejeweled Player Model, SIGIR 2017"
    ),
    compute=bejeweled_player_model,
    parameters=(*SCALED, WANTED, CUTOFF_REQUIRED, JUDGED_ONLY),
    needs=frozenset({"graded"}),
    note=(
        "Gain is measured in documents of the highest grade, as in cwl_eval. Where gains such as 1/3 meet T "
        "exactly, cwl_eval may read on, since it adds up rounded numbers: six of 1/3 stay below 2 there."
    ),
)
