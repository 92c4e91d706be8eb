"""Preferences that a ranking fulfils (the measures of trec_eval -R prefs)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.coverage import COUNT_RANGE
from leaderboard.measures.judged import FloatArray, IntArray, Judged, Preferences, ratio, sums
from leaderboard.measures.record import Measure, Need, Parameter

NOWHERE = np.iinfo(np.int64).max
"""The rank of a document that was not retrieved."""


class Pairs(NamedTuple):
    """Every preference as a ranking has it, each (pairs,).

    better, worse: ranks of the two documents, NOWHERE for one not retrieved; weight: how often or how
    strongly it was given.
    """

    topic: IntArray
    better: IntArray
    worse: IntArray
    weight: FloatArray

    @property
    def fulfilled(self) -> NDArray[np.bool_]:
        """Whether the better document was retrieved above the worse one, or it alone."""
        return self.better < self.worse

    @property
    def upper(self) -> IntArray:
        """The rank of the document retrieved higher, NOWHERE if neither was."""
        return np.minimum(self.better, self.worse)

    @property
    def lower(self) -> IntArray:
        """The rank of the document retrieved lower, NOWHERE unless both were."""
        return np.maximum(self.better, self.worse)


def pairs_of(judged: Judged) -> Pairs:
    """All preferences of the judgments and where the run has their documents."""
    judgments = judged.judgments
    given = preferences_of(judged)
    rank = np.full(len(judgments.grades), NOWHERE)
    rank[judged.document] = judged.rank
    return Pairs(judgments.topic[given.better], rank[given.better], rank[given.worse], given.weight)


def preferences_of(judged: Judged) -> Preferences:
    """The preferences of the judgments, which a measure that needs them is bound to have."""
    given = judged.judgments.preferences
    assert given is not None, "a measure of preferences is bound to judgments with them"
    return given


def totals(judged: Judged, pairs: Pairs, mask: NDArray[Any]) -> FloatArray:
    """The weight of the wanted preferences of every topic, (topics,)."""
    return sums(pairs.topic[mask], pairs.weight[mask], len(judged.judgments))


def preferences_simple(judged: Judged, *, retrieved: str = "any") -> FloatArray:
    """The share of the preferences that the ranking fulfils, float64 (topics,), between 0 and 1.

    It fulfils one by having the better document above the worse, or alone. retrieved says which
    preferences count: all of them ('any'), where one of which neither document was retrieved is failed;
    those of which at least one was ('either'); or those of which both were ('both'). What several judges
    say counts several times. 0 where no preference counts.
    Source: trec_eval `prefs_simp`, `prefs_simp_imp`, `prefs_simp_ret`.

    a above b is right, c above a is wrong, b without d is right; e and f were not retrieved: 2 of 4, 1 of
    the 2 with both retrieved, and 2 of 3 with either.

    >>> from leaderboard.measures.richer_examples import preferred
    >>> run = preferred("cab", ["ab", "ac", "bd", "ef"])
    >>> preferences_simple(run), preferences_simple(run, retrieved="both")
    (array([0.5]), array([0.5]))
    >>> preferences_simple(run, retrieved="either")
    array([0.66666667])
    """
    pairs = pairs_of(judged)
    counted = _counted(pairs, retrieved)
    return ratio(totals(judged, pairs, counted & pairs.fulfilled), totals(judged, pairs, counted))


def preferences_by_pair(judged: Judged, *, retrieved: str = "any") -> FloatArray:
    """The mean over pairs of documents of the share of preferences that is fulfilled, float64 (topics,).

    Between 0 and 1. As for PrefsSimp, but the preferences for the same two documents, in either direction,
    are first combined. 0 where no preference counts. Source: trec_eval `prefs_pair`, `prefs_pair_imp`,
    `prefs_pair_ret`.

    Two judges of three prefer a to b, all prefer a to c: (2/3 + 0) / 2.

    >>> from leaderboard.measures.richer_examples import preferred
    >>> preferences_by_pair(preferred("cab", ["ab", "ac"], ["ab", "ac"], ["ba", "ac"]))
    array([0.33333333])
    """
    pairs = pairs_of(judged)
    counted = _counted(pairs, retrieved)
    order = _as_ranked(preferences_of(judged), pairs)
    order = order[counted[order]]
    upper, lower = _documents(preferences_of(judged), pairs)
    new = np.diff(upper[order], prepend=-1) != 0
    new |= np.diff(lower[order], prepend=-1) != 0
    which = np.cumsum(new) - 1
    topic = pairs.topic[order][new]
    weight = pairs.weight[order]
    fulfilled = sums(which, weight * pairs.fulfilled[order], len(topic))
    share = ratio(fulfilled, sums(which, weight, len(topic)))
    return ratio(judged.totals(topic, share), np.bincount(topic, minlength=len(judged.judgments)))


def preferences_by_judge(judged: Judged, *, retrieved: str = "any") -> FloatArray:
    """The mean over judges of the share of their preferences that is fulfilled, float64 (topics,), 0 to 1.

    As for PrefsSimp, but a judge with many preferences has no more weight than one with few. A judge without
    preferences that count has a share of 0; so has a topic without judges. Source: trec_eval `prefs_avgjg`,
    `prefs_avgjg_imp`, `prefs_avgjg_ret`.

    The first judge's one preference is failed, one of the second's two is not: (0 + 1/2) / 2.

    >>> from leaderboard.measures.richer_examples import preferred
    >>> preferences_by_judge(preferred("cab", ["ac"], ["ab", "bc"]))
    array([0.25])
    """
    pairs = pairs_of(judged)
    counted = _counted(pairs, retrieved)
    judge, judges = _judges(judged, pairs)
    topic = np.repeat(np.arange(len(judges)), judges)
    fulfilled = counted & pairs.fulfilled
    share = ratio(
        sums(judge[fulfilled], pairs.weight[fulfilled], len(topic)),
        sums(judge[counted], pairs.weight[counted], len(topic)),
    )
    return ratio(judged.totals(topic, share), judges)


def number_of_preferences(judged: Judged) -> FloatArray:
    """The number of preferences, float64 (topics,); weights count as they are.

    Source: trec_eval `prefs_num_prefs_poss`.

    >>> from leaderboard.measures.richer_examples import preferred
    >>> number_of_preferences(preferred("cab", ["ab", "ac", "ef"]))
    array([3.])
    """
    pairs = pairs_of(judged)
    return totals(judged, pairs, np.ones(len(pairs.topic), dtype=np.bool_))


def number_fulfilled(judged: Judged, *, retrieved: str = "any") -> FloatArray:
    """The number of preferences that the ranking fulfils, float64 (topics,); weights count as they are.

    As for PrefsSimp; at least one of the two documents is retrieved in any case.
    Source: trec_eval `prefs_num_prefs_ful`, `prefs_num_prefs_ful_ret`.

    a above b, and b without d; both of a and b only are retrieved:

    >>> from leaderboard.measures.richer_examples import preferred
    >>> run = preferred("cab", ["ab", "ac", "bd", "ef"])
    >>> number_fulfilled(run), number_fulfilled(run, retrieved="both")
    (array([2.]), array([1.]))
    """
    pairs = pairs_of(judged)
    return totals(judged, pairs, _counted(pairs, retrieved) & pairs.fulfilled)


def _counted(pairs: Pairs, retrieved: str) -> NDArray[np.bool_]:
    if retrieved == "any":
        return np.ones(len(pairs.topic), dtype=np.bool_)
    return (pairs.lower if retrieved == "both" else pairs.upper) < NOWHERE


def _documents(given: Preferences, pairs: Pairs) -> tuple[IntArray, IntArray]:
    """The document retrieved higher of each pair, and the other; by index where neither was."""
    swap = (pairs.worse < pairs.better) | ((pairs.worse == pairs.better) & (given.worse < given.better))
    return np.where(swap, given.worse, given.better), np.where(swap, given.better, given.worse)


def _as_ranked(given: Preferences, pairs: Pairs) -> IntArray:
    """Pairs by topic, those of which both documents were retrieved first, then by rank.

    The order of additions is trec_eval's.
    """
    upper, lower = _documents(given, pairs)
    return np.lexsort((lower, pairs.lower, upper, pairs.upper, pairs.lower == NOWHERE, pairs.topic))


def _judges(judged: Judged, pairs: Pairs) -> tuple[IntArray, IntArray]:
    """The judge of each preference among those of all topics, and how many judges each topic has."""
    given = preferences_of(judged)
    return (np.cumsum(given.judges) - given.judges)[pairs.topic] + given.judge, given.judges


RETRIEVED = Parameter(
    "retrieved",
    "choice",
    "Which preferences count: all, those of which either document was retrieved, or of which both were.",
    default="any",
    choices=("any", "either", "both"),
)

_CITATION = "Buckley, trec_eval 9, 2008, "
_PREFERENCES: frozenset[Need] = frozenset({"preferences"})
_FORMS = "retrieved='either' is trec_eval's {0}_imp, retrieved='both' its {0}_ret. "
_TIES = "Documents of equal score are ordered as for all measures here; in trec_eval -R prefs the other way."

PREFS_SIMP = Measure(
    name="PrefsSimp",
    title="Share of preferences fulfilled",
    formula="(preferences with the better document above the worse) / (preferences)",
    citation=f"{_CITATION}prefs_simp",
    compute=preferences_simple,
    parameters=(RETRIEVED,),
    needs=_PREFERENCES,
    note=f"trec_eval's prefs_simp. {_FORMS.format('prefs_simp')}{_TIES}",
)

PREFS_PAIR = Measure(
    name="PrefsPair",
    title="Share of preferences fulfilled, by pair of documents",
    formula="1/pairs · Σ over pairs of documents of (preferences fulfilled) / (preferences between the two)",
    citation=f"{_CITATION}prefs_pair",
    compute=preferences_by_pair,
    parameters=(RETRIEVED,),
    needs=_PREFERENCES,
    note=f"trec_eval's prefs_pair. {_FORMS.format('prefs_pair')}{_TIES}",
)

PREFS_AVG_JG = Measure(
    name="PrefsAvgJG",
    title="Share of preferences fulfilled, by judge",
    formula="1/judges · Σ over judges of (preferences fulfilled) / (preferences of the judge)",
    citation=f"{_CITATION}prefs_avgjg",
    compute=preferences_by_judge,
    parameters=(RETRIEVED,),
    needs=_PREFERENCES,
    note=(
        f"trec_eval's prefs_avgjg, whose judgment groups (JG) are judges here. {_FORMS.format('prefs_avgjg')}"
        f"{_TIES}"
    ),
)

NUM_PREFS = Measure(
    name="NumPrefs",
    title="Preferences",
    formula="number of preferences",
    citation=f"{_CITATION}prefs_num_prefs_poss",
    compute=number_of_preferences,
    direction="none",
    range=COUNT_RANGE,
    needs=_PREFERENCES,
    aggregate="sum",
    note="trec_eval's prefs_num_prefs_poss.",
)

NUM_PREFS_FUL = Measure(
    name="NumPrefsFul",
    title="Preferences fulfilled",
    formula="number of preferences with the better document above the worse",
    citation=f"{_CITATION}prefs_num_prefs_ful",
    compute=number_fulfilled,
    parameters=(RETRIEVED,),
    range=COUNT_RANGE,
    needs=_PREFERENCES,
    aggregate="sum",
    note=f"trec_eval's prefs_num_prefs_ful; retrieved='both' is its prefs_num_prefs_ful_ret. {_TIES}",
)
