"""A judge's labels held against the reference's, wherever both are from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.errors import Invalid
from leaderboard.memory import keep_by
from leaderboard.stats.judges import IntArray, LabelAgreement, label_agreement, mean_of_topics, shared, united
from leaderboard.trec.boards.judge_labels import JudgeLabels
from leaderboard.trec.read.lines import text_of

MOST_DOCUMENTS = 10
"""How many documents are named whose grades differ most."""
COEFFICIENTS = ("kappa", "linear", "quadratic", "alpha", "mae", "bias")


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """union: documents of either, as autojudge-evaluate; levels: relevant from which grades on.

    scale: the judge's label -> the reference's grade, empty to take them as they are.
    """

    union: bool = False
    levels: tuple[tuple[int, int], ...] = ()
    scale: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """A document that both judged: either's grade, and the judge's confidence, None where it gave none."""

    topic: str
    docno: str
    reference: int
    judge: int
    confidence: float | None


@dataclass(frozen=True, slots=True, eq=False)
class JudgedLabels:
    """The agreement over all pairs of topic and document, and topic by topic; means of the topics' values.

    means: coefficient -> its mean over the topics on which it is defined, and how many those are. confidence:
    the mean of what the judge gave, None where it gave none. differences: the documents whose grades differ
    most.
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


def hold_labels(name: str, one: JudgeLabels, two: JudgeLabels, plan: LabelPlan) -> JudgedLabels:
    """The labels of the reference and of a judge compared; raises Invalid where no document is of both."""
    highest = _highest(one.judgments)
    given = on_scale(two.judgments, plan.scale)
    grades = {
        topic: _pair(plan, one.judgments, given, topic, max(highest, 0))
        for topic in _topics(plan, one, given)
    }
    grades = {topic: pair for topic, pair in grades.items() if len(pair[0])}
    if not grades:
        raise Invalid("No document of a topic was judged by both; see that topics and docnos are the same.")
    same = plan.union or bool(plan.scale) or _highest(given) == highest
    truth, said = (np.concatenate(side) for side in zip(*grades.values(), strict=True))
    overall = label_agreement(truth, said, plan.levels, same_scale=same)
    levels = [(level.truth, level.judge) for level in overall.levels]
    topics = {topic: label_agreement(*pair, levels, same_scale=same) for topic, pair in grades.items()}
    return JudgedLabels(
        judge=name,
        plan=plan,
        same_scale=same,
        overall=overall,
        topics=topics,
        means={
            name: mean_of_topics([getattr(one, name) for one in topics.values()]) for name in COEFFICIENTS
        },
        confidence=_mean_confidence(two),
        differences=_differences(one.judgments, given, two),
        notes=tuple(str(note) for note in (*one.notes, *two.notes)),
    )


def _key(keys: tuple[str, ...], name: str, one: JudgeLabels, two: JudgeLabels, plan: LabelPlan) -> object:
    scale = tuple(sorted((plan.scale or {}).items()))
    return keys, name, plan.union, plan.levels, scale


@keep_by(_key)
def kept_labels(
    keys: tuple[str, ...], name: str, one: JudgeLabels, two: JudgeLabels, plan: LabelPlan
) -> JudgedLabels:
    """As `hold_labels`, computed once for labels with the same keys, which say all that both sides are."""
    return hold_labels(name, one, two, plan)


def _topics(plan: LabelPlan, one: JudgeLabels, given: Mapping[str, Mapping[bytes, int]]) -> Sequence[str]:
    return list(dict.fromkeys((*one.judgments, *given))) if plan.union else list(one.judgments)


def _pair(
    plan: LabelPlan,
    one: Mapping[str, Mapping[bytes, int]],
    two: Mapping[str, Mapping[bytes, int]],
    topic: str,
    highest: int,
) -> tuple[IntArray, IntArray]:
    sides = one.get(topic, {}), two.get(topic, {})
    return united(*sides, highest) if plan.union else shared(*sides)


def _highest(judgments: Mapping[str, Mapping[bytes, int]]) -> int:
    return max(grade for grades in judgments.values() for grade in grades.values())


def on_scale(
    judgments: Mapping[str, Mapping[bytes, int]], scale: Mapping[int, int] | None
) -> Mapping[str, Mapping[bytes, int]]:
    """The labels as grades of the reference; raises Invalid for a scale that leaves one out."""
    if not scale:
        return judgments
    labels = {label for grades in judgments.values() for label in grades.values()}
    if missing := sorted(labels - scale.keys()):
        raise Invalid(f"The scale says nothing of label {missing[0]}, which the judge gave; name all labels.")
    return {
        topic: {docno: scale[label] for docno, label in grades.items()} for topic, grades in judgments.items()
    }


def _differences(
    one: Mapping[str, Mapping[bytes, int]], two: Mapping[str, Mapping[bytes, int]], labels: JudgeLabels
) -> tuple[DocumentDifference, ...]:
    found = [
        DocumentDifference(
            topic,
            text_of(docno),
            grades[docno],
            two[topic][docno],
            labels.confidence.get(topic, {}).get(docno),
        )
        for topic, grades in one.items()
        for docno in sorted(grades.keys() & two.get(topic, {}).keys())
        if grades[docno] != two[topic][docno]
    ]
    found.sort(key=lambda each: -abs(each.judge - each.reference))
    return tuple(found[:MOST_DOCUMENTS])


def _mean_confidence(labels: JudgeLabels) -> float | None:
    values = [value for row in labels.confidence.values() for value in row.values()]
    return sum(values) / len(values) if values else None
