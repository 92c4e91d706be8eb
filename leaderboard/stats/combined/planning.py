"""Number of further documents that people would have to judge to separate two runs.

The weight of a document in a run's score: the slope of the score by the document's value.

Of P, DCG, nDCG and RBP that is the weight of its rank. Of RR, ERR and AP it depends on what the machine says
of the run's other documents on the topic, never of the document itself, as these measures are linear in each.
Each function takes rankings as the measure does and gives (runs, topics, ranks) down to the cutoff.

Whether a machine favours some runs: grades of their documents compared with similar documents.

A machine that knows no team errs by the document: by what people say of it, and perhaps by how easily it is
found, where it over-rates what most runs have near their tops. So the documents that people judged are
compared within each of people's grades, along how much a document counts in all runs together: what the
machine's labels differ there from their least-squares line either goes with how much a document counts in a
group's runs beyond what its line says, or it does not. That is a partial regression (Frisch and Waugh,
Econometrica 1(4), 1933; Lovell, Journal of the American Statistical Association 58(304), 1963). As documents
of a topic are not independent of each other, it is split into one number per topic, whose mean is the favour,
tested by the paired t test over topics (after Liang and Zeger, Biometrika 73(1), 1986) with Holm's correction
over the groups.

How likely a document was to be drawn weighs nothing in the test: given what people say, it has nothing to do
with the errors of a blind machine. That makes it far sharper than a comparison of the scores.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.stats import special
from leaderboard.stats.combined.labels import (
    FloatArray,
    IntArray,
    Labels,
    ValueOf,
    chance_of,
    predicted,
    relevant_from,
)
from leaderboard.stats.combined.measures import discounts, ideal_dcg, in_rankings
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability import half_width, power, smallest_difference, topics_needed

VERSION = 3
"""Of the method. 1 took the machine's excess over people less its mean over runs, and mistook weak runs for
favoured ones; 2 less what a run's score by people predicts, and missed every second favour of the weakest."""
ALPHA = 0.05
POWER = 0.8
LEAST_OTHERS = 3
"""Runs of other groups: with fewer, what all runs have is what the group has."""


@dataclass(frozen=True, slots=True)
class Favour:
    """The extra grade that a machine gives a group of runs, compared with similar documents of others.

    In units of the measure. low and high are the ends of the 95 % interval, p and adjusted are two-sided;
    visible is the smallest favour that would be found with 80 % power.
    """

    mean: float
    low: float
    high: float
    p: float
    adjusted: float
    visible: float

    @property
    def is_favoured(self) -> bool:
        """Whether the machine favours the group."""
        return self.adjusted < ALPHA and self.mean > 0


def favours(
    labels: Labels, value_of: ValueOf, placed: FloatArray, groups: Sequence[Sequence[int]]
) -> tuple[Favour | None, ...]:
    """The favour of each group, a list of runs; None where its documents count for it as for all runs.

    placed: (runs, judged documents), how much each document that people judged counts in a run's score, in
    the order of the labels. Raises ValueError for fewer than two topics, a group without a run, or one with
    fewer than three others.
    """
    runs, topics = len(placed), labels.topics
    if topics < 2 or not all(groups):
        raise ValueError("a machine's favour needs at least two topics and one run")
    if any(runs - len(set(group)) < LEAST_OTHERS for group in groups):
        raise ValueError(f"a group is compared with {LEAST_OTHERS} runs of others or more")
    judged = labels.is_judged
    topic, people = labels.topic[judged], labels.people[judged]
    own = np.array([placed[list(group)].mean(axis=0) for group in groups])
    worth, own = _unexplained((value_of(labels.machine[judged])[None], own), people, placed.mean(axis=0))
    own_size = (own**2).sum(axis=1)
    is_estimable = own_size > own.shape[1] * (ROUNDING * np.abs(placed).max(initial=0.0)) ** 2
    # What a whole pool would hold of it: the sample's documents, each as often as it represents others.
    in_pool = own**2 @ (1 / labels.probability[judged])
    scale = np.divide(in_pool, own_size, out=np.zeros_like(own_size), where=is_estimable)
    by_topic = np.array([np.bincount(topic, weights=row, minlength=topics) for row in worth * own])
    tested = iter(_tested(by_topic[is_estimable] * scale[is_estimable, None]))
    return tuple(next(tested) if estimable else None for estimable in is_estimable.tolist())


