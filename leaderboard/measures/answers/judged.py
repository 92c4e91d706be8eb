"""Judged answers of one run, topic by topic: the input of the measures of answers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from leaderboard.measures.judged import FloatArray

Importance = Literal["vital", "okay", "failed"]
Assignment = Literal["support", "partial_support", "not_support", "failed"]

NOT_JUDGED = math.nan
"""The score of an unjudged cell, which is not 0."""
UNLABELLED = -1
"""The support label of a citation that was not judged, or whose judging failed."""


@dataclass(frozen=True, slots=True)
class AnswerSize:
    """Length of an answer and its number of citations; all 0 for a topic without an answer.

    cited: segments with at least one citation.
    """

    words: int = 0
    nfkc_words: int = 0
    characters: int = 0
    segments: int = 0
    citations: int = 0
    cited: int = 0


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A segment judged by Auto-ARGUE: its citations, the supporting ones, those to a relevant document.

    needs: it cites nothing but has to, as the first that makes its claim.
    """

    citations: int
    supporting: int
    relevant: int
    needs: bool = False

    @property
    def counts(self) -> bool:
        """Whether it has citations or needs them."""
        return self.citations > 0 or self.needs

    @property
    def is_borne_out(self) -> bool:
        """Whether it has citations and all of them support it."""
        return 0 < self.citations == self.supporting


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One run's judged answer to one topic.

    importances: of the topic's nuggets. assignments: their labels in the same order; support: the labels of
    each segment's citations; sentences: what Auto-ARGUE judged. Each of these is None where unjudged.
    """

    topic: str
    size: AnswerSize = field(default_factory=AnswerSize)
    importances: tuple[Importance, ...] = ()
    assignments: tuple[Assignment, ...] | None = None
    support: tuple[tuple[int, ...], ...] | None = None
    sentences: tuple[JudgedSentence, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is no answer, or nothing in it."""
        return self.size.words == 0


JudgedAnswers = Sequence[JudgedAnswer]


def scores(answers: JudgedAnswers, score: Callable[[JudgedAnswer], float]) -> FloatArray:
    """The score of every topic, float64 (topics,), in the answers' order; not judged is nan."""
    return np.array([score(answer) for answer in answers], dtype=np.float64)


def ratio_of(numerator: float, divisor: float) -> float:
    """The quotient, 0 where the divisor is 0.

    >>> ratio_of(1, 4), ratio_of(0, 0)
    (0.25, 0.0)
    """
    return numerator / divisor if divisor else 0.0


def columns(rows: Sequence[tuple[float, ...]]) -> FloatArray:
    """Parts of an aggregate, float64 (parts, topics), of a tuple of them for each topic."""
    return np.array(rows, dtype=np.float64).T
