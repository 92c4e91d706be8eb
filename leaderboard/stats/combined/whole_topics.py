"""Boards where people fully judged a random sample of topics and a machine judged all topics.

The difference estimator over topics (Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992,
chapter 6), its share of the machine's scores tuned as in prediction-powered inference (Angelopoulos, Duchi
and Zrnic, PPI++, arXiv 2311.01453, 2023): one share for the whole board, so that differences add up.
"""

from dataclasses import dataclass

import numpy as np

from leaderboard.stats import special
from leaderboard.stats.combined.labels import FloatArray, IntArray
from leaderboard.stats.combined.planning import GOAL
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.pairs.methods import PairTable, method
from leaderboard.stats.pairs.paired_t import ROUNDING
from leaderboard.stats.reliability import power

LEAST_DIFFERENT = 5
"""Judged topics on which the people's scores of two runs must differ: of runs that are nearly the same, a few
topics may show no spread by chance, and every difference would look certain."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeTopics:
    """Scores by people of the judged topics, (runs, judged), and by the machine of all, (runs, topics).

    judged: the positions of the people's topics among all, (judged,). Raises ValueError for fewer than two
    topics that are judged, or scores that do not fit each other.
    """

    people: FloatArray
    machine: FloatArray
    judged: IntArray

    def __post_init__(self) -> None:
        """Raise ValueError where the scores do not fit each other."""
        runs, topics = self.machine.shape
        if self.people.shape != (runs, len(self.judged)) or len(self.judged) > topics:
            raise ValueError("people's scores are of the same runs, on topics that the machine judged too")
        if len(self.judged) < 2:
            raise ValueError("whole topics are compared from two judged ones on")

    @property
    def topics(self) -> int:
        """All topics, judged by people or not."""
        count: int = self.machine.shape[1]
        return count

    @property
    def freedom(self) -> int:
        """Degrees of freedom, from the judged topics, which determine the spread."""
        return len(self.judged) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimated scores by people over all topics, (runs,) each, in units of the measure."""

    share: float
    """Of the machine's scores that is believed, from 0 to 1."""
    mean: FloatArray
    error: FloatArray
    """Standard error of the mean."""
    low: FloatArray
    high: FloatArray
    """The 95 % interval of the mean."""


def believed(scores: WholeTopics) -> float:
    """The weight of the machine's scores, from 0 to 1, by their correlation with people's.

    The slope of people's scores on the machine's, on the judged topics, after removing the means of runs and
    of topics.
    """
    people, machine = _centred(scores.people), _centred(scores.machine[:, scores.judged])
    squares = float((machine * machine).sum())
    return min(1.0, max(0.0, float((people * machine).sum()) / squares)) if squares > 0 else 0.0


def estimates(scores: WholeTopics, share: float, *, confidence: float = 0.95) -> Estimates:
    """Estimated scores by people over all topics, with a weight for the machine's scores.

    A share of 0 is people's judged topics alone: mean and interval of the ordinary t.

    >>> people, machine = np.array([[0.5, 0.7]]), np.array([[0.4, 0.6, 0.8]])
    >>> estimates(WholeTopics(people, machine, np.array([0, 2])), 0.5).mean.round(2)
    array([0.6])
    """
    left, error = _rest(scores.people, scores.machine, scores.judged, share)
    mean = share * scores.machine.mean(axis=1) + left.mean(axis=1)
    half = special.stdtrit(scores.freedom, (1 + confidence) / 2) * error
    return Estimates(share, mean, error, mean - half, mean + half)


