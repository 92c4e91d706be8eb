"""Whether a machine favours some runs: grades of their documents compared with similar documents.

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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from leaderboard.stats.combined.labels import FloatArray, IntArray, Labels, ValueOf
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability import half_width, smallest_difference

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
    p = 2 * stdtr(topics - 1, -np.abs(t))
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
