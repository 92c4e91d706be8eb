"""Length and citation counts of answers: columns next to scores, never ranked by."""

import math

from leaderboard.measures.answers.judged import JudgedAnswers, scores
from leaderboard.measures.answers.record import AnswerMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.record import Parameter


def answer_length(answers: JudgedAnswers, *, unit: str = "nfkc-words") -> FloatArray:
    """The length of every answer, float64 (topics,), 0 for a topic without one.

    Words of each segment after NFKC, words as they stand, or characters of the segments joined by blanks
    after NFKC.

    The program that counts a line's words gives its size, here 7.

    >>> from leaderboard.measures.answers.judged import AnswerSize, JudgedAnswer
    >>> size = AnswerSize(words=6, nfkc_words=7, characters=40)
    >>> answer_length([JudgedAnswer("1", size), JudgedAnswer("2")])
    array([7., 0.])
    """
    field = unit.replace("-", "_")
    return scores(answers, lambda answer: float(getattr(answer.size, field)))


def num_segments(answers: JudgedAnswers) -> FloatArray:
    """Number of segments of the answer, float64 (topics,).

    Three segments.

    >>> from leaderboard.measures.answers.example import labelled
    >>> num_segments([labelled([2], [], [1, 0])])
    array([3.])
    """
    return scores(answers, lambda answer: float(answer.size.segments))


def num_citations(answers: JudgedAnswers) -> FloatArray:
    """Number of citations in all segments of the answer, float64 (topics,).

    One and two citations.

    >>> from leaderboard.measures.answers.example import labelled
    >>> num_citations([labelled([2], [], [1, 0])])
    array([3.])
    """
    return scores(answers, lambda answer: float(answer.size.citations))


def num_uncited(answers: JudgedAnswers) -> FloatArray:
    """Number of segments without a citation, float64 (topics,).

    One of three.

    >>> from leaderboard.measures.answers.example import labelled
    >>> num_uncited([labelled([2], [], [1, 0])])
    array([1.])
    """
    return scores(answers, lambda answer: float(answer.size.segments - answer.size.cited))


ANSWER_LENGTH = AnswerMeasure(
    name="AnswerLength",
    title="Length of answers",
    formula="words or characters of all segments",
    citation="",
    note="Counted like the checkers of TREC RAG and RAGTIME.",
    compute=answer_length,
    parameters=(
        Parameter(
            "unit",
            "choice",
            "What is counted.",
            default="nfkc-words",
            choices=("nfkc-words", "words", "characters"),
        ),
    ),
    direction="none",
    range=(0.0, math.inf),
    digits=0,
)
NUM_SEGMENTS = AnswerMeasure(
    name="NumSegments",
    title="Segments of answers",
    formula="segments",
    citation="",
    compute=num_segments,
    direction="none",
    range=(0.0, math.inf),
    digits=0,
)
NUM_CITATIONS = AnswerMeasure(
    name="NumCitations",
    title="Citations of answers",
    formula="citations, each document once per segment",
    citation="",
    compute=num_citations,
    direction="none",
    range=(0.0, math.inf),
    digits=0,
)
NUM_UNCITED = AnswerMeasure(
    name="NumUncited",
    title="Segments without a citation",
    formula="segments that cite nothing",
    citation="",
    compute=num_uncited,
    direction="none",
    range=(0.0, math.inf),
    digits=0,
)
