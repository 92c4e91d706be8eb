"""Standing of the runs on a board: significant wins, runs that may be the best, rank ranges."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.errors import LeaderboardError
from leaderboard.memory import keep_by
from leaderboard.scoring.ops.evaluations.shown import FloatArray, Source, scores_of
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import Request, WaitingResult
from leaderboard.stats import procedures, special
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import Method, PairTable
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.reliability import half_width
from leaderboard.stats.standing import (
    BoolArray,
    SignArray,
    Verdicts,
    decided,
    topics_to_decide,
    verdicts,
    widest_pair,
)
from leaderboard.tables.record import counted

ALPHA = 2 * LEVEL
"""Error level of all simultaneous statements of a board; intervals hold with 1 - ALPHA."""
SAME = 1e-12
"""Scores of a smaller standard deviation are equal up to rounding."""


class RunPartlyScored(LeaderboardError):
    """Raised if some runs lack a score of the measure on some topic."""


def varies(sd: float) -> bool:
    """Whether scores with this standard deviation differ by more than rounding."""
    return sd > SAME


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a ranked run, valid for all runs simultaneously with 1 - ALPHA."""

    beats: int
    beaten_by: int
    """By how many runs at least: rank_low - 1."""
    undecided: int
    """Number of other runs that are undecided, among those named."""
    rank_low: int
    rank_high: int
    best_set: bool
    """Whether it may be the best on topics like these; False if the topics are too few to order runs."""
    named: int
    """Number of named runs that beat it; also 0 if some run with a dot does but it is undecided which."""


