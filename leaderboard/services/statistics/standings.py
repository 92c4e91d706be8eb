"""What a board may say of its runs: who beats whom, who may be the best, which ranks are real."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit
from sqlalchemy.orm import Session

from leaderboard.errors import LeaderboardError
from leaderboard.memory import keep_by
from leaderboard.services.evaluations.shown import FloatArray, Source, scores_of
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.requests import Request, WaitingResult
from leaderboard.stats import procedures
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import Method, PairTable
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.reliability import half_width
from leaderboard.stats.standing import (
    SignArray,
    Verdicts,
    decided,
    decided_neighbours,
    topics_to_decide,
    verdicts,
    widest_pair,
)
from leaderboard.tables.words import counted

ALPHA = 2 * LEVEL
"""Of all that a board says at once; intervals hold with 1 - ALPHA."""
SAME = 1e-12
"""Scores of a smaller standard deviation are equal but for rounding."""


class RunPartlyScored(LeaderboardError):
    """Runs cannot be compared by a measure by which some have no score on some topic."""


def varies(sd: float) -> bool:
    """Whether scores of this standard deviation differ by more than rounding."""
    return sd > SAME


@dataclass(frozen=True, slots=True)
class Place:
    """One run among the ranked ones: what holds of all runs at once with 1 - ALPHA."""

    beats: int
    beaten_by: int
    """By how many runs at least: rank_low - 1."""
    undecided: int
    """How many of the others neither beat it nor are beaten by it, as far as they are named."""
    rank_low: int
    rank_high: int
    best_set: bool
    """Whether it may be the best on topics like these; none where these are too few to order the runs."""
    named: int
    """How many runs are named that beat it: 0 also where some run with a dot does, and it is open which."""


@dataclass(frozen=True, eq=False)
class Standing:
    """All pairs of the ranked runs of a board, in the order of their ids, by one measure and method."""

    table: PairTable
    run_ids: tuple[int, ...]
    sd: FloatArray
    """The standard deviation of each run's scores over the topics, (runs,)."""
    topics: int
    sign: int
    """-1 where lower is better: differences are given as the measure prints them."""

    @cached_property
    def half_widths(self) -> dict[int, float]:
        """Run id -> half of the 95% t interval of its own mean; without runs whose score never varies."""
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
        """How many pairs of runs there are."""
        return len(self.table.adjusted)

    @cached_property
    def verdicts(self) -> Verdicts:
        """What holds of all runs at once, in the order of the runs."""
        return verdicts(self.table)

    @cached_property
    def signs(self) -> SignArray:
        """Which pairs the method tells apart, (n, n), as pages of pairs say: its own correction decides."""
        return decided(self.table)

    @property
    def may_be_best(self) -> int:
        """How many runs may be the best."""
        return int(np.count_nonzero(self.verdicts.may_be_best))

    @cached_property
    def topics_to_order(self) -> int | None:
        """About how many topics would tell the first and the last apart, where these are too few."""
        at = widest_pair(self.table)
        return topics_to_decide(self.table, self.verdicts, self.topics, at) if self.pairs else None

    @property
    def told_apart(self) -> int:
        """How many pairs can be told apart, by the verdicts."""
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

        A constant difference has none: there it is infinite, or 0 where all scores are equal.
        """
        half = (self.table.high - self.table.low) / 2
        spread = half * np.sqrt(self.topics) / float(stdtrit(self.topics - 1, 1 - ALPHA / 2))
        difference = self.table.difference
        effects: FloatArray = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
        np.divide(difference, spread, out=effects, where=spread > 0)
        return effects

    @cached_property
    def _index(self) -> dict[int, int]:
        return {run_id: index for index, run_id in enumerate(self.run_ids)}

    def pair(self, first: int, second: int) -> "PairOfRuns":
        """What the table says of two different runs, by id; the difference is first minus second."""
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
        """How many topics would decide an undecided pair; None where more would not help."""
        return topics_to_decide(self.table, self.verdicts, self.topics, self._pair(first, second))

    def _pair(self, first: int, second: int) -> int:
        low, high = sorted((self._index[first], self._index[second]))
        return low * len(self.run_ids) - low * (low + 1) // 2 + high - low - 1

    def verdict(self, first: int, second: int) -> int:
        """Whether the first of two runs, by id, beats the second (1), is beaten by it (-1) or neither (0)."""
        return int(self.verdicts.signs[self._index[first], self._index[second]])

    def undecided_with(self, run_id: int) -> frozenset[int]:
        """The other runs that one neither beats nor is beaten by; undecided is not transitive."""
        signs = self.verdicts.signs[self._index[run_id]].tolist()
        return frozenset(
            other for other, sign in zip(self.run_ids, signs, strict=True) if not sign and other != run_id
        )

    def neighbours_told_apart(self, ordered: Sequence[int]) -> int:
        """How many neighbours of an order of all runs, by id, can be told apart."""
        order = [self._index[run_id] for run_id in ordered]
        return int(np.count_nonzero(decided_neighbours(self.verdicts.signs, order)))

    def cuts(self, ordered: Sequence[int]) -> frozenset[int]:
        """Of some runs, best first, those of which each, and each before it, beats every later one."""
        chosen = [self._index[run_id] for run_id in ordered]
        beats = self.verdicts.signs[np.ix_(chosen, chosen)] > 0
        # The last place that a run does not beat; its own at the least.
        last = len(chosen) - 1 - np.argmax(~beats[:, ::-1], axis=1) if chosen else np.empty(0, int)
        reach = np.maximum.accumulate(last)
        return frozenset(run_id for at, run_id in enumerate(ordered[:-1]) if reach[at] == at)

    def unbeaten(self, run_ids: Sequence[int]) -> int:
        """How many of some of the runs none of these is named to beat: it holds for any choice of them."""
        chosen = [self._index[run_id] for run_id in run_ids]
        among = self.verdicts.signs[np.ix_(chosen, chosen)]
        return int(np.count_nonzero(~(among < 0).any(axis=1)))


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """A difference of means as the measure prints them, its paired 95% interval, its adjusted p."""

    difference: float
    low: float
    high: float
    p: float
    told_apart: bool
    """Runs of equal means are not, whatever a test of ranks says."""


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
    """The standing of the runs among each other; Waiting where it takes a job.

    measure is key and version, sign -1 where lower is better. At most one statement, two where the board has
    many runs, none where the standing was asked for before.
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
    """Run id -> the run against a reference that is not among them, such as a baseline; one statement.

    The p is that of a single paired t test.
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
    if (known := requests.kept.get(request.digest)) is not None:
        return known
    if request.seconds > requests.AT_ONCE_S:
        return requests.find(session, request)
    if requests.is_ready_made(request):
        stored = requests.find(session, request)
        if not isinstance(stored, WaitingResult):
            return stored
    return requests.kept.put(request.digest, compute(request, better_scores(session, request, sign)))


def better_scores(session: Session, request: Request, sign: int) -> FloatArray:
    """The scores a request is about, (runs, topics), higher being better; at most one statement.

    They are kept in memory too: what else a page asks of the same runs needs them again.
    Raises RunPartlyScored where a run has none on some topic.
    """
    key = f"scores {request.scores_digest}"
    if (known := requests.kept.get(key)) is not None:
        return known["scores"].astype(np.float64, copy=False)
    by_run = scores_of(session, request.source, request.measure, request.measure_version, request.run_ids)
    if len(by_run) < len(request.run_ids):
        raise RunPartlyScored(f"Not every run has a score by {request.measure} on all topics.")
    scores: FloatArray = sign * np.array([by_run[run_id] for run_id in request.run_ids])
    requests.kept.put(key, {"scores": scores})
    return scores


def compute(request: Request, scores: FloatArray) -> Arrays:
    """The request's result, computed here and now from scores of which higher is better, (runs, topics)."""
    return procedures.PROCEDURES[request.procedure](scores, request.options, lambda _: None)


