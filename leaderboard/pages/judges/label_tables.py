"""A judge's labels as tables and files: coefficients, levels, topics, documents, nuggets."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from leaderboard.pages.judges.labels import LabelledDocument, LabelledTopicPage, LabelsHead, LabelsPage
from leaderboard.services.judges.labels.held import COEFFICIENTS, DocumentDifference
from leaderboard.services.judges.labels.held_nuggets import HeldNugget, NuggetsOfTopic
from leaderboard.stats.judges.labels import LabelAgreement, LevelAgreement
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

NAMES = {
    "kappa": "Cohen’s κ, all grades",
    "linear": "κ, linear weights",
    "quadratic": "κ, quadratic weights",
    "alpha": "Krippendorff’s α, ordinal",
    "mae": "mean absolute error",
    "bias": "bias: judge less grade",
}
_SHORT = {
    "kappa": "κ",
    "linear": "κ linear",
    "quadratic": "κ quadratic",
    "alpha": "α",
    "mae": "MAE",
    "bias": "Bias",
}


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient over all pairs of topic and document, and its mean over the topics that have one."""

    key: str
    overall: Annotated[float | None, Shown(key="all_pairs")]
    mean: Annotated[float | None, Shown(key="mean_of_topics")]
    topics: int


@dataclass(frozen=True, slots=True)
class TopicRow:
    """The agreement on one topic."""

    topic: str
    agreement: LabelAgreement


def which(page: LabelsHead) -> str:
    """Which of what is labelled counts, in words: the two ways are never mixed."""
    return f"{page.unit}s of either, a missing grade 0" if page.plan.union else f"{page.unit}s judged by both"


def coefficients_table(page: LabelsPage) -> Table[Coefficient]:
    """What one number says of all grades."""
    held = page.held
    rows = (
        [Coefficient(key, getattr(held.overall, key), *held.means[key]) for key in COEFFICIENTS]
        if held
        else []
    )
    return Table(
        f"{page.name}-coefficients",
        f"Labels of {page.judge.name} against the judgments: {which(page)}.",
        columns_from(
            Coefficient,
            Column("coefficient", lambda row: row.key, "Coefficient", words=lambda row: NAMES[row.key]),
            "overall mean topics",
        ),
        rows,
    )


def levels_table(page: LabelsPage | LabelledTopicPage) -> Table[LevelAgreement]:
    """The agreement on what is relevant, by the grade from which on it is."""
    found = _agreement(page)
    return Table(
        f"{page.name}-levels",
        f"What {page.judge.name} and the judgments find relevant: {which(page)}.",
        columns_from(LevelAgreement),
        found.levels if found else (),
    )


def topics_table(page: LabelsPage) -> Table[TopicRow]:
    """The agreement within each topic."""
    held = page.held
    return Table(
        f"{page.name}-topics",
        f"Labels of {page.judge.name} by topic: {which(page)}.",
        [
            Column("topic", lambda row: row.topic, "Topic"),
            Column("documents", lambda row: row.agreement.documents, f"{page.unit}s".capitalize(), digits=0),
            *(_coefficient(key) for key in COEFFICIENTS),
        ],
        [TopicRow(topic, found) for topic, found in held.topics.items()] if held else (),
    )


def differences_table(page: LabelsPage) -> Table[DocumentDifference]:
    """The documents judged by both whose grades differ most."""
    held = page.held
    return Table(
        f"{page.name}-differences",
        f"{page.unit}s judged by both, the largest differences first.".capitalize(),
        [
            Column("topic", lambda row: row.topic, "Topic"),
            _labelled(page),
            Column("grade", lambda row: row.reference, "Grade", digits=0),
            Column("label", lambda row: row.judge, "Label", digits=0),
            _confidence(held.differences if held else ()),
        ],
        held.differences if held else (),
    )


def documents_table(page: LabelledTopicPage) -> Table[LabelledDocument]:
    """All documents of a topic that count."""
    return Table(
        f"{page.name}-{page.topic_id}",
        f"Topic {page.topic_id}: {which(page)}, the largest differences first.",
        [
            _labelled(page),
            Column("grade", lambda row: row.reference, "Grade", digits=0),
            Column("label", lambda row: row.judge, "Label", digits=0),
            Column(
                "apart",
                lambda row: row.apart,
                "Label less grade",
                digits=0,
                words=lambda row: _signed(row.apart),
            ),
            _confidence(page.documents),
        ],
        page.documents,
    )