@dataclass(frozen=True, eq=False)
class Standing:
    """All pairs of the ranked runs of a board, in the order of their ids, by one measure and method."""

    table: PairTable
    run_ids: tuple[int, ...]
    sd: FloatArray
    """The standard deviation of each run's scores over the topics, (runs,)."""
    topics: int
    sign: int
    """-1 if lower is better: differences are as printed by the measure."""

    @cached_property
    def half_widths(self) -> dict[int, float]:
        """Run id -> half width of the 95% t interval of its mean; without runs of constant score."""
        if self.topics < 2:
            return {}
        return {
            run_id: half_width(sd, self.topics, confidence=1 - ALPHA)
            for run_id, sd in zip(self.run_ids, self.sd.tolist(), strict=True)
            if varies(sd)
        }

    @property
    def method(self) -> Method:
        """The test and correction."""
        return self.table.method

    @property
    def pairs(self) -> int:
        """Number of pairs of runs."""
        return len(self.table.adjusted)

    @cached_property
    def verdicts(self) -> Verdicts:
        """Simultaneous verdicts on all runs, in run order."""
        return verdicts(self.table)

    @cached_property
    def signs(self) -> SignArray:
        """Significant pairs by the method's own correction, (n, n), as on pair pages."""
        return decided(self.table)

    @property
    def may_be_best(self) -> int:
        """Number of runs that may be the best."""
        return int(np.count_nonzero(self.verdicts.may_be_best))

    @cached_property
    def topics_to_order(self) -> int | None:
        """Approximate number of topics needed to separate first and last, if these are too few."""
        at = widest_pair(self.table)
        return topics_to_decide(self.table, self.verdicts, self.topics, at) if self.pairs else None

    @property
    def told_apart(self) -> int:
        """Number of significantly different pairs, by the verdicts."""
        return int(np.count_nonzero(self.verdicts.signs > 0))

    @cached_property
    def places(self) -> dict[int, Place]:
        """Run id -> its place."""
        of_all = self.verdicts
        return {
            run_id: Place(
                beats=int(of_all.beats[at]),
                beaten_by=int(of_all.rank_low[at]) - 1,
                undecided=int(of_all.undecided[at]),
                rank_low=int(of_all.rank_low[at]),
                rank_high=int(of_all.rank_high[at]),
                best_set=bool(of_all.may_be_best[at]),
                named=int(of_all.named[at]),
            )
            for at, run_id in enumerate(self.run_ids)
        }

    @cached_property
    def effects(self) -> FloatArray:
        """Cohen's d_z of each pair, the mean difference over the standard deviation of differences, (pairs,).

        A constant difference has no d_z: it is infinite, or 0 if all scores are equal.
        """
        half = (self.table.high - self.table.low) / 2
        spread = half * np.sqrt(self.topics) / float(special.stdtrit(self.topics - 1, 1 - ALPHA / 2))
        difference = self.table.difference
        effects: FloatArray = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
        np.divide(difference, spread, out=effects, where=spread > 0)
        return effects

    @cached_property
    def _index(self) -> dict[int, int]:
        return {run_id: index for index, run_id in enumerate(self.run_ids)}

    def pair(self, first: int, second: int) -> "PairOfRuns":
        """The comparison of two different runs, by id; the difference is first minus second."""
        at = self._pair(first, second)
        sign = self.sign if self._index[first] < self._index[second] else -self.sign
        ends = sorted(sign * float(end[at]) for end in (self.table.low, self.table.high))
        return PairOfRuns(
            difference=sign * float(self.table.difference[at]),
            low=ends[0],
            high=ends[1],
            p=float(self.table.adjusted[at]),
            told_apart=bool(self.verdict(first, second)),
        )

    def topics_to_decide(self, first: int, second: int) -> int | None:
        """Number of topics needed to decide an undecided pair; None if more would not help."""
        return topics_to_decide(self.table, self.verdicts, self.topics, self._pair(first, second))

    def _pair(self, first: int, second: int) -> int:
        low, high = sorted((self._index[first], self._index[second]))
        return low * len(self.run_ids) - low * (low + 1) // 2 + high - low - 1

    def verdict(self, first: int, second: int) -> int:
        """Verdict on two runs, by id: the first wins (1), loses (-1), or the pair is undecided (0)."""
        return int(self.verdicts.signs[self._index[first], self._index[second]])

    def undecided_with(self, run_id: int) -> frozenset[int]:
        """Ids of the runs undecided with a given run; this relation is not transitive."""
        signs = self.verdicts.signs[self._index[run_id]].tolist()
        return frozenset(
            other for other, sign in zip(self.run_ids, signs, strict=True) if not sign and other != run_id
        )

    def neighbours_told_apart(self, ordered: Sequence[int]) -> int:
        """Number of significantly different neighbours in an order of all runs, by id."""
        order = [self._index[run_id] for run_id in ordered]
        return int(np.count_nonzero(decided_neighbours(self.verdicts.signs, order)))

    def cuts(self, ordered: Sequence[int]) -> frozenset[int]:
        """Runs in best-first order after which each earlier run beats each later one."""
        chosen = [self._index[run_id] for run_id in ordered]
        beats = self.verdicts.signs[np.ix_(chosen, chosen)] > 0
        # The last index that a run does not beat, at least its own.
        last = len(chosen) - 1 - np.argmax(~beats[:, ::-1], axis=1) if chosen else np.empty(0, int)
        reach = np.maximum.accumulate(last)
        return frozenset(run_id for at, run_id in enumerate(ordered[:-1]) if reach[at] == at)

    def unbeaten(self, run_ids: Sequence[int]) -> int:
        """Number of given runs that no given run is named to beat; valid for any selection."""
        chosen = [self._index[run_id] for run_id in run_ids]
        among = self.verdicts.signs[np.ix_(chosen, chosen)]
        return int(np.count_nonzero(~(among < 0).any(axis=1)))


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """A difference of means as printed, with paired 95% interval and adjusted p."""

    difference: float
    low: float
    high: float
    p: float
    told_apart: bool
    """Runs of equal means are not, regardless of rank tests."""


@dataclass(frozen=True, slots=True)
class RankedRun:
    """A ranked run of a board: its id, its ranking's digest, its name and its value as shown."""

    run_id: int
    ranking_sha256: str
    name: str
    value: float


def of_runs(
    session: Session,
    source: Source,
    measure: tuple[str, int],
    sign: int,
    ranked: Sequence[RankedRun],
    by: Method,
) -> Standing | WaitingResult:
    """The standing of the runs; WaitingResult if it needs a job.

    measure: key and version; sign: -1 if lower is better. At most one statement, two for boards with many
    runs, none if cached.
    """
    runs = sorted(ranked, key=lambda run: run.run_id)
    request = Request(
        procedure="pairs",
        method=by.key,
        source=source,
        measure=measure[0],
        measure_version=measure[1],
        run_ids=tuple(run.run_id for run in runs),
        rankings=tuple(run.ranking_sha256 for run in runs),
    )
    result = _result(session, request, sign)
    if isinstance(result, WaitingResult):
        return result
    return _standing(result, request, by, sign)


def against(
    session: Session,
    source: Source,
    measure: tuple[str, int],
    sign: int,
    run_ids: Sequence[int],
    reference: int,
) -> dict[int, PairOfRuns]:
    """Run id -> difference from a reference outside the runs, such as a baseline; one statement.

    p is from a single paired t-test.
    """
    scores = scores_of(session, source, *measure, (*run_ids, reference))
    pairs = {}
    for run_id in run_ids:
        pair = paired_t(sign * np.array([scores[run_id], scores[reference]]))
        low, high = sorted(sign * float(end[0]) for end in (pair.low, pair.high))
        difference, p = sign * float(pair.difference[0]), float(pair.p[0])
        pairs[run_id] = PairOfRuns(difference, low, high, p, p < LEVEL and difference != 0)
    return pairs


