"""Measures of Auto-ARGUE: segments supported by their citations, and F with the coverage of questions."""

from collections.abc import Callable
from functools import partial

from leaderboard.measures.answers.judged import (
    NOT_JUDGED,
    JudgedAnswer,
    JudgedAnswers,
    JudgedSentence,
    columns,
    ratio_of,
    scores,
)
from leaderboard.measures.answers.nuggets import ARGUE, coverage_parts
from leaderboard.measures.answers.record import WEIGHTED, AnswerMeasure
from leaderboard.measures.judged import FloatArray


def sentence_support(answers: JudgedAnswers) -> FloatArray:
    """The share of segments that all of their citations support, float64 (topics,), 0 to 1.

    Of the segments that cite, or have to because they are the first to make a claim. 0 if there are none.

    One segment with both of two citations, one with one of two, one that needs a citation: 1/3.

    >>> from leaderboard.measures.answers.example import argued
    >>> sentence_support([argued((2, 2, 2), (2, 1, 1), needing=1)]).round(6)
    array([0.333333])
    """
    return scores(answers, lambda answer: ratio_of(*sentence_parts(answer)))


def sentence_support_micro(answers: JudgedAnswers) -> FloatArray:
    """As SentenceSupport for a topic, float64 (topics,); over all topics one quotient of two sums.

    1 of 1 segments and 0 of 3: (1 + 0)/(1 + 3), where the mean is 1/2.

    >>> from leaderboard.measures.answers.example import argued
    >>> sentence_support_micro([argued((1, 1, 1)), argued((1, 0, 0), (1, 0, 0), (1, 0, 0))])
    array([1., 0.])
    """
    return sentence_support(answers)


def citation_support(answers: JudgedAnswers) -> FloatArray:
    """The share of citations that support their segment, float64 (topics,), 0 to 1; 0 without citations.

    Three of four citations.

    >>> from leaderboard.measures.answers.example import argued
    >>> citation_support([argued((2, 2, 2), (2, 1, 1))])
    array([0.75])
    """
    return scores(answers, lambda answer: ratio_of(*citation_parts(answer, _supporting)))


def citation_support_micro(answers: JudgedAnswers) -> FloatArray:
    """As CitationSupport for a topic, float64 (topics,); over all topics one quotient of two sums.

    1 of 1 citations and 0 of 3: (1 + 0)/(1 + 3), where the mean is 1/2.

    >>> from leaderboard.measures.answers.example import argued
    >>> citation_support_micro([argued((1, 1, 1)), argued((3, 0, 0))])
    array([1., 0.])
    """
    return citation_support(answers)


def citation_relevance(answers: JudgedAnswers) -> FloatArray:
    """The share of citations of documents that support some nugget, float64 (topics,), 0 to 1.

    Whether or not they support the segment; 0 without citations.

    Three of four citations.

    >>> from leaderboard.measures.answers.example import argued
    >>> citation_relevance([argued((2, 0, 2), (2, 1, 1))])
    array([0.75])
    """
    return scores(answers, lambda answer: ratio_of(*citation_parts(answer, _relevant)))


def citation_relevance_micro(answers: JudgedAnswers) -> FloatArray:
    """As CitationRelevance for a topic, float64 (topics,); over all topics one quotient of two sums.

    1 of 1 citations and 0 of 3: (1 + 0)/(1 + 3), where the mean is 1/2.

    >>> from leaderboard.measures.answers.example import argued
    >>> citation_relevance_micro([argued((1, 1, 1)), argued((3, 0, 0))])
    array([1., 0.])
    """
    return citation_relevance(answers)


def argue_f1(answers: JudgedAnswers, *, weighted: int = 0) -> FloatArray:
    """The harmonic mean of a topic's SentenceSupport and NuggetCoverage, float64 (topics,), 0 to 1.

    0 where both are 0. Over all topics the mean of the topics' values.

    SentenceSupport 1/2 and NuggetCoverage 1/4: 2 · 1/2 · 1/4 / (3/4).

    >>> from leaderboard.measures.answers.example import argued
    >>> argue_f1([argued((1, 1, 1), (1, 0, 0), answered=1, of=4)]).round(6)
    array([0.333333])
    """
    return scores(answers, lambda answer: _f(*_both(answer, weighted)))


def argue_f1_micro(answers: JudgedAnswers, *, weighted: int = 0) -> FloatArray:
    """As ArgueF1 for a topic, float64 (topics,); over all topics F of the two micro values.

    Two topics: segments 1 of 1 and 0 of 3, so 1/4; questions 1 of 1 and 1 of 1, so 1: F is 2/5, where the
    mean of the topics' F is 1/2.

    >>> from leaderboard.measures.answers.example import argued
    >>> topics = [argued((1, 1, 1), answered=1, of=1), argued(*[(1, 0, 0)] * 3, answered=1, of=1)]
    >>> argue_f1_micro(topics)
    array([1., 0.])
    >>> f_of_micro(*f1_columns(topics).mean(axis=1).tolist())
    0.4
    """
    return argue_f1(answers, weighted=weighted)


def sentence_parts(answer: JudgedAnswer) -> tuple[float, float]:
    """The supported segments and the counted segments; the former is nan where unjudged."""
    if answer.sentences is None:
        return _unjudged(answer, answer.size.cited)
    counted = [sentence for sentence in answer.sentences if sentence.counts]
    return float(sum(sentence.is_borne_out for sentence in counted)), float(len(counted))


