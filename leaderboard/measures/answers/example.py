"""Answers to one topic small enough to work out by hand, for the measures' docstrings and tests."""

from collections.abc import Sequence
from typing import cast

from leaderboard.measures.answers.judged import (
    AnswerSize,
    Assignment,
    Importance,
    JudgedAnswer,
    JudgedSentence,
)


def assigned(*, vital: str = "", okay: str = "", failed: str = "") -> JudgedAnswer:
    """A topic whose nuggets have these assignments, blanks between them, by their importance.

    >>> assigned(vital="support", okay="failed").importances
    ('vital', 'okay')
    """
    given = {"vital": vital.split(), "okay": okay.split(), "failed": failed.split()}
    importances = tuple(importance for importance, labels in given.items() for _ in labels)
    return JudgedAnswer(
        "1",
        AnswerSize(words=1, segments=1),
        cast(tuple[Importance, ...], importances),
        cast(tuple[Assignment, ...], tuple(label for labels in given.values() for label in labels)),
    )


def labelled(*segments: Sequence[int]) -> JudgedAnswer:
    """An answer of segments whose citations have these support labels; a segment without any cites nothing.

    >>> labelled([2, 0], []).size.cited
    1
    """
    size = AnswerSize(
        words=1,
        segments=len(segments),
        citations=sum(map(len, segments)),
        cited=sum(1 for labels in segments if labels),
    )
    return JudgedAnswer("1", size, support=tuple(map(tuple, segments)))


def argued(
    *sentences: tuple[int, int, int], needing: int = 0, answered: int = 0, of: int = 0
) -> JudgedAnswer:
    """An answer of segments with citations, supporting and relevant ones; and of some that need a citation.

    answered of this number of equal questions are answered.

    >>> argued((2, 1, 2), needing=1).size.segments
    2
    """
    judged = [JudgedSentence(*sentence) for sentence in sentences]
    judged += [JudgedSentence(0, 0, 0, True)] * needing
    labels = ["support"] * answered + ["not_support"] * (of - answered)
    size = AnswerSize(
        words=1,
        segments=len(judged),
        citations=sum(judged_sentence.citations for judged_sentence in judged),
        cited=sum(1 for judged_sentence in judged if judged_sentence.citations),
    )
    assignments = cast(tuple[Assignment, ...], tuple(labels))
    importances = cast(tuple[Importance, ...], ("okay",) * of)
    return JudgedAnswer("1", size, importances, assignments, sentences=tuple(judged))
