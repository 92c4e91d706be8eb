"""Precision and recall of support: whether citations support their segments, as judged by TREC RAG."""

from typing import NamedTuple

from leaderboard.measures.answers.judged import (
    NOT_JUDGED,
    UNLABELLED,
    JudgedAnswer,
    JudgedAnswers,
    ratio_of,
    scores,
)
from leaderboard.measures.answers.record import AnswerMeasure, switch
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.record import Parameter

WEIGHTS = {2: 1.0, 1: 0.5, 0: 0.0}
HARD = {2: 1.0, 1: 0.0, 0: 0.0}


class _Support(NamedTuple):
    """The sum of the segments' values, how many were judged, and how many segments cite but were not."""

    total: float
    judged: int
    unjudged: int


def support_precision(answers: JudgedAnswers, *, hard: int = 0, citations: str = "first") -> FloatArray:
    """The share of citations, by weight, that support their segment, float64 (topics,), 0 to 1.

    A segment's value is 1 where its first citation bears all of it out, 1/2 where some of it, else 0; with
    hard=1 only 1 or 0; with citations=all the mean over those of its citations that were judged. The mean
    over segments with a judged citation. Where an answer has citations and none was judged, there is no
    score: the official program writes 0.

    Six segments with labels 2 0, 1, none, -1 2, 0 1 2, -1: (1 + 1/2 + 0)/3.

    >>> from leaderboard.measures.answers.example import labelled
    >>> topic = labelled([2, 0], [1], [], [-1, 2], [0, 1, 2], [-1])
    >>> support_precision([topic]), support_precision([topic], citations="all")
    (array([0.5]), array([0.625]))
    >>> support_precision([topic], hard=1).round(6)
    array([0.333333])
    """
    return scores(answers, lambda answer: _score(answer, hard, citations, recall=False))


def support_recall(answers: JudgedAnswers, *, hard: int = 0, citations: str = "first") -> FloatArray:
    """The share of the answer, by weight, supported by its citations, float64 (topics,), 0 to 1.

    As SupportP, but the sum is divided by all segments less those that cite and were not judged: a segment
    without a citation counts 0.

    The same six segments: 1.5/(6 - 2), and 2.5/(6 - 1) of all citations.

    >>> from leaderboard.measures.answers.example import labelled
    >>> topic = labelled([2, 0], [1], [], [-1, 2], [0, 1, 2], [-1])
    >>> support_recall([topic]), support_recall([topic], hard=1), support_recall([topic], citations="all")
    (array([0.375]), array([0.25]), array([0.5]))
    """
    return scores(answers, lambda answer: _score(answer, hard, citations, recall=True))


def _score(answer: JudgedAnswer, hard: int, citations: str, *, recall: bool) -> float:
    if answer.support is None:
        # What cites nothing needs no judge.
        return 0.0 if answer.size.cited == 0 else NOT_JUDGED
    support = _support(answer.support, HARD if hard else WEIGHTS, citations)
    if support.unjudged and not support.judged:
        return NOT_JUDGED
    return ratio_of(support.total, len(answer.support) - support.unjudged if recall else support.judged)


def _support(segments: tuple[tuple[int, ...], ...], weights: dict[int, float], citations: str) -> _Support:
    total, judged, unjudged = 0.0, 0, 0
    for labels in segments:
        looked_at = labels[:1] if citations == "first" else labels
        values = [weights[label] for label in looked_at if label != UNLABELLED]
        if values:
            total += sum(values) / len(values)
            judged += 1
        elif labels:
            unjudged += 1
    return _Support(total, judged, unjudged)


SOURCE = (
    "Thakur et al., Support Evaluation for the TREC 2024 RAG Track: Comparing Human versus LLM Judges, "
    "arXiv 2504.15205, 2025"
)
PARAMETERS = (
    switch("hard", "1: only full support counts."),
    Parameter(
        "citations",
        "choice",
        "Whether only the first citation of a segment counts, as at TREC 2024, or all judged citations.",
        default="first",
        choices=("first", "all"),
    ),
)
SUPPORT_P = AnswerMeasure(
    name="SupportP",
    title="Precision of support (weighted; hard with hard=1)",
    formula="Σ w / segments with a judged citation; w = 1 full, 1/2 partial, 0 none",
    citation=SOURCE,
    compute=support_precision,
    parameters=PARAMETERS,
    basis="support",
    note="With only first citations, and no segment without one, it equals SupportR. As in RAGDoll.",
)
SUPPORT_R = AnswerMeasure(
    name="SupportR",
    title="Recall of support (weighted; hard with hard=1)",
    formula="Σ w / (segments - segments that cite without a judged citation)",
    citation=SOURCE,
    compute=support_recall,
    parameters=PARAMETERS,
    basis="support",
)
