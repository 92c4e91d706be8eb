"""Number of further documents that people would have to judge to separate two runs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from leaderboard.stats.combined.labels import FloatArray, Labels, ValueOf, predicted
from leaderboard.stats.reliability import power, topics_needed

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

    needed: the smallest of the larger samples that finds it with a power of 80 %, None where none does;
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
    """Documents to judge more, expected: those that are not drawn yet, with the chance to come in now."""
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
