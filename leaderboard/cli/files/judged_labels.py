"""A judge's labels compared with the reference's, without a site."""

from dataclasses import asdict
from typing import Any

from leaderboard.judges.ops.labels.comparison import COEFFICIENTS, JudgedLabels
from leaderboard.stats.judges import LabelAgreement
from leaderboard.tables.markdown import aligned, four_decimals
from leaderboard.tables.record import counted


def as_facts(judged: JudgedLabels) -> dict[str, Any]:
    """Everything as plain values at full precision."""
    return {
        "judge": judged.judge,
        "documents": "of either, missing ones 0" if judged.plan.union else "judged by both",
        "same_scale": judged.same_scale,
        "overall": _facts(judged.overall),
        "means_over_topics": {
            name: {"mean": mean, "topics": number} for name, (mean, number) in judged.means.items()
        },
        "by_topic": {topic: _facts(of_topic) for topic, of_topic in judged.topics.items()},
        "mean_confidence": judged.confidence,
        "largest_differences": [asdict(difference) for difference in judged.differences],
        "notes": list(judged.notes),
    }


def table(judged: JudgedLabels) -> tuple[list[str], list[list[Any]]]:
    """Head and rows of CSV: all pairs, then a topic a line."""
    rows = {"all": judged.overall, **judged.topics}
    return ["topic", "documents", *COEFFICIENTS], [
        [topic, of_topic.documents, *(getattr(of_topic, name) for name in COEFFICIENTS)]
        for topic, of_topic in rows.items()
    ]


def in_words(judged: JudgedLabels) -> str:
    """The agreement as a terminal shows it."""
    overall = judged.overall
    of = "documents of either, missing ones 0" if judged.plan.union else "documents judged by both"
    lines = [f"{judged.judge}: {overall.documents:,} {of}, {counted(len(judged.topics), 'topic')}", ""]
    rows = [["", "all pairs", "mean of topics", "topics"]]
    for name in COEFFICIENTS:
        mean, number = judged.means[name]
        rows.append([name, four_decimals(getattr(overall, name)), four_decimals(mean), str(number)])
    lines += [*aligned(rows), ""]
    heads = ["relevant from", "kappa", "jaccard", "precision", "recall", "f1"]
    levels = [
        [f"{level.truth} / judge {level.judge}", *(four_decimals(getattr(level, name)) for name in heads[1:])]
        for level in overall.levels
    ]
    lines += [*aligned([heads, *levels]), "", *_confusion(overall)]
    if judged.differences:
        documents = [
            [
                difference.topic,
                difference.docno,
                str(difference.reference),
                str(difference.judge),
                _share(difference.confidence),
            ]
            for difference in judged.differences
        ]
        lines += [
            "",
            *aligned([["topic", "document", "reference", "judge", "confidence"], *documents], left=2),
        ]
    if not judged.same_scale:
        lines += [
            "",
            "The highest label is not the highest grade, so distance-based coefficients are undefined.",
        ]
        lines += ["Map labels to grades with --scale."]
    return "\n".join([*lines, *judged.notes, ""])


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
