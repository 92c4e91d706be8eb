"""A machine's labels of a whole pool, people's labels of a random sample, and their combination.

The difference estimator of survey sampling (Särndal, Swensson and Wretman, Model Assisted Survey Sampling,
1992, chapter 6), known as prediction-powered inference (Angelopoulos et al., Science 382, 2023). The
machine's errors, however large, are removed by people's labels of the sample: a bad machine makes the result
less certain, not wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NOT_JUDGED = -1
ValueOf = Callable[[IntArray], FloatArray]
"""Grades -> what they are worth, such as a gain, or 1 where a document is relevant."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The documents of all topics' pools, (documents,) each, the topics counted from 0 in order.

    machine: grades of 0 or more. people: grades, NOT_JUDGED where a document was not drawn. probability: with
    which it was drawn, above 0.
    """

    topic: IntArray
    machine: IntArray
    people: IntArray
    probability: FloatArray
    topics: int

    def __post_init__(self) -> None:
        """Raise ValueError where the arrays do not fit each other, or for an invalid probability."""
        if len({len(self.topic), len(self.machine), len(self.people), len(self.probability)}) > 1:
            raise ValueError("labels are as many topics, grades of both and probabilities as documents")
        if not ((self.probability > 0) & (self.probability <= 1)).all():
            raise ValueError("a document is drawn with a probability above 0, of 1 at most")

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        """Mask of the documents that people judged."""
        judged: NDArray[np.bool_] = self.people != NOT_JUDGED
        return judged


def predicted(labels: Labels, value_of: ValueOf) -> FloatArray:
    """The grade expected from people for each document, (documents,), given its machine grade.

    The mean value of the documents of the same machine grade that people judged in other topics, each
    counted as often as it represents others; of all machine grades if none was judged; else the machine's
    own. Leaving out a topic's own judgments keeps its results unbiased.
    """
    judged = labels.is_judged
    topic, machine = labels.topic[judged], labels.machine[judged]
    stands_for = 1.0 / labels.probability[judged]
    worth = value_of(labels.people[judged]) * stands_for
    shape = labels.topics, int(labels.machine.max(initial=0)) + 1
    number, weight, value = (np.zeros(shape) for _ in range(3))
    for table, added in ((number, 1.0), (weight, stands_for), (value, worth)):
        np.add.at(table, (topic, machine), added)
    number, weight, value = (table.sum(axis=0) - table for table in (number, weight, value))
    of_all = value_of(labels.machine).astype(np.float64)
    for counts, weights, values in (
        (number.sum(axis=1)[labels.topic], weight.sum(axis=1)[labels.topic], value.sum(axis=1)[labels.topic]),
        tuple(table[labels.topic, labels.machine] for table in (number, weight, value)),
    ):
        np.divide(values, weights, out=of_all, where=counts > 0)
    return of_all


def rectified(labels: Labels, value_of: ValueOf) -> FloatArray:
    """The combined value of each document, (documents,): the prediction, corrected where people judged.

    Its expectation over draws is the value by people. It is not clipped: it may be negative, or above the
    highest value.
    """
    expected = predicted(labels, value_of)
    judged = labels.is_judged
    error = value_of(labels.people[judged]) - expected[judged]
    values = expected.copy()
    values[judged] += error / labels.probability[judged]
    return values


def relevant_from(level: int) -> ValueOf:
    """1 for grades from the level on, else 0.

    >>> relevant_from(2)(np.array([0, 1, 2, 3]))
    array([0., 0., 1., 1.])
    """
    return lambda grades: (grades >= level).astype(np.float64)


def gain_of(grades: IntArray) -> FloatArray:
    """The gain of trec_eval's nDCG: the grade, 0 below."""
    return np.maximum(grades, 0).astype(np.float64)


def chance_of(highest: int) -> ValueOf:
    """The chance to stop at a document of ERR: (2^grade - 1) / 2^highest."""

    def chances(grades: IntArray) -> FloatArray:
        stops: FloatArray = np.exp2(np.clip(grades, 0, highest).astype(np.float64)) - 1
        return stops / 2.0**highest

    return chances