def _result(session: Session, request: Request, sign: int) -> Arrays | WaitingResult:
    if (arrays := requests.kept.get(request.digest)) is not None:
        return arrays
    if request.seconds > requests.AT_ONCE_S:
        return requests.find(session, request)
    if requests.is_ready_made(request):
        stored = requests.find(session, request)
        if not isinstance(stored, WaitingResult):
            return stored
    return requests.kept.put(request.digest, compute(request, better_scores(session, request, sign)))


def better_scores(session: Session, request: Request, sign: int) -> FloatArray:
    """The scores of a request, (runs, topics), higher is better; at most one statement.

    They are cached, because other requests of a page use the same runs. Raises RunPartlyScored if a run lacks
    a score on some topic.
    """
    key = f"scores {request.scores_digest}"
    if (arrays := requests.kept.get(key)) is not None:
        return arrays["scores"].astype(np.float64, copy=False)
    by_run = scores_of(session, request.source, request.measure, request.measure_version, request.run_ids)
    if len(by_run) < len(request.run_ids):
        raise RunPartlyScored(f"Not every run has a score by {request.measure} on all topics.")
    scores: FloatArray = sign * np.array([by_run[run_id] for run_id in request.run_ids])
    requests.kept.put(key, {"scores": scores})
    return scores


def compute(request: Request, scores: FloatArray) -> Arrays:
    """The request's result, computed synchronously from scores (runs, topics), higher is better."""
    return procedures.PROCEDURES[request.procedure](scores, request.options, lambda _: None)


def _of_whom(result: Arrays, request: Request, by: Method, sign: int) -> tuple[str, tuple[int, ...], int]:
    """Cache key of standings: the digest covers all inputs except the runs' ids."""
    return request.digest, request.run_ids, sign


@keep_by(_of_whom)
def _standing(result: Arrays, request: Request, by: Method, sign: int) -> Standing:
    """The standing from the cache, with derived values: it does not depend on the reader."""
    table, sd = pair_table(result, request, by), result["sd"].astype(np.float64, copy=False)
    return Standing(table, request.run_ids, sd, len(request.source.topics), sign)


def pair_table(result: Arrays, request: Request, by: Method) -> PairTable:
    """The result of a request for all pairs, as a table."""
    names = ("difference", "low", "high", "p", "adjusted")
    floats = {name: result[name].astype(np.float64, copy=False) for name in names}
    return PairTable(
        method=by,
        runs=len(request.run_ids),
        single=result.get("single", floats["p"]).astype(np.float64, copy=False),
        resamples=int(result["resamples"]) or None,
        reachable=bool(result["reachable"]),
        **floats,
    )


MANY_TOPICS = 1000
"""From here on nearly every difference passes a test, and its size says more."""
SMALL_EFFECT = 0.2
"""Cohen's bound of a small d (Statistical Power Analysis for the Behavioral Sciences, 1988, section 2.2)."""


def sentences(
    standing: Standing, ranked: Sequence[RankedRun], ranked_by: str, digits: int, of: str = ""
) -> tuple[str, ...]:
    """Sentences above a board on its ranked runs, which come in board order.

    of: the subset of runs, such as ` of the group students`, if not all of the task.
    """
    lines = [_verdict(standing, ranked, ranked_by, digits, of)]
    if standing.pairs and standing.topics > 1:
        lines.append(_pairs(standing))
        if standing.table.reachable:
            lines += [_neighbours(standing, ranked), _sizes(standing)]
    return tuple(filter(None, lines))


def leaders(ranked: Sequence[RankedRun], ranked_by: str, digits: int, sign: int) -> str:
    """Sentence on the leaders of the ranked runs, which come in board order."""
    first = [run.name for run in ranked if run.value == ranked[0].value]
    names = f"{', '.join(first[:-1])} and {first[-1]}" if len(first) > 1 else first[0]
    return f"{'Lowest' if sign < 0 else 'Highest'} {ranked_by}: {names} ({ranked[0].value:.{digits}f})."


