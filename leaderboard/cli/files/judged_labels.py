"""A judge's labels held against the reference's, without a site."""

from dataclasses import asdict
from typing import Any

from leaderboard.cli.files.aligned import aligned, four_decimals
from leaderboard.services.judges.labels.held import COEFFICIENTS, JudgedLabels
from leaderboard.stats.judges import LabelAgreement
from leaderboard.tables.words import counted


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
        rows.append([name, four_decimals(getattr(overall, name)), four_decimals(mean), str(number)])
    lines += [*aligned(rows), ""]
    heads = ["relevant from", "kappa", "jaccard", "precision", "recall", "f1"]
    levels = [
        [f"{level.truth} / judge {level.judge}", *(four_decimals(getattr(level, name)) for name in heads[1:])]
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
