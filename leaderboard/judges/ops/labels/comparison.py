"""A judge's labels compared with the reference's, regardless of their source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.errors import Invalid
from leaderboard.memory import keep_by
from leaderboard.stats.judges import IntArray, LabelAgreement, label_agreement, mean_of_topics, shared, united
from leaderboard.trec.boards.judge_labels import JudgeLabels
from leaderboard.trec.read.lines import text_of

MOST_DOCUMENTS = 10
"""Number of documents with the largest differences to list."""
COEFFICIENTS = ("kappa", "linear", "quadratic", "alpha", "mae", "bias")


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """union: documents of either, as in autojudge-evaluate; levels: lowest relevant grades.

    scale: the judge's label -> the reference's grade, empty for no conversion.
    """

    union: bool = False
    levels: tuple[tuple[int, int], ...] = ()
    scale: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """A document that both judged: both grades, and the judge's confidence, None if it gave none."""

    topic: str
    docno: str
    reference: int
    judge: int
    confidence: float | None


@dataclass(frozen=True, slots=True, eq=False)
class JudgedLabels:
    """The agreement over all pairs of topic and document, and by topic; means of the topics' values.

    means: coefficient -> its mean over the topics where it is defined, and their number. confidence:
    the judge's mean confidence, None if it gave none. differences: the documents with the largest
    differences.
    """

    judge: str
    plan: LabelPlan
    same_scale: bool
    overall: LabelAgreement
    topics: Mapping[str, LabelAgreement]
    means: Mapping[str, tuple[float | None, int]]
    confidence: float | None
    differences: tuple[DocumentDifference, ...]
    notes: tuple[str, ...]


def hold_labels(name: str, reference: JudgeLabels, judge: JudgeLabels, plan: LabelPlan) -> JudgedLabels:
    """Compare the labels of the reference and of a judge; raises Invalid if they share no document."""
    highest = _highest(reference.judgments)
    given = on_scale(judge.judgments, plan.scale)
    grades = {
        topic: _pair(plan, reference.judgments, given, topic, max(highest, 0))
        for topic in _topics(plan, reference, given)
    }
    grades = {topic: pair for topic, pair in grades.items() if len(pair[0])}
    if not grades:
        raise Invalid("No document was judged by both. Check that topics and docnos match.")
    same = plan.union or bool(plan.scale) or _highest(given) == highest
    graded, labelled = (np.concatenate(side) for side in zip(*grades.values(), strict=True))
    overall = label_agreement(graded, labelled, plan.levels, same_scale=same)
    levels = [(level.truth, level.judge) for level in overall.levels]
    topics = {topic: label_agreement(*pair, levels, same_scale=same) for topic, pair in grades.items()}
    return JudgedLabels(
        judge=name,
        plan=plan,
        same_scale=same,
        overall=overall,
        topics=topics,
        means={
            name: mean_of_topics([getattr(agreement, name) for agreement in topics.values()])
            for name in COEFFICIENTS
        },
        confidence=_mean_confidence(judge),
        differences=_differences(reference.judgments, given, judge),
        notes=tuple(str(note) for note in (*reference.notes, *judge.notes)),
    )


def _key(
    keys: tuple[str, ...], name: str, reference: JudgeLabels, judge: JudgeLabels, plan: LabelPlan
) -> object:
    scale = tuple(sorted((plan.scale or {}).items()))
    return keys, name, plan.union, plan.levels, scale


@keep_by(_key)
def kept_labels(
    keys: tuple[str, ...], name: str, reference: JudgeLabels, judge: JudgeLabels, plan: LabelPlan
) -> JudgedLabels:
    """As `hold_labels`, cached under keys that identify both sides completely."""
    return hold_labels(name, reference, judge, plan)


def _topics(
    plan: LabelPlan, reference: JudgeLabels, given: Mapping[str, Mapping[bytes, int]]
) -> Sequence[str]:
    return list(dict.fromkeys((*reference.judgments, *given))) if plan.union else list(reference.judgments)


def _pair(
    plan: LabelPlan,
    reference: Mapping[str, Mapping[bytes, int]],
    judge: Mapping[str, Mapping[bytes, int]],
    topic: str,
    highest: int,
) -> tuple[IntArray, IntArray]:
    sides = reference.get(topic, {}), judge.get(topic, {})
    return united(*sides, highest) if plan.union else shared(*sides)


def _highest(judgments: Mapping[str, Mapping[bytes, int]]) -> int:
    return max(grade for grades in judgments.values() for grade in grades.values())


def on_scale(
    judgments: Mapping[str, Mapping[bytes, int]], scale: Mapping[int, int] | None
) -> Mapping[str, Mapping[bytes, int]]:
    """The labels as grades of the reference; raises Invalid for a scale that lacks a label."""
    if not scale:
        return judgments
    labels = {label for grades in judgments.values() for label in grades.values()}
    if missing := sorted(labels - scale.keys()):
        raise Invalid(f"The scale lacks label {missing[0]}, which the judge gave. Name all labels.")
    return {
        topic: {docno: scale[label] for docno, label in grades.items()} for topic, grades in judgments.items()
    }


def _differences(
    reference: Mapping[str, Mapping[bytes, int]],
    judge: Mapping[str, Mapping[bytes, int]],
    labels: JudgeLabels,
) -> tuple[DocumentDifference, ...]:
    differences = [
        DocumentDifference(
            topic,
            text_of(docno),
            grades[docno],
            judge[topic][docno],
            labels.confidence.get(topic, {}).get(docno),
        )
        for topic, grades in reference.items()
        for docno in sorted(grades.keys() & judge.get(topic, {}).keys())
        if grades[docno] != judge[topic][docno]
    ]
    differences.sort(key=lambda each: -abs(each.judge - each.reference))
    return tuple(differences[:MOST_DOCUMENTS])


def _mean_confidence(labels: JudgeLabels) -> float | None:
    values = [value for row in labels.confidence.values() for value in row.values()]
    return sum(values) / len(values) if values else None
