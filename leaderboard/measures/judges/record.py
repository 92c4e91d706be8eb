"""The record of a measure of judges, and its input."""

from dataclasses import dataclass
from typing import Literal

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