def _of_whom(result: Arrays, request: Request, by: Method, sign: int) -> tuple[str, tuple[int, ...], int]:
    """What tells standings apart: the digest is of all that a result depends on besides the runs' ids."""
    return request.digest, request.run_ids, sign


@keep_by(_of_whom)
def _standing(result: Arrays, request: Request, by: Method, sign: int) -> Standing:
    """The standing, with what was worked out of it when it was asked for last: it depends on no reader."""
    table, sd = pair_table(result, request, by), result["sd"].astype(np.float64, copy=False)
    return Standing(table, request.run_ids, sd, len(request.source.topics), sign)


def pair_table(result: Arrays, request: Request, by: Method) -> PairTable:
    """The result of a request for all pairs of its runs, as the table it was made of."""
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
    """What a board says above its table of the ranked runs, which come in the board's order.

    of: which runs they are, such as ` of the group students`, where they are not all of the task's.
    """
    lines = [_verdict(standing, ranked, ranked_by, digits, of)]
    if standing.pairs and standing.topics > 1:
        lines.append(_pairs(standing))
        if standing.table.reachable:
            lines += [_neighbours(standing, ranked), _sizes(standing)]
    return tuple(filter(None, lines))


def leaders(ranked: Sequence[RankedRun], ranked_by: str, digits: int, sign: int) -> str:
    """Name the first of the ranked runs, which come in the board's order, with their value."""
    first = [run.name for run in ranked if run.value == ranked[0].value]
    names = f"{', '.join(first[:-1])} and {first[-1]}" if len(first) > 1 else first[0]
    return f"{'Lowest' if sign < 0 else 'Highest'} {ranked_by}: {names} ({ranked[0].value:.{digits}f})."