def _tested(by_topic: FloatArray) -> list[Favour]:
    """The favours of groups, (groups, topics), with Holm's correction over them."""
    groups, topics = by_topic.shape
    means, sds = by_topic.mean(axis=1), by_topic.std(axis=1, ddof=1)
    t = np.zeros_like(means)
    np.divide(means, sds / np.sqrt(topics), out=t, where=sds > ROUNDING)
    p = 2 * special.stdtr(topics - 1, -np.abs(t))
    adjusted = holm(p)
    return [
        Favour(
            mean=float(mean),
            low=float(mean) - half_width(sd, topics, confidence=1 - ALPHA),
            high=float(mean) + half_width(sd, topics, confidence=1 - ALPHA),
            p=float(p[at]),
            adjusted=float(adjusted[at]),
            visible=smallest_difference(sd, topics, power=POWER, alpha=ALPHA / groups),
        )
        for at, (mean, sd) in enumerate(zip(means.tolist(), sds.tolist(), strict=True))
    ]


def _unexplained(values: Sequence[FloatArray], people: IntArray, placed: FloatArray) -> list[FloatArray]:
    """Residuals of each row, (rows, documents), from its least-squares line along placed at equal grades.

    people, placed: (documents,). Where documents of a grade are all placed alike, the mean is the line.
    """
    left = [np.empty_like(rows) for rows in values]
    rounding = ROUNDING * np.abs(placed).max(initial=0.0)
    for grade in np.unique(people):
        here = people == grade
        apart = placed[here] - placed[here].mean()
        spread = float(apart @ apart)
        for rows, kept in zip(values, left, strict=True):
            part = rows[:, here] - rows[:, here].mean(axis=1, keepdims=True)
            if spread > len(apart) * rounding**2:
                part -= np.outer(part @ apart / spread, apart)
            kept[:, here] = part
    return left


def on_judged(labels: Labels, rankings: IntArray, weight: FloatArray) -> FloatArray:
    """The weights of ranks as those of the documents that people judged, (runs, judged documents).

    0 where a run does not have a document; rankings may be longer than the weights.
    """
    number = int(np.count_nonzero(labels.is_judged))
    # Unjudged documents have their own column, the last, as NOWHERE does.
    column = np.full(len(labels.people) + 1, number)
    column[:-1][labels.is_judged] = np.arange(number)
    placed = np.zeros((len(rankings), number + 1))
    columns = column[rankings[..., : weight.shape[-1]]].reshape(len(rankings), -1)
    np.put_along_axis(placed, columns, weight.reshape(len(rankings), -1), axis=1)
    return placed[:, :-1]


def precision(_labels: Labels, rankings: IntArray, *, cutoff: int, rel: int = 1) -> FloatArray:
    """Of P: each of the first ranks counts alike."""
    return np.full(rankings[..., :cutoff].shape, 1 / cutoff)


