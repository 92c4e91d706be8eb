"""Recall of nuggets and coverage of questions."""

from leaderboard.measures.answers.judged import (
    NOT_JUDGED,
    Assignment,
    JudgedAnswer,
    JudgedAnswers,
    columns,
    ratio_of,
    scores,
)
from leaderboard.measures.answers.record import WEIGHTED, AnswerMeasure, switch
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.record import Parameter

PARTIAL = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0, "failed": 0.0}
NOT_HELD: Assignment = "not_support"
STRICT = {**PARTIAL, "partial_support": 0.0}


def nugget_recall(answers: JudgedAnswers, *, set: str, strict: int = 0) -> FloatArray:
    """The share of a topic's nuggets that the answer contains, float64 (topics,), 0 to 1.

    A partially supported nugget counts half, or 0 with strict=1; a failed assignment counts 0. Vital: over
    the vital nuggets, 0 if the topic has none. All: over all nuggets. Weighted: over all, with non-vital
    ones at half weight; a nugget whose importance failed is not vital. An empty or missing answer scores 0.

    Vital nuggets held, held, in part, not; okay ones held, in part, not: 2.5 of 4 vital ones.

    >>> from leaderboard.measures.answers.example import assigned
    >>> topic = assigned(vital="support support partial_support not_support",
    ...                  okay="support partial_support not_support")
    >>> nugget_recall([topic], set="vital")
    array([0.625])
    >>> nugget_recall([topic], set="vital", strict=1)
    array([0.5])
    >>> nugget_recall([topic], set="all").round(6), nugget_recall([topic], set="all", strict=1).round(6)
    (array([0.571429]), array([0.428571]))
    >>> nugget_recall([topic], set="weighted").round(6)
    array([0.590909])
    >>> nugget_recall([topic], set="weighted", strict=1).round(6)
    array([0.454545])
    """
    values = STRICT if strict else PARTIAL

    def score(answer: JudgedAnswer) -> float:
        labels = _labels(answer)
        if labels is None:
            return NOT_JUDGED
        weights = [_WEIGHTS[set](importance) for importance in answer.importances]
        credit = sum(weight * values[label] for weight, label in zip(weights, labels, strict=True))
        return ratio_of(credit, sum(weights))

    return scores(answers, score)


_WEIGHTS = {
    "vital": lambda importance: float(importance == "vital"),
    "all": lambda importance: 1.0,
    "weighted": lambda importance: 1.0 if importance == "vital" else 0.5,
}


def nugget_coverage(answers: JudgedAnswers, *, weighted: int = 0) -> FloatArray:
    """The share of a topic's questions that the answer answers, float64 (topics,), 0 to 1.

    A question of the kind OR is answered by one of its answers, one of the kind AND by all. With weighted=1
    vital questions count 2 and others 1, so all 1 where no importance is given.

    Of three vital questions two are answered, of five others three: 5/8, weighted (2·2 + 3)/(2·3 + 5).

    >>> from leaderboard.measures.answers.example import assigned
    >>> topic = assigned(vital="support support not_support",
    ...                  okay="support support support not_support not_support")
    >>> nugget_coverage([topic])
    array([0.625])
    >>> nugget_coverage([topic], weighted=1).round(6)
    array([0.636364])
    """
    return scores(answers, lambda answer: ratio_of(*coverage_parts(answer, weighted)))


def nugget_coverage_micro(answers: JudgedAnswers, *, weighted: int = 0) -> FloatArray:
    """As NuggetCoverage for a topic, float64 (topics,); over all topics one quotient of two sums.

    One topic with 1 of 1 question answered, one with 0 of 3: (1 + 0)/(1 + 3), where the mean is 1/2.

    >>> from leaderboard.measures.answers.example import assigned
    >>> topics = [assigned(okay="support"), assigned(okay="not_support not_support not_support")]
    >>> nugget_coverage_micro(topics)
    array([1., 0.])
    >>> coverage_columns(topics).sum(axis=1)
    array([1., 4.])
    """
    return nugget_coverage(answers, weighted=weighted)