def nuggets_table(page: LabelsPage) -> Table[NuggetsOfTopic]:
    """How many nuggets either side has of each topic, and how many both have."""
    return Table(
        f"{page.name}-nuggets",
        f"Nuggets of the judgments and of {page.judge.name} by topic; the same means word for word.",
        [
            Column("topic", lambda row: row.topic, "Topic"),
            _count("judgments", "Of the judgments", lambda row: row.reference),
            _count("judgments_vital", "Vital there", lambda row: row.reference_vital),
            _count("judge", "Of the judge", lambda row: row.judge),
            _count("judge_vital", "Vital there", lambda row: row.judge_vital),
            _count("same", "The same", lambda row: row.same),
            _count("judgments_only", "Only of the judgments", lambda row: row.reference - row.same),
            _count("judge_only", "Only of the judge", lambda row: row.judge - row.same),
        ],
        page.nuggets,
    )


def nugget_words_table(page: LabelsPage) -> Table[HeldNugget]:
    """Every nugget of either side with its importance there."""
    return Table(
        f"{page.name}-nugget-words",
        "Nuggets in their own words; a dash where a side does not have one.",
        columns_from(HeldNugget),
        [nugget for of_topic in page.nuggets for nugget in of_topic.nuggets],
    )


def labels_facts(page: LabelsPage) -> dict[str, Any]:
    """The agreement of labels as plain values."""
    held = page.held
    return {
        **_head(page),
        "labels": page.labels,
        "with_confidence": page.confident,
        "mean_confidence": held.confidence if held else None,
        "same_scale": held.same_scale if held else None,
        "overall": agreement_facts(held.overall) if held else None,
        "means_over_topics": coefficients_table(page).facts(),
        "topics": topics_table(page).facts(),
        "differences": differences_table(page).facts(),
        "nuggets": nuggets_table(page).facts(),
        "nugget_words": nugget_words_table(page).facts(),
    }


def topic_facts(page: LabelledTopicPage) -> dict[str, Any]:
    """One topic of a judge's labels as plain values."""
    return {
        **_head(page),
        "topic": page.topic_id,
        "agreement": agreement_facts(page.agreement) if page.agreement else None,
        "documents": documents_table(page).facts(),
    }


def agreement_facts(found: LabelAgreement) -> dict[str, Any]:
    """An agreement of grades as plain values."""
    return {
        "documents": found.documents,
        **{key: getattr(found, key) for key in COEFFICIENTS},
        "levels": [asdict(level) for level in found.levels],
        "confusion": {"grades": list(found.confusion.grades), "counts": found.confusion.counts.tolist()},
    }


LABELS_FILES: Files[LabelsPage] = Files(
    facts=labels_facts,
    tables={
        "topics": topics_table,
        "coefficients": coefficients_table,
        "levels": levels_table,
        "differences": differences_table,
        "nuggets": nuggets_table,
        "nugget-words": nugget_words_table,
    },
)
TOPIC_FILES: Files[LabelledTopicPage] = Files(
    facts=topic_facts, tables={"documents": documents_table, "levels": levels_table}
)


def _head(page: LabelsHead) -> dict[str, Any]:
    plan = page.plan
    return {
        "task": page.slug,
        "judge": page.judge.name,
        "run_id": page.judge.run_id,
        "run_in_file": page.file_run,
        "judgments_of": page.source_slug,
        "labelled": page.unit,
        "over": "either" if plan.union else "both",
        "scale": {str(label): grade for label, grade in plan.scale.items()} if plan.scale else None,
    }


def _agreement(page: LabelsPage | LabelledTopicPage) -> LabelAgreement | None:
    if isinstance(page, LabelledTopicPage):
        return page.agreement
    return page.held.overall if page.held else None


def _coefficient(key: str) -> Column[TopicRow]:
    return Column(key, lambda row: getattr(row.agreement, key), _SHORT[key], digits=4, title=NAMES[key])


def _count(key: str, head: str, of: Callable[[NuggetsOfTopic], int]) -> Column[NuggetsOfTopic]:
    return Column(key, of, head, digits=0)


def _labelled(page: LabelsHead) -> Column[Any]:
    """The document, or the run and what of its answer was labelled."""
    return Column(
        "docno" if page.unit == "document" else page.unit,
        lambda row: row.docno.replace("\t", " · "),
        page.unit.capitalize(),
        group="labelled",
    )


def _confidence(rows: Sequence[LabelledDocument | DocumentDifference]) -> Column[Any]:
    is_given = any(row.confidence is not None for row in rows)
    return Column(
        "confidence",
        lambda row: row.confidence,
        "Confidence",
        digits=2,
        title="As the judge gave it; it weighs nothing.",
        shown=Place.EVERYWHERE if is_given else Place.DATA,
    )


def _signed(apart: int | None) -> str | None:
    return None if apart is None else f"{apart:+d}".replace("-", "−") if apart else "0"