def _verdict(standing: Standing, ranked: Sequence[RankedRun], ranked_by: str, digits: int, of: str) -> str:
    leader = leaders(ranked, ranked_by, digits, standing.sign)
    if len(ranked) == 1:
        return f"{leader} It is the only ranked run{of}, so there are no comparisons."
    if standing.topics == 1:
        return f"{leader} With one topic no significance test is possible."
    if standing.verdicts.too_few:
        too_few = too_few_topics(f"{len(ranked):,} runs{of}", standing.topics, standing.topics_to_order)
        if not standing.table.difference.any():
            same = f"All {len(ranked):,} runs{of} have the same {ranked_by}"
            return f"{same}, {ranked[0].value:.{digits}f}. {too_few}"
        return f"{leader} {too_few}"
    best, like_these = standing.may_be_best, f"on topics like these {standing.topics:,}"
    if best == 1:
        return f"{leader} It is the best of {len(ranked):,} runs{of} {like_these}, with 95% confidence."
    return f"{leader} {best:,} of {len(ranked):,} runs{of} may be the best {like_these} (dots)."


def too_few_topics(runs: str, topics: int, needed: int | None, noun: str = "topic") -> str:
    """Sentence on too few topics, with the number needed to separate the first and last run.

    noun: the sampled unit, such as members of a suite.

    >>> too_few_topics("11 runs", 12, 40)
    '12 topics are too few to order these 11 runs; about 40 would be needed.'
    """
    these = f"{counted(topics, noun)} {'is' if topics == 1 else 'are'} too few to order these {runs}"
    if topics == 1:
        return f"{these}."
    if needed is None:
        return f"{these}; more {noun}s like these would not help."
    return f"{these}; about {needed:,} would be needed."


def undecided_pair(topics: int, needed: int | None) -> str:
    """Sentence on the topics needed to decide a pair; empty for one topic, which has no variance.

    >>> undecided_pair(12, 40)
    'About 40 topics like these 12 would decide it with 80% power, if the observed difference is true.'
    """
    if topics == 1:
        return ""
    if needed is None:
        return f"More topics like these {topics:,} would not decide it, if the observed difference is true."
    return (
        f"About {needed:,} topics like these {topics:,} would decide it with 80% power, if the observed "
        "difference is true."
    )


def needed_words(needed: int | None, units: int, noun: str = "topic") -> str:
    """As undecided_pair, as text of a cell; noun: the sampled unit.

    >>> needed_words(40, 12), needed_words(None, 12)
    ('about 40 topics', 'more would not help')
    """
    if units == 1:
        return ""
    return "more would not help" if needed is None else f"about {counted(needed, noun)}"


def _pairs(standing: Standing) -> str:
    title = standing.method.title
    if not standing.table.reachable:
        return (
            f"This test ({title}) cannot find any pair significantly different here, whatever the scores: "
            "its smallest possible p is too large. Use the paired t-test."
        )
    if standing.pairs == 1:
        return f"The two runs are {'' if standing.told_apart else 'not '}significantly different ({title})."
    share = standing.told_apart / standing.pairs
    return (
        f"{standing.told_apart:,} of {standing.pairs:,} pairs ({share:.0%}) are significantly different "
        f"({title}). "
        f"{'Counts' if standing.verdicts.too_few else 'Dots, counts'} and rank ranges hold simultaneously "
        "with 95% confidence."
    )


def _neighbours(standing: Standing, ranked: Sequence[RankedRun]) -> str:
    if len(ranked) < 3:
        return ""
    if standing.verdicts.too_few and not standing.told_apart:
        return ""
    real = standing.neighbours_told_apart([run.run_id for run in ranked])
    if real == 0:
        return "No run is significantly different from its neighbour, so ranks show an order, not a distance."
    if real == len(ranked) - 1:
        return "Every run is significantly different from its neighbours."
    return (
        f"{real:,} of {len(ranked) - 1:,} neighbouring pairs are significantly different: "
        "between the others, ranks show an order, not a distance."
    )


def _sizes(standing: Standing) -> str:
    """Sentence on small significant differences, for thousands of topics."""
    if standing.topics < MANY_TOPICS or not standing.told_apart:
        return ""
    passed = standing.verdicts.signs[pairs(len(standing.run_ids))] != 0
    small = int(np.count_nonzero(passed & (np.abs(standing.effects) < SMALL_EFFECT)))
    return (
        f"With {standing.topics:,} topics even tiny differences are significant: {small:,} of the "
        f"{standing.told_apart:,} significant ones are small (effect size d_z below {SMALL_EFFECT})."
    )


def decided_neighbours(signs: SignArray, order: Sequence[int]) -> BoolArray:
    """Mask of the n - 1 neighbouring pairs in the board's order that differ significantly, by such signs."""
    places = np.asarray(order, dtype=np.int64)
    is_decided: BoolArray = signs[places[:-1], places[1:]] != 0
    return is_decided
