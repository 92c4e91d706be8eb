"""Pools by any method: `method(spec)`, then `pool` all at once, or `start` and request the next document.

A spec is the storage format: {"name": "rrf", "k": 60, "budget": 200}. Topics are pooled one at a time.
Rankings are arrays of document indices, best first, one per run in stored order; an index is a place in a
list of docnos in byte order, so that ties by document go by docno. Chosen runs and teams' caps are rankings
that are shorter or missing: `choosing.chosen_runs` selects the remaining runs.

Fusions take the candidates of a topic and return a priority (n,), larger first.

Orders return the candidates' indices in judging order and a priority for each of them, larger first.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import floor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from leaderboard.pooling import adaptive
from leaderboard.pooling.adaptive import HIT, MISS, OPEN, PASSED, Policy, States
from leaderboard.pooling.bound import BoundMethod, method
from leaderboard.pooling.candidates import Candidates, FloatArray, IntArray, candidates, descending
from leaderboard.pooling.draws import order, stream
from leaderboard.pooling.parameters import Strata
from leaderboard.pooling.registry import DEFAULT, METHODS, Method


class Judge:
    """Returns one topic's documents in sequence; the result depends only on the judgments.

    It remembers its position, so the next call is quick; a new one after a restart returns the same. It is
    thread-safe.
    """

    def __init__(self, pool: Candidates, policies: Sequence[Policy], budget: int | None) -> None:
        """policies: each is used once those before it have nothing left."""
        self._pool, self._policies, self._budget = pool, policies, budget
        self._asking = Lock()

    def next(self, judged: Mapping[int, int], level: int = 1) -> int | None:
        """The document to judge next, None when the pool or the budget is exhausted.

        judged: the grade of each graded document, or -1 for documents not to return now, because
        they were skipped or are with another assessor: these teach nothing and cost nothing. Documents
        outside the candidates are ignored. A grade of at least level is relevant. The same seed and the
        same judgments give the same document, in any order of the judgments.
        """
        states = self._states(judged, level)
        if self._budget is not None and np.count_nonzero(states >= MISS) >= self._budget:
            return None
        place = self._next(states)
        return None if place is None else int(self._pool.documents[place])

    def order(self, grades: Mapping[int, int], level: int = 1) -> IntArray:
        """The order in which all graded documents would be returned, regardless of the budget.

        Documents without a grade, or with a negative one, are skipped.
        """
        answers = self._states(grades, level)
        states = np.where(answers >= MISS, OPEN, PASSED).astype(np.int8)
        order = []
        while (place := self._next(states)) is not None:
            order.append(place)
            states[place] = answers[place]
        return self._pool.documents[np.array(order, dtype=np.int64)]

    def _next(self, states: States) -> int | None:
        with self._asking:
            every = (policy.next(states) for policy in self._policies)
            return next((place for place in every if place is not None), None)

    def _states(self, judged: Mapping[int, int], level: int) -> States:
        states = np.full(len(self._pool.documents), OPEN, dtype=np.int8)
        place = self._pool.places(np.fromiter(judged.keys(), dtype=np.int64, count=len(judged)))
        grade = np.fromiter(judged.values(), dtype=np.int64, count=len(judged))[place >= 0]
        states[place[place >= 0]] = np.where(grade < 0, PASSED, np.where(grade < level, MISS, HIT))
        return states


def chosen_runs(
    teams: Sequence[object], *, primary: Sequence[bool] = (), cap: int | None = None
) -> list[int]:
    """The runs to pool, in priority order: primary runs first, then the stored order.

    teams: the team of every run, in stored order. cap: maximum runs per team (None: all of them); its
    primary runs come before its others. Omitted runs contribute nothing to a pool. Raises ValueError
    if primary is given for some runs only, or the cap is below 1.

    >>> chosen_runs(["a", "a", "b", "a"], primary=[False, True, False, False], cap=2)
    [1, 0, 2]
    """
    if primary and len(primary) != len(teams):
        raise ValueError(f"{len(primary)} primary marks are given for {len(teams)} runs")
    if cap is not None and cap < 1:
        raise ValueError(f"a cap must be a whole number of at least 1, not {cap}")
    first = [run for run, is_primary in enumerate(primary) if is_primary]
    taken: dict[object, int] = {}
    chosen = []
    for run in [*first, *(run for run in range(len(teams)) if run not in set(first))]:
        taken[teams[run]] = taken.get(teams[run], 0) + 1
        if cap is None or taken[teams[run]] <= cap:
            chosen.append(run)
    return chosen


def borda(pool: Candidates) -> FloatArray:
    """Borda points: n for a run's first of n candidates, one less per rank; the others share the rest.

    Source: Aslam and Montague 2001.
    """
    count = len(pool.documents)
    # The ranks a run leaves open are length + 1 to n: their points are 1 to n - length.
    rest = np.where(pool.lengths < count, (count - pool.lengths + 1) / 2.0, 0.0)
    return pool.total(count - pool.rank + 1.0 - rest[pool.run]) + float(rest.sum())


def reciprocal_rank(pool: Candidates, k: float) -> FloatArray:
    """The sum of 1 / (k + rank) over runs. Source: Cormack, Clarke and Büttcher 2009."""
    return pool.total(1.0 / (k + pool.rank))


def rank_biased(pool: Candidates, p: float) -> FloatArray:
    """The sum of (1 - p) p^(rank - 1) over runs. Source: Moffat, Webber and Zobel 2007."""
    return pool.total((1.0 - p) * p ** (pool.rank - 1.0))


def discounted(pool: Candidates) -> FloatArray:
    """The sum of 1 / log2(1 + rank) over runs."""
    return pool.total(1.0 / np.log2(1.0 + pool.rank))


def comb_mnz(pool: Candidates, scores: Sequence[FloatArray]) -> FloatArray:
    """CombMNZ: the sum of scaled scores times the number of runs that have the document.

    scores: of every run, best first, at least as many as it has candidates. They are scaled to 0 to 1 over
    the run's candidates; all are 1 if a run gives all of them the same. Raises ValueError if a run
    has fewer scores than documents. Source: Fox and Shaw 1994.
    """
    if len(scores) != pool.runs or any(
        len(given) < length for given, length in zip(scores, pool.lengths, strict=True)
    ):
        raise ValueError("CombMNZ needs a score for every document of every run")
    scaled = [_scaled(given[:length]) for given, length in zip(scores, pool.lengths.tolist(), strict=True)]
    holders = np.bincount(pool.document, minlength=len(pool.documents))
    return pool.total(np.concatenate([*scaled, np.empty(0)])) * holders


BY_RANK: Mapping[str, Callable[[Candidates], FloatArray]] = {
    "rrf": lambda pool: reciprocal_rank(pool, 60.0),
    "borda": borda,
    "dcg": discounted,
    "rbp": lambda pool: rank_biased(pool, 0.8),
}
"""Fusions available for cutting a stratified sample."""


def _scaled(scores: FloatArray) -> FloatArray:
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return values
    low, high = values.min(), values.max()
    return np.ones_like(values) if high == low else (values - low) / (high - low)


Order = tuple[IntArray, FloatArray]


def by_depth(pool: Candidates) -> Order:
    """By best rank in any run, ties by document: cut anywhere, it is fair to every run."""
    order = np.argsort(pool.best, kind="stable")
    return order, 1.0 / pool.best[order]


def take_in_order(pool: Candidates) -> Order:
    """Rank by rank over the runs in stored order, each document once."""
    entries = np.argsort(pool.rank, kind="stable")
    order = _firsts(pool.document[entries], len(pool.documents))
    return order, 1.0 / pool.best[order]


def fair_take(pool: Candidates) -> Order:
    """The runs in turn, each with its best document that is not yet taken, until none has any left."""
    rankings = [iter(ranking.tolist()) for ranking in pool.rankings]
    taken = [False] * len(pool.documents)
    order: list[int] = []
    turn: list[int] = []
    rounds = 0
    while rankings:
        rounds += 1
        going = []
        for ranking in rankings:
            document = next((candidate for candidate in ranking if not taken[candidate]), None)
            if document is not None:
                taken[document] = True
                order.append(document)
                turn.append(rounds)
                going.append(ranking)
        rankings = going
    return np.array(order, dtype=np.int64), 1.0 / np.array(turn, dtype=np.float64)


def by_priority(pool: Candidates, priorities: Sequence[int]) -> Order:
    """The documents of runs with priority 1 by best rank, then those added by priority 2, and so on.

    Runs of priority 0 add nothing. Raises ValueError unless there is one priority per run.
    """
    if len(priorities) != pool.runs:
        raise ValueError(f"there are {len(priorities)} priorities for {pool.runs} runs: give one per run")
    given = np.array(priorities, dtype=np.int64)[pool.run]
    prioritised = np.flatnonzero(given > 0)
    chosen = prioritised[np.lexsort((pool.document[prioritised], pool.rank[prioritised], given[prioritised]))]
    order, place = _first_entries(pool.document[chosen], len(pool.documents))
    return order, 1.0 / given[chosen][place]


def _firsts(documents: IntArray, count: int) -> IntArray:
    return _first_entries(documents, count)[0]


def _first_entries(documents: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """The documents in order of their first entry, with the position of that entry."""
    first = np.full(count, len(documents))
    np.minimum.at(first, documents, np.arange(len(documents)))
    order = np.argsort(first, kind="stable")[: int((first < len(documents)).sum())]
    return order, first[order]


class Sample(NamedTuple):
    """The drawn ranks of a fused ranking, and the others.

    place, stratum, probability: (drawn,) by fused rank: index into the fused ranking, stratum from 0, and
    the share of the stratum that was drawn. population: (strata,) the sizes of the strata. passed,
    passed_stratum: the places not drawn.
    """

    place: IntArray
    stratum: IntArray
    probability: FloatArray
    population: IntArray
    passed: IntArray
    passed_stratum: IntArray


def stratified_sample(count: int, strata: Strata, seed: int) -> Sample:
    """A sample of the places 0 to count - 1 of a fused ranking; excludes everything below the last stratum.

    strata: (last rank, rate) from the top down. Of a stratum of N documents the nearest whole number to
    rate N is drawn, at least one, every set of that size as likely; its probability is that number over N,
    not the rate. Source: Yilmaz, Kanoulas and Aslam 2008.

    >>> sample = stratified_sample(12, ((2, 1.0), (10, 0.5)), seed=1)
    >>> sample.place, sample.population
    (array([0, 1, 4, 5, 7, 9]), array([2, 8]))
    """
    ends = [0, *(min(last, count) for last, _ in strata)]
    bounds = list(pairwise(ends))
    drawn = np.zeros(ends[-1], dtype=np.bool_)
    probability = np.ones(ends[-1])
    for number, ((begin, end), (_, rate)) in enumerate(zip(bounds, strata, strict=True)):
        size = end - begin
        if size:
            draws = min(size, max(1, floor(rate * size + 0.5)))
            drawn[begin + order(stream(seed, number), size)[:draws]] = True
            probability[begin:end] = draws / size
    population = np.array([end - begin for begin, end in bounds], dtype=np.int64)
    stratum = np.repeat(np.arange(len(population)), population)
    place, passed = np.flatnonzero(drawn), np.flatnonzero(~drawn)
    return Sample(place, stratum[place], probability[place], population, passed, stratum[passed])


__all__ = ["DEFAULT", "METHODS", "BoundMethod", "Judge", "Method", "Pooled", "method", "pool", "start"]

Scores = Sequence[FloatArray] | None


class Pooled(NamedTuple):
    """The documents of one topic to judge; the first four arrays are (documents,), in judging order.

    documents: indices. priority: larger first, within a stratum. stratum: from 0: the stages of a staged
    method, the strata of a sample, else 0. probability: of being in the pool, 1 unless drawn. population:
    (strata,) documents of each stratum, judged or not. passed, passed_stratum: the documents that were not
    drawn. Of an adaptive method documents are all that it may come to, by best rank: the budget limits how
    many of them are judged, not how many there are.
    """

    documents: IntArray
    priority: FloatArray
    stratum: IntArray
    probability: FloatArray
    population: IntArray
    passed: IntArray
    passed_stratum: IntArray


def pool(
    bound: BoundMethod,
    rankings: Sequence[IntArray],
    *,
    seed: int = 0,
    budget: int | None = None,
    scores: Scores = None,
) -> Pooled:
    """One topic's pool; seed is the topic's, for random methods; budget replaces the method's own.

    scores: of every ranking's documents, for methods that need them. Raises ValueError if they are
    missing, where priorities do not fit the runs, and for a budget that would cut a sample.

    >>> pool(method({"name": "take"}), [np.array([4, 2]), np.array([7, 4])], budget=2).documents
    array([4, 7])
    """
    every = candidates(rankings, bound.reach)
    return _pool(bound, every, seed, bound.budget if budget is None else budget, scores)


def start(
    bound: BoundMethod,
    rankings: Sequence[IntArray],
    seed: int = 0,
    *,
    budget: int | None = None,
    scores: Scores = None,
) -> Judge:
    """The judge that returns one topic's documents one at a time; fixed methods keep the pool's order.

    The budget includes existing judgments. Raises ValueError as `pool` does.
    """
    every = candidates(rankings, bound.reach)
    limit = bound.budget if budget is None else budget
    if not bound.adaptive:
        return Judge(every, [_listed(every, _pool(bound, every, seed, limit, scores).documents)], None)
    policy = _POLICIES[bound.last.method.name](every, bound.last, seed)
    if bound.then is None:
        return Judge(every, [policy], limit)
    return Judge(every, [adaptive.Listed(_first_stage(bound, every)), policy], limit)


def _pool(bound: BoundMethod, every: Candidates, seed: int, limit: int | None, scores: Scores) -> Pooled:
    if limit is not None and limit < 1:
        raise ValueError(f"a budget must be a whole number of at least 1, not {limit}")
    if bound.samples and limit is not None:
        raise ValueError("the rates of a sample set its size: change the rates and give no budget")
    stage = np.empty(0, dtype=np.int64) if bound.then is None else _first_stage(bound, every)
    by, priority = _ORDERS[bound.last.method.name](every, bound.last, seed, scores)
    later = ~np.isin(by, stage)
    by, priority = by[later], priority[later]
    sample = _sample(bound.last, len(by), seed)
    staged = int(bound.then is not None)
    first = [np.array([len(stage)])] if staged else []
    pooled = Pooled(
        every.documents[np.concatenate((stage, by[sample.place]))],
        np.concatenate((1.0 / every.best[stage], priority[sample.place])),
        np.concatenate((np.zeros(len(stage), dtype=np.int64), sample.stratum + staged)),
        np.concatenate((np.ones(len(stage)), sample.probability)),
        np.concatenate((*first, sample.population)),
        every.documents[by[sample.passed]],
        sample.passed_stratum + staged,
    )
    return pooled if bound.adaptive or limit is None else _cut(pooled, limit)


def _cut(pooled: Pooled, limit: int) -> Pooled:
    stratum = pooled.stratum[:limit]
    return pooled._replace(
        documents=pooled.documents[:limit],
        priority=pooled.priority[:limit],
        stratum=stratum,
        probability=pooled.probability[:limit],
        population=np.bincount(stratum, minlength=len(pooled.population)),
    )


def _first_stage(bound: BoundMethod, every: Candidates) -> IntArray:
    return _by_depth(every, bound.values["depth"])[0]


def _by_depth(every: Candidates, depth: Any) -> Order:
    by, priority = by_depth(every)
    shallow = int((every.best <= depth).sum())
    return by[:shallow], priority[:shallow]


def _listed(every: Candidates, documents: IntArray) -> adaptive.Listed:
    return adaptive.Listed(every.places(documents))


def _sample(bound: BoundMethod, count: int, seed: int) -> Sample:
    values: Any = bound.values
    return stratified_sample(count, values["strata"] if bound.samples else ((max(count, 1), 1.0),), seed)


def _ranked(priority: FloatArray) -> Order:
    by = descending(priority)
    return by, priority[by]


def _shuffled(every: Candidates, seed: int) -> Order:
    count = len(every.documents)
    return order(stream(seed), count), 1.0 / np.arange(1, count + 1)


def _comb_mnz(every: Candidates, scores: Scores) -> Order:
    if scores is None:
        raise ValueError("CombMNZ needs the scores of the runs, but none are given")
    return _ranked(comb_mnz(every, scores))


_Make = Callable[[Candidates, BoundMethod, int, Scores], Order]
_ORDERS: Mapping[str, _Make] = {
    "depth": lambda every, bound, *_: _by_depth(every, bound.values["depth"]),
    "citations": lambda every, *_: by_depth(every),
    "references": lambda every, *_: by_depth(every),
    "priority": lambda every, bound, *_: by_priority(every, _value(bound, "priorities")),
    "take": lambda every, *_: take_in_order(every),
    "fair_take": lambda every, *_: fair_take(every),
    "borda": lambda every, *_: _ranked(borda(every)),
    "rrf": lambda every, bound, *_: _ranked(reciprocal_rank(every, _value(bound, "k"))),
    "combmnz": lambda every, bound, seed, scores: _comb_mnz(every, scores),
    "rbp": lambda every, bound, *_: _ranked(rank_biased(every, _value(bound, "p"))),
    "dcg": lambda every, *_: _ranked(discounted(every)),
    "stratified": lambda every, bound, *_: _ranked(BY_RANK[_value(bound, "fusion")](every)),
    "random": lambda every, bound, seed, scores: _shuffled(every, seed),
    **dict.fromkeys(("mtf", "hedge", "maxmean", "mm_ns", "thompson"), lambda every, *_: by_depth(every)),
}


def _bandit(every: Candidates, worth: adaptive.Worth, credit: Any) -> adaptive.Policy:
    if credit == "holders":
        return adaptive.SharedArms(every, worth)
    return adaptive.PulledArms(every, worth)


_POLICIES: Mapping[str, Callable[[Candidates, BoundMethod, int], adaptive.Policy]] = {
    "mtf": lambda every, bound, seed: adaptive.PulledArms(every, adaptive.last_result),
    "hedge": lambda every, bound, seed: adaptive.Hedge(every, _value(bound, "beta")),
    "maxmean": lambda every, bound, seed: _bandit(every, adaptive.mean, bound.values["credit"]),
    "mm_ns": lambda every, bound, seed: adaptive.PulledArms(
        every, adaptive.last_result, holders=bound.values["credit"] == "holders"
    ),
    "thompson": lambda every, bound, seed: _bandit(every, adaptive.sampled(seed), bound.values["credit"]),
}


def _value(bound: BoundMethod, name: str) -> Any:
    return bound.values[name]