def _verdict(standing: Standing, ranked: Sequence[RankedRun], ranked_by: str, digits: int, of: str) -> str:
    leader = leaders(ranked, ranked_by, digits, standing.sign)
    if len(ranked) == 1:
        return f"{leader} It is the only ranked run{of}, so there is nothing to compare it with."
    if standing.topics == 1:
        return f"{leader} With one topic no test can tell runs apart."
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
    """Say that topics do not order runs, and how many would be needed to tell the first and last apart.

    noun: what is too few, such as members of a suite.

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
    """Say how many topics would decide a pair that these do not; empty for one topic, which shows no spread.

    >>> undecided_pair(12, 40)
    'About 40 topics like these 12 would decide it with 80% power, if the difference is what it seems.'
    """
    if topics == 1:
        return ""
    if needed is None:
        return f"More topics like these {topics:,} would not help."
    return (
        f"About {needed:,} topics like these {topics:,} would decide it with 80% power, if the difference is "
        "what it seems."
    )


def needed_words(needed: int | None, units: int, noun: str = "topic") -> str:
    """As undecided_pair, in the words of a cell; noun: what would be drawn anew.

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
            f"This test ({title}) cannot tell any pair apart here, whatever the scores: "
            "the smallest p it can give is too large. The paired t test can."
        )
    if standing.pairs == 1:
        return f"The two {'can' if standing.told_apart else 'cannot'} be told apart ({title})."
    share = standing.told_apart / standing.pairs
    return (
        f"Of {standing.pairs:,} pairs {standing.told_apart:,} ({share:.0%}) can be told apart ({title}). "
        f"{'Counts' if standing.verdicts.too_few else 'Dots, counts'} and rank ranges hold all at once "
        "with 95% confidence."
    )


def _neighbours(standing: Standing, ranked: Sequence[RankedRun]) -> str:
    if len(ranked) < 3:
        return ""
    if standing.verdicts.too_few and not standing.told_apart:
        return ""
    real = standing.neighbours_told_apart([run.run_id for run in ranked])
    if real == 0:
        return "No run can be told apart from its neighbour: read the rank as an order, not a distance."
    if real == len(ranked) - 1:
        return "Every run can be told apart from its neighbours."
    return (
        f"{real:,} of {len(ranked) - 1:,} neighbouring pairs can be told apart: "
        "between the others, read the rank as an order, not a distance."
    )


def _sizes(standing: Standing) -> str:
    """With thousands of topics, how many of the differences that pass are small all the same."""
    if standing.topics < MANY_TOPICS or not standing.told_apart:
        return ""
    passed = standing.verdicts.signs[pairs(len(standing.run_ids))] != 0
    small = int(np.count_nonzero(passed & (np.abs(standing.effects) < SMALL_EFFECT)))
    return (
        f"With {standing.topics:,} topics even tiny differences pass a test: {small:,} of the "
        f"{standing.told_apart:,} that do are small (effect size d_z below {SMALL_EFFECT})."
    )