def rank_biased(
    _labels: Labels, rankings: IntArray, *, p: float, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Of RBP."""
    shape = rankings[..., :cutoff].shape
    return np.broadcast_to((1 - p) * p ** np.arange(shape[-1]), shape)


def dcg(_labels: Labels, rankings: IntArray, *, cutoff: int | None = None) -> FloatArray:
    """Of DCG: the discount."""
    shape = rankings[..., :cutoff].shape
    return np.broadcast_to(discounts(shape[-1]), shape)


def ndcg(labels: Labels, rankings: IntArray, *, cutoff: int | None = None) -> FloatArray:
    """Of nDCG: the discount over the ideal DCG by the machine's labels."""
    machine = Labels(labels.topic, labels.machine, labels.machine, np.ones(len(labels.topic)), labels.topics)
    weight: FloatArray = dcg(labels, rankings, cutoff=cutoff) / ideal_dcg(machine, cutoff)[None, :, None]
    return weight


def reciprocal_rank(
    labels: Labels, rankings: IntArray, *, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Of RR: 0 below the first document that the machine calls relevant."""
    return _cascade(labels, rankings[..., :cutoff], relevant_from(rel))


def expected_reciprocal_rank(
    labels: Labels, rankings: IntArray, *, max_rel: int, cutoff: int | None = None
) -> FloatArray:
    """Of ERR."""
    return _cascade(labels, rankings[..., :cutoff], chance_of(max_rel))


def average_precision(
    labels: Labels, rankings: IntArray, *, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Of AP, over the number of documents that the machine calls relevant."""
    worth = relevant_from(rel)(labels.machine)
    ranked = in_rankings(worth, rankings[..., :cutoff])
    rank = np.arange(1, ranked.shape[-1] + 1)
    above = np.cumsum(ranked, axis=-1) - ranked
    shared = ranked / rank
    below = shared.sum(axis=-1, keepdims=True) - np.cumsum(shared, axis=-1)
    relevant = np.bincount(labels.topic, weights=worth, minlength=labels.topics)
    weight: FloatArray = ((1 + above) / rank + below) / np.maximum(relevant, 1.0)[:, None]
    return weight


def _cascade(labels: Labels, rankings: IntArray, value_of: ValueOf) -> FloatArray:
    """Of the reciprocal rank of the stop: the loss at a rank is what later ranks would have given."""
    stops = in_rankings(value_of(labels.machine), rankings)
    weight, later = np.empty_like(stops), np.zeros(stops.shape[:-1])
    for rank in range(stops.shape[-1], 0, -1):
        weight[..., rank - 1] = 1 / rank - later
        later = stops[..., rank - 1] / rank + (1 - stops[..., rank - 1]) * later
    weight[..., 1:] *= np.cumprod(1 - stops[..., :-1], axis=-1)
    return weight


GOAL = 0.8


@dataclass(frozen=True, slots=True)
class Prospect:
    """The prospect of a larger sample: additional documents, standard error and power."""

    documents: int
    error: float
    power: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The sample that separates two runs if their difference is as estimated.

    needed: the smallest of the larger samples that finds it with a power of 80 %, None if none does;
    all_judged: were everything judged; topics: how many topics would find it then, None where it is 0 or no
    number does.
    """

    difference: float
    error: float
    power: float
    needed: Prospect | None
    all_judged: Prospect
    topics: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Two runs: their difference by topic (topics,), and how much each document's value adds to it."""

    difference: FloatArray
    weight: FloatArray


def variances(labels: Labels, contrast: Contrast, value_of: ValueOf) -> tuple[float, float, FloatArray]:
    """The variance of the mean difference now and were all judged, and each document's part of the draw.

    The part, (documents,), is what (1 - q)/q of it adds at a probability q: 0 for what people did not judge.
    """
    topics = labels.topics
    now = float(contrast.difference.var(ddof=1)) / topics
    judged = labels.is_judged
    error = np.zeros(len(labels.people))
    error[judged] = value_of(labels.people[judged]) - predicted(labels, value_of)[judged]
    part: FloatArray = (contrast.weight * error) ** 2 / labels.probability / topics**2
    drawn = float((part * (1 - labels.probability) / labels.probability).sum())
    return now, max(0.0, now - drawn), part


def plan(
    labels: Labels, contrast: Contrast, value_of: ValueOf, larger: Iterable[FloatArray], *, level: float
) -> Plan:
    """The sample that separates the two runs of a contrast by a two-sided test at a level.

    larger: the probabilities, (documents,), of larger samples, the smallest first, none below those now.
    """
    now, rest, part = variances(labels, contrast, value_of)
    difference = float(contrast.difference.mean())

    def prospect(probability: FloatArray) -> Prospect:
        error = float(np.sqrt(rest + (part * (1 - probability) / probability).sum()))
        return Prospect(_more(labels, probability), error, _power(difference, error, labels.topics, level))

    every = prospect(np.ones(len(labels.people)))
    needed = next((planned for planned in map(prospect, larger) if planned.power >= GOAL), None)
    if needed is None and every.power >= GOAL:
        needed = every
    spread = float(np.sqrt(labels.topics * rest))
    return Plan(
        difference=difference,
        error=float(np.sqrt(now)),
        power=_power(difference, float(np.sqrt(now)), labels.topics, level),
        needed=needed,
        all_judged=every,
        topics=_topics(difference, spread, level),
    )


def _more(labels: Labels, probability: FloatArray) -> int:
    """Documents to judge more, expected: those not drawn yet, with the probability of being drawn now."""
    left = ~labels.is_judged & (labels.probability < 1)
    was = labels.probability[left]
    return round(float(((probability[left] - was) / (1 - was)).sum()))


def _power(difference: float, error: float, topics: int, level: float) -> float:
    return power(difference, error * float(np.sqrt(topics)), topics, alpha=level)


def _topics(difference: float, sd: float, level: float) -> int | None:
    try:
        return topics_needed(difference, sd, power=GOAL, alpha=level)
    except ValueError:
        return None
