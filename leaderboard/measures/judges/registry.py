"""The measures of judges: agreement of the boards, and agreement topic by topic.

>>> [measure.name for measure in MEASURES]
['BoardTau', 'TopicTau', 'TopicAccuracy']
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from leaderboard.measures.answers.catalogue import AnswerMeasurePage, worked
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.catalogue.definitions import definition
from leaderboard.measures.grammar import parse_among
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.record import Measure


@dataclass(frozen=True, slots=True, eq=False)
class AgreedTopics:
    """A judge's board aligned with its reference, on the reference's topics.

    reference, judge: scores of the same runs, (runs, topics) each, the judge's nan on topics that it left
    out. tau_b, accuracy: the agreement of both within each topic, (topics,), nan where it is undefined.
    """

    reference: FloatArray
    judge: FloatArray
    tau_b: FloatArray
    accuracy: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class JudgeMeasure(Measure):
    """A measure whose compute takes AgreedTopics in place of a judged ranking.

    agreement: of the boards, that is, the means over topics, or within each topic.
    """

    agreement: Literal["boards", "topics"] = "topics"


DIGITS = 12
"""Means that differ only beyond are equal: the rest is rounding."""


def board_tau(agreed: AgreedTopics) -> FloatArray:
    """τ_b of the runs within each topic, float64 (topics,), 0 where a side ties all runs.

    What a judge is ranked by is not their mean: it is τ_b of the runs' means over the topics.

    On the second topic the judge ties both runs.

    >>> agreed = AgreedTopics(np.eye(2), np.array([[1.0, 0], [0, 0]]), np.array([1.0, np.nan]), np.ones(2))
    >>> board_tau(agreed)
    array([1., 0.])
    """
    left_out = np.isnan(agreed.judge).any(axis=0)
    return np.where(left_out, np.nan, np.nan_to_num(agreed.tau_b))


def board_means(agreed: AgreedTopics) -> FloatArray:
    """The scores of both boards, float64 (2 runs, topics): the reference's rows, then the judge's."""
    return np.vstack((agreed.reference, np.nan_to_num(agreed.judge)))


def tau_of_means(*means: float) -> float:
    """τ_b of means, the reference's and then the judge's of the same runs; 0 where a side ties all runs.

    >>> round(tau_of_means(0.8, 0.7, 0.6, 0.6, 0.3, 0.9, 0.6, 0.75, 0.6, 0.2), 6)
    0.666667
    """
    boards = np.round(np.reshape(means, (2, -1)), DIGITS)
    reference, judge = np.sign(boards[:, :, None] - boards[:, None, :])
    untied = math.sqrt(float((reference**2).sum()) * float((judge**2).sum()))
    return float((reference * judge).sum()) / untied if untied else 0.0


def topic_tau(agreed: AgreedTopics) -> FloatArray:
    """τ_b of the runs within each topic, float64 (topics,); nan where a side ties all runs.

    A topic on which the reference ties all runs is left out for every judge. A judge that ties all runs on
    another topic has no rank by this measure; its mean over its other topics is shown.

    >>> topic_tau(AgreedTopics(np.eye(2), np.eye(2), np.array([1.0, np.nan]), np.ones(2)))
    array([ 1., nan])
    """
    return agreed.tau_b


def topic_accuracy(agreed: AgreedTopics) -> FloatArray:
    """Pairwise accuracy within each topic, float64 (topics,).

    Of the pairs of runs that the reference does not tie, those in the same order, a tie by the judge half.
    Undefined only where the reference ties all runs, so it suits judges whose values tie many runs.

    >>> topic_accuracy(AgreedTopics(np.eye(2), np.eye(2), np.ones(2), np.array([1.0, 0.5])))
    array([1. , 0.5])
    """
    return agreed.accuracy


BOARD_TAU = JudgeMeasure(
    name="BoardTau",
    title="Agreement of the boards, τ_b",
    formula="τ_b = (C − D) / √((N − T_h)(N − T_j)) of the runs' means, N = n(n − 1)/2 pairs",
    citation="Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33(3).",
    compute=board_tau,
    aggregate="from means",
    parts=board_means,
    combine=tau_of_means,
    range=(-1.0, 1.0),
    note="It describes these topics and runs. Judges are compared by agreement by topic only.",
    agreement="boards",
)
TOPIC_TAU = JudgeMeasure(
    name="TopicTau",
    title="Agreement by topic, τ_b",
    formula="mean over topics of τ_b of the runs within the topic",
    citation="Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33(3).",
    compute=topic_tau,
    range=(-1.0, 1.0),
)
TOPIC_ACCURACY = JudgeMeasure(
    name="TopicAccuracy",
    title="Pairwise accuracy by topic",
    formula="mean over topics of (pairs in the same order + half of those the judge ties) / pairs untied",
    citation="",
    compute=topic_accuracy,
)
MEASURES: tuple[JudgeMeasure, ...] = (BOARD_TAU, TOPIC_TAU, TOPIC_ACCURACY)
NAMES: dict[str, JudgeMeasure] = {measure.name: measure for measure in MEASURES}
_KNOWN: dict[str, Measure] = {**NAMES}


@lru_cache(64)
def parse(text: str) -> BoundMeasure:
    """The measure of judges with a name; raises UnknownMeasure as that of rankings does."""
    return parse_among(text.strip(), _KNOWN, tuple(NAMES), "BoardTau or TopicTau")


def pages() -> Iterator[AnswerMeasurePage]:
    """The descriptions of all measures, in registry order.

    >>> [page.name for page in pages()]
    ['BoardTau', 'TopicTau', 'TopicAccuracy']
    """
    return map(_page, MEASURES)


def _page(measure: JudgeMeasure) -> AnswerMeasurePage:
    described = definition(measure)
    return AnswerMeasurePage(
        measure.name,
        measure.title,
        measure.formula,
        (*described.paragraphs, *((measure.note,) if measure.note else ())),
        (),
        tuple(_facts(measure)),
        (),
        described.explanation,
        worked(measure),
    )


def _facts(measure: JudgeMeasure) -> Iterator[tuple[str, str]]:
    low, high = measure.range
    yield "Written", measure.name
    yield "Scores", f"{low:g} to {high:g}; higher is better"
    over = "τ_b of the runs' means over topics" if measure.agreement == "boards" else "the mean over topics"
    yield "Over all topics", over
    yield "Needs", "the reference of a judge task"
    yield "Source", measure.citation or "docs/judges.md"
    yield "Definition", f"version {measure.version}"