def citation_parts(answer: JudgedAnswer, good: Callable[[JudgedSentence], int]) -> tuple[float, float]:
    """The supporting citations and all citations; the former is nan where unjudged."""
    if answer.sentences is None:
        return _unjudged(answer, answer.size.citations)
    return float(sum(map(good, answer.sentences))), float(
        sum(sentence.citations for sentence in answer.sentences)
    )


def f1_columns(answers: JudgedAnswers, *, weighted: int = 0) -> FloatArray:
    """Numerators and divisors of both, float64 (4, topics)."""
    return columns([(*sentence_parts(answer), *coverage_parts(answer, weighted)) for answer in answers])


def f_of_micro(borne_out: float, counted: float, answered: float, questions: float, **_: object) -> float:
    """F of two quotients, whose parts may be sums or means over topics."""
    return _f(ratio_of(borne_out, counted), ratio_of(answered, questions))


def _both(answer: JudgedAnswer, weighted: int) -> tuple[float, float]:
    return ratio_of(*sentence_parts(answer)), ratio_of(*coverage_parts(answer, weighted))


def _f(support: float, coverage: float) -> float:
    return ratio_of(2.0 * support * coverage, support + coverage)


def _unjudged(answer: JudgedAnswer, divisor: int) -> tuple[float, float]:
    """Parts of an answer without judgments: nan over the divisor, but 0 over it for an empty answer."""
    return (0.0 if answer.is_empty else NOT_JUDGED), float(divisor)


def _supporting(sentence: JudgedSentence) -> int:
    return sentence.supporting


def _relevant(sentence: JudgedSentence) -> int:
    return sentence.relevant


def _sentence_columns(answers: JudgedAnswers) -> FloatArray:
    return columns([sentence_parts(answer) for answer in answers])


def _citation_columns(good: Callable[[JudgedSentence], int], answers: JudgedAnswers) -> FloatArray:
    return columns([citation_parts(answer, good) for answer in answers])


def _micro(measure: AnswerMeasure, title: str, **changes: object) -> AnswerMeasure:
    """The measure's form whose parts are summed over topics, as Auto-ARGUE prints it too."""
    own = measure.called[0][0]
    called = [(f"{own}_micro", f"{measure.name}_micro")]
    if measure.parameters:
        called.append((f"{own}_weighted_micro", f"{measure.name}_micro(weighted=1)"))
    fields: dict[str, object] = {
        "name": f"{measure.name}_micro",
        "title": title,
        "formula": f"Σ / Σ over topics: {measure.formula}",
        "citation": measure.citation,
        "parameters": measure.parameters,
        "aggregate": "micro",
        "basis": measure.basis,
        "called": tuple(called),
    }
    return AnswerMeasure(**{**fields, **changes})  # type: ignore[arg-type]


SENTENCE_SUPPORT = AnswerMeasure(
    name="SentenceSupport",
    title="Share of segments supported by all their citations",
    formula="segments that every citation supports / segments that cite or need a citation",
    citation=ARGUE,
    compute=sentence_support,
    basis="sentences",
    called=(("sentence_support", "SentenceSupport"), ("sentence_support_macro", "SentenceSupport")),
)
CITATION_SUPPORT = AnswerMeasure(
    name="CitationSupport",
    title="Share of citations that support their segment",
    formula="citations that support their segment / citations",
    citation=ARGUE,
    compute=citation_support,
    basis="sentences",
    called=(("citation_support", "CitationSupport"), ("citation_support_macro", "CitationSupport")),
)
CITATION_RELEVANCE = AnswerMeasure(
    name="CitationRelevance",
    title="Share of citations of documents that support a nugget",
    formula="citations of a document that supports some nugget / citations",
    citation=ARGUE,
    compute=citation_relevance,
    basis="sentences",
    called=(("citation_relevance", "CitationRelevance"), ("citation_relevance_macro", "CitationRelevance")),
)
ARGUE_F1 = AnswerMeasure(
    name="ArgueF1",
    title="F of SentenceSupport and NuggetCoverage",
    formula="2ab/(a + b); a = SentenceSupport, b = NuggetCoverage of the topic",
    citation=ARGUE,
    compute=argue_f1,
    parameters=(WEIGHTED,),
    basis="nuggets and sentences",
    called=(
        ("f1", "ArgueF1"),
        ("f1_macro", "ArgueF1"),
        ("f1_weighted", "ArgueF1(weighted=1)"),
        ("f1_weighted_macro", "ArgueF1(weighted=1)"),
    ),
    note="Needs a nugget set and Auto-ARGUE's judgments.",
)
SENTENCE_SUPPORT_MICRO = _micro(
    SENTENCE_SUPPORT, "SentenceSupport of all topics together",
    compute=sentence_support_micro, parts=_sentence_columns,
)  # fmt: skip
CITATION_SUPPORT_MICRO = _micro(
    CITATION_SUPPORT, "CitationSupport of all topics together",
    compute=citation_support_micro, parts=partial(_citation_columns, _supporting),
)  # fmt: skip
CITATION_RELEVANCE_MICRO = _micro(
    CITATION_RELEVANCE, "CitationRelevance of all topics together",
    compute=citation_relevance_micro, parts=partial(_citation_columns, _relevant),
)  # fmt: skip
ARGUE_F1_MICRO = _micro(
    ARGUE_F1, "F of SentenceSupport_micro and NuggetCoverage_micro", formula="F of the two micro values",
    compute=argue_f1_micro, parts=f1_columns, aggregate="from means", combine=f_of_micro,
)  # fmt: skip
