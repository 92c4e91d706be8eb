"""A judge's labels held against the reference's, without a site."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leaderboard.cli.files.aligned import aligned
from leaderboard.errors import Invalid
from leaderboard.stats.judges.labels import (
    IntArray,
    LabelAgreement,
    label_agreement,
    mean_of_topics,
    shared,
    united,
)
from leaderboard.tables.words import counted
from leaderboard.trec.qrels.judge_labels import JudgeLabels, read_judge_labels
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


def hold_labels(reference: Path, judge: Path, plan: LabelPlan) -> JudgedLabels:
    """Both files read and compared; raises Invalid for one that cannot be read, or where none is shared."""
    one, two = read_judge_labels(reference), read_judge_labels(judge)
    highest = _highest(one.judgments)
    given = _on_scale(two.judgments, plan.scale)
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
        judge=judge.stem,
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


def as_facts(held: JudgedLabels) -> dict[str, Any]:
    """Everything as plain values at full precision."""
    return {
        "judge": held.judge,
        "documents": "of either, missing ones 0" if held.plan.union else "judged by both",
        "same_scale": held.same_scale,
        "overall": _facts(held.overall),
        "means_over_topics": {
            name: {"mean": mean, "topics": number} for name, (mean, number) in held.means.items()
        },
        "by_topic": {topic: _facts(one) for topic, one in held.topics.items()},
        "mean_confidence": held.confidence,
        "largest_differences": [asdict(one) for one in held.differences],
        "notes": list(held.notes),
    }


def table(held: JudgedLabels) -> tuple[list[str], list[list[Any]]]:
    """Head and rows of CSV: all pairs, then a topic a line."""
    rows = {"all": held.overall, **held.topics}
    return ["topic", "documents", *COEFFICIENTS], [
        [topic, one.documents, *(getattr(one, name) for name in COEFFICIENTS)] for topic, one in rows.items()
    ]


def in_words(held: JudgedLabels) -> str:
    """The agreement as a terminal shows it."""
    overall = held.overall
    of = "documents of either, missing ones 0" if held.plan.union else "documents judged by both"
    lines = [f"{held.judge}: {overall.documents:,} {of}, {counted(len(held.topics), 'topic')}", ""]
    rows = [["", "all pairs", "mean of topics", "topics"]]
    for name in COEFFICIENTS:
        mean, number = held.means[name]
        rows.append([name, _number(getattr(overall, name)), _number(mean), str(number)])
    lines += [*aligned(rows), ""]
    heads = ["relevant from", "kappa", "jaccard", "precision", "recall", "f1"]
    levels = [
        [f"{level.truth} / judge {level.judge}", *(_number(getattr(level, name)) for name in heads[1:])]
        for level in overall.levels
    ]
    lines += [*aligned([heads, *levels]), "", *_confusion(overall)]
    if held.differences:
        documents = [
            [one.topic, one.docno, str(one.reference), str(one.judge), _share(one.confidence)]
            for one in held.differences
        ]
        lines += [
            "",
            *aligned([["topic", "document", "reference", "judge", "confidence"], *documents], left=2),
        ]
    if not held.same_scale:
        lines += ["", "The highest label is not the highest grade, so what counts distances is undefined."]
        lines += ["Say with --scale which label is which grade."]
    return "\n".join([*lines, *held.notes, ""])


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


def _on_scale(
    judgments: Mapping[str, Mapping[bytes, int]], scale: Mapping[int, int] | None
) -> Mapping[str, Mapping[bytes, int]]:
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


def _facts(agreement: LabelAgreement) -> dict[str, Any]:
    table = agreement.confusion
    return {
        "documents": agreement.documents,
        **{name: getattr(agreement, name) for name in COEFFICIENTS},
        "levels": [asdict(level) for level in agreement.levels],
        "confusion": {"grades": list(table.grades), "counts": table.counts.tolist()},
    }


def _confusion(agreement: LabelAgreement) -> list[str]:
    table = agreement.confusion
    head = ["reference \\ judge", *map(str, table.grades)]
    rows = [
        [str(grade), *map(str, row)] for grade, row in zip(table.grades, table.counts.tolist(), strict=True)
    ]
    return aligned([head, *rows])


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