def pair_table(scores: WholeTopics, share: float, *, guard: int = LEAST_DIFFERENT) -> PairTable:
    """All pairs of runs compared by t tests with Holm's correction, as `verdicts` takes them.

    A pair of runs whose people's scores differ on fewer than `guard` judged topics is undecided: p 1, and an
    interval without ends.
    """
    by = method("t+holm")
    runs = len(scores.people)
    first, second = pairs(runs)
    people = scores.people[first] - scores.people[second]
    machine = scores.machine[first] - scores.machine[second]
    left, error = _rest(people, machine, scores.judged, share)
    difference = share * machine.mean(axis=1) + left.mean(axis=1)
    rounding = ROUNDING * max(np.abs(scores.people).max(initial=0), np.abs(scores.machine).max(initial=0))
    error[error <= rounding] = 0.0
    t = np.where(np.abs(difference) <= rounding, 0.0, np.copysign(np.inf, difference))
    np.divide(difference, error, out=t, where=error > 0)
    half = special.stdtrit(scores.freedom, 0.975) * error
    p = 2 * special.stdtr(scores.freedom, -np.abs(t))
    is_open = np.count_nonzero(np.abs(people) > rounding, axis=1) < guard
    p[is_open], half[is_open] = 1.0, np.inf
    return PairTable(
        method=by,
        runs=runs,
        difference=difference,
        low=difference - half,
        high=difference + half,
        p=p,
        single=p,
        adjusted=holm(p),
        resamples=None,
        reachable=bool((~is_open).any()),
    )


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """Number of topics that people have to judge to separate two runs, if their difference is as estimated.

    judged, topics: how many people judged, and of how many. needed: the fewest judged topics in all that find
    it with a power of 80 %, None where all do not.
    """

    difference: float
    power: float
    judged: int
    topics: int
    needed: int | None


def plan(scores: WholeTopics, share: float, runs: tuple[int, int], *, level: float) -> TopicPlan:
    """The topics that separate two runs, given by their places, by a two-sided test at a level."""
    first, second = runs
    people = (scores.people[first] - scores.people[second])[None]
    machine = (scores.machine[first] - scores.machine[second])[None]
    left, _ = _rest(people, machine, scores.judged, share)
    difference = float(share * machine.mean() + left.mean())
    spread = float(left.std(ddof=1)), float(people.std(ddof=1))
    return TopicPlan(
        difference,
        power_with(len(scores.judged), scores.topics, difference, spread, level=level),
        len(scores.judged),
        scores.topics,
        topics_to_judge(len(scores.judged), scores.topics, difference, spread, level=level),
    )


def power_with(
    judged: int, topics: int, difference: float, spread: tuple[float, float], *, level: float
) -> float:
    """The probability that a difference is found if people judge this number of topics.

    spread: the standard deviation by topic of what the machine's scores leave unexplained of it, and of the
    people's difference.

    >>> round(power_with(45, 50, 0.05, (0.08, 0.12), level=0.05), 3)
    0.803
    """
    left, whole = spread
    error = np.sqrt((1 / judged - 1 / topics) * left**2 + whole**2 / topics)
    return power(difference, float(error * np.sqrt(judged)), judged, alpha=level)


def topics_to_judge(
    judged: int, topics: int, difference: float, spread: tuple[float, float], *, level: float
) -> int | None:
    """The fewest topics, of those judged now up to all, that find a difference with a power of 80 %.

    >>> topics_to_judge(10, 50, 0.05, (0.08, 0.12), level=0.05)
    45
    """
    if power_with(topics, topics, difference, spread, level=level) < GOAL:
        return None
    enough = (
        count
        for count in range(judged, topics + 1)
        if power_with(count, topics, difference, spread, level=level) >= GOAL
    )
    return next(enough, None)


def _centred(scores: FloatArray) -> FloatArray:
    centred: FloatArray = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    return centred


def _rest(
    people: FloatArray, machine: FloatArray, judged: IntArray, share: float
) -> tuple[FloatArray, FloatArray]:
    """The residuals after the believed share, (rows, judged), and the standard error of each row's mean."""
    count, topics = len(judged), machine.shape[1]
    left: FloatArray = people - share * machine[:, judged]
    # The topics themselves are a sample of topics like these; that few of them were judged costs the rest.
    error: FloatArray = np.sqrt(
        (1 / count - 1 / topics) * left.var(axis=1, ddof=1) + people.var(axis=1, ddof=1) / topics
    )
    return left, error
