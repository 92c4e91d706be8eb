"""Precision and recall of preferences, rank by rank."""

import numpy as np

from leaderboard.measures.judged import FloatArray, Judged, log2_discounts, ratio, sums
from leaderboard.measures.preferences.fulfilled import NOWHERE, Pairs, pairs_of, totals
from leaderboard.measures.record import CUTOFF, Measure, Need
from leaderboard.measures.running import bounds_of, running


def preference_precision(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """The share of the preferences the top cutoff ranks decide that they fulfil, float64 (topics,), 0 to 1.

    The top ranks decide a preference if one of its documents is among them, and fulfil it if the better one
    is above the worse, at any rank. 0 where they decide none. Source: Carterette and Bennett 2008, ppref.

    The top two decide all but one, and fail one of three: c above a.

    >>> from leaderboard.measures.richer_examples import preferred
    >>> preference_precision(preferred("cabd", ["ab", "ac", "ad", "bd"]), cutoff=2)
    array([0.66666667])
    """
    pairs = pairs_of(judged)
    decided = pairs.upper <= _last(cutoff)
    return ratio(totals(judged, pairs, decided & pairs.fulfilled), totals(judged, pairs, decided))


def preference_recall(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """The share of all preferences that the top cutoff ranks fulfil, float64 (topics,), between 0 and 1.

    They fulfil one if the better document is among them and above the worse, at any rank. 0 where a
    topic has no preference. Source: Carterette and Bennett 2008, rpref.

    Two of four in the top two:

    >>> from leaderboard.measures.richer_examples import preferred
    >>> preference_recall(preferred("cabd", ["ab", "ac", "ad", "bd"]), cutoff=2)
    array([0.5])
    """
    pairs = pairs_of(judged)
    fulfilled = pairs.fulfilled & (pairs.upper <= _last(cutoff))
    return ratio(totals(judged, pairs, fulfilled), totals(judged, pairs, np.ones_like(fulfilled)))


def weighted_preference_precision(judged: Judged, *, cutoff: int | None = None) -> FloatArray:
    """The share of the preferences the top cutoff ranks decide that they fulfil, by weight, (topics,).

    float64, from 0 to 1. As for PPref; a preference weighs 1 / log2(i + 1), where i is the rank of
    whichever of its documents is higher. 0 where none is decided.
    Source: Carterette and Bennett 2008, wpref.

    c above a is wrong at rank 1, b and d are right at rank 2 below a: 2/log2(3) / (1 + 2/log2(3)).

    >>> from leaderboard.measures.richer_examples import preferred
    >>> weighted_preference_precision(preferred("cabd", ["ab", "ac", "ad", "bd"]), cutoff=2).round(6)
    array([0.557886])
    """
    pairs = pairs_of(judged)
    decided = pairs.upper <= _last(cutoff)
    topic, fulfilled = pairs.topic[decided], pairs.fulfilled[decided]
    weight = pairs.weight[decided] / log2_discounts(pairs.upper[decided])
    whole = judged.totals(topic, weight)
    return ratio(judged.totals(topic[fulfilled], weight[fulfilled]), whole)


def average_preference_precision(judged: Judged) -> FloatArray:
    """The mean of PPref over the ranks at which RPref rises, float64 (topics,), between 0 and 1.

    0 where the ranking fulfils no preference. Source: Carterette and Bennett 2008, APpref.

    Recall rises at ranks 2 and 3, where 2 of 3 and 3 of 4 preferences decided are fulfilled:

    >>> from leaderboard.measures.richer_examples import preferred
    >>> average_preference_precision(preferred("cabd", ["ab", "ac", "ad", "bd"])).round(6)
    array([0.708333])
    """
    pairs, topics = _by_rank(pairs_of(judged)), len(judged.judgments)
    starts = bounds_of(pairs.topic, topics)
    decided = running(np.add, starts, pairs.weight)
    fulfilled = running(np.add, starts, pairs.weight * pairs.fulfilled)
    last = np.diff(pairs.upper, append=0) != 0
    last |= np.diff(pairs.topic, append=-1) != 0
    rank = np.cumsum(last) - last
    rises = sums(rank, pairs.fulfilled, int(last.sum())) > 0
    topic, precision = pairs.topic[last][rises], ratio(fulfilled[last], decided[last])[rises]
    return ratio(judged.totals(topic, precision), np.bincount(topic, minlength=topics))


def _by_rank(pairs: Pairs) -> Pairs:
    """The preferences the ranking decides, by topic and the rank at which it does."""
    order = np.lexsort((pairs.upper, pairs.topic))
    order = order[pairs.upper[order] < NOWHERE]
    return Pairs(pairs.topic[order], pairs.better[order], pairs.worse[order], pairs.weight[order])


def _last(cutoff: int | None) -> int:
    return NOWHERE - 1 if cutoff is None else cutoff


_PREFERENCES: frozenset[Need] = frozenset({"preferences"})
_CITATION = "Carterette and Bennett, Evaluation Measures for Preference Judgments, SIGIR 2008"
_GIVEN = (
    "Preferences count as given: preferences implied by others must be in the file. If both directions "
    "are given, every ranking fails one."
)

P_PREF = Measure(
    name="PPref",
    title="Precision of preferences",
    formula=(
        "(preferences fulfilled) / (preferences), of those with a document in the top k; fulfilled: the "
        "better document is above the worse"
    ),
    citation=_CITATION,
    compute=preference_precision,
    parameters=(CUTOFF,),
    needs=_PREFERENCES,
    note=f"Without a cut-off it is PrefsSimp(retrieved='either'). {_GIVEN}",
)

R_PREF = Measure(
    name="RPref",
    title="Recall of preferences",
    formula="(preferences fulfilled by a document in the top k) / (preferences)",
    citation=_CITATION,
    compute=preference_recall,
    parameters=(CUTOFF,),
    needs=_PREFERENCES,
    note=f"Without a cut-off it is PrefsSimp. {_GIVEN}",
)

W_PREF = Measure(
    name="WPref",
    title="Weighted precision of preferences",
    formula=(
        "Σ over preferences fulfilled of w / Σ over preferences of w, of those with a document in the top k; "
        "w = 1 / log2(i + 1), i = rank of the higher document"
    ),
    citation=_CITATION,
    compute=weighted_preference_precision,
    parameters=(CUTOFF,),
    needs=_PREFERENCES,
    note=(
        "Some scripts divide by log2(i) + 1, which is another number from rank 2 on, and call this quotient "
        f"nwpref and its numerator wpref. {_GIVEN}"
    ),
)

AP_PREF = Measure(
    name="APPref",
    title="Average precision of preferences",
    formula="mean of PPref@k over the ranks k with RPref@k > RPref@(k − 1)",
    citation=_CITATION,
    compute=average_preference_precision,
    needs=_PREFERENCES,
    note=(
        "Preferred documents that were not retrieved have no part in the mean, unlike in AP: look at RPref "
        f"too. {_GIVEN}"
    ),
)