def coverage_parts(answer: JudgedAnswer, weighted: int = 0) -> tuple[float, float]:
    """The answered and all questions of a topic, by weight; the former is nan where unjudged."""
    labels = _labels(answer)
    weights = [2.0 if weighted and importance == "vital" else 1.0 for importance in answer.importances]
    if labels is None:
        return NOT_JUDGED, sum(weights)
    answered = sum(weight for weight, label in zip(weights, labels, strict=True) if label == "support")
    return answered, sum(weights)


def coverage_columns(answers: JudgedAnswers, *, weighted: int = 0) -> FloatArray:
    """The numerators and divisors of all topics, float64 (2, topics)."""
    return columns([coverage_parts(answer, weighted) for answer in answers])


def _labels(answer: JudgedAnswer) -> tuple[Assignment, ...] | None:
    """The assignments of all nuggets; an empty answer contains none without a judgment."""
    if answer.assignments is None and answer.is_empty:
        return tuple(NOT_HELD for _ in answer.importances)
    return answer.assignments


NUGGETIZER = (
    "Pradeep et al., Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the AutoNuggetizer "
    "Framework, arXiv 2411.09607, 2024"
)
ARGUE = "Walden et al., Auto-ARGUE: LLM-Based Report Generation Evaluation, arXiv 2509.26184, 2025"
SET = Parameter(
    "set",
    "choice",
    "Which nuggets count: vital ones, all equally, or all with non-vital ones at half weight.",
    required=True,
    choices=("vital", "all", "weighted"),
)

NUGGET_RECALL = AnswerMeasure(
    name="NuggetRecall",
    title="Recall of nuggets",
    formula="(Σ w·s) / (Σ w); s = 1 full, 1/2 partial (0 if strict), 0 else; w by set and importance",
    citation=NUGGETIZER,
    compute=nugget_recall,
    parameters=(SET, switch("strict", "1: a partially supported nugget counts 0.")),
    basis="nuggets",
    called=(
        ("V_strict", "NuggetRecall(set=vital,strict=1)"),
        ("strict_vital_score", "NuggetRecall(set=vital,strict=1)"),
        ("A_strict", "NuggetRecall(set=all,strict=1)"),
        ("strict_all_score", "NuggetRecall(set=all,strict=1)"),
        ("V", "NuggetRecall(set=vital)"),
        ("vital_score", "NuggetRecall(set=vital)"),
        ("A", "NuggetRecall(set=all)"),
        ("all_score", "NuggetRecall(set=all)"),
        ("W", "NuggetRecall(set=weighted)"),
        ("W_strict", "NuggetRecall(set=weighted,strict=1)"),
    ),
    note="Topics without nuggets do not count. V_strict is what TREC RAG ranks by. As castorini/nuggetizer "
    "computes it in core/metrics.py; the weighted set is in the paper, not in the code.",
)
NUGGET_COVERAGE = AnswerMeasure(
    name="NuggetCoverage",
    title="Coverage of questions",
    formula="answered questions / questions; weighted: vital 2, others 1",
    citation=ARGUE,
    compute=nugget_coverage,
    parameters=(WEIGHTED,),
    basis="nuggets",
    called=(
        ("nugget_coverage", "NuggetCoverage"),
        ("nugget_coverage_macro", "NuggetCoverage"),
        ("nugget_coverage_weighted", "NuggetCoverage(weighted=1)"),
        ("nugget_coverage_weighted_macro", "NuggetCoverage(weighted=1)"),
    ),
)
NUGGET_COVERAGE_MICRO = AnswerMeasure(
    name="NuggetCoverage_micro",
    title="Coverage of the questions of all topics together",
    formula="Σ answered questions / Σ questions, over topics",
    citation=ARGUE,
    compute=nugget_coverage_micro,
    parameters=(WEIGHTED,),
    aggregate="micro",
    parts=coverage_columns,
    basis="nuggets",
    called=(
        ("nugget_coverage_micro", "NuggetCoverage_micro"),
        ("nugget_coverage_weighted_micro", "NuggetCoverage_micro(weighted=1)"),
    ),
)
