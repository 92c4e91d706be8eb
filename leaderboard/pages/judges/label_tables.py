"""A judge's labels as tables and files: coefficients, levels, topics, documents, nuggets."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from leaderboard.pages.judges.labels import LabelledDocument, LabelledTopicPage, LabelsHead, LabelsPage
from leaderboard.services.judges.labels.held import COEFFICIENTS, DocumentDifference
from leaderboard.services.judges.labels.held_nuggets import HeldNugget, NuggetsOfTopic
from leaderboard.stats.judges.labels import LabelAgreement, LevelAgreement
from leaderboard.tables.record import Column, Files, Place, Table

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
    overall: float | None
    mean: float | None
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
        name=f"{page.name}-coefficients",
        caption=f"Labels of {page.judge.name} against the judgments: {which(page)}.",
        columns=[
            Column(
                key="coefficient",
                head="Coefficient",
                value=lambda row: row.key,
                words=lambda row: NAMES[row.key],
            ),
            Column(key="all_pairs", head="All pairs", value=lambda row: row.overall, digits=4),
            Column(key="mean_of_topics", head="Mean of topics", value=lambda row: row.mean, digits=4),
            Column(key="topics", head="Topics", value=lambda row: row.topics, digits=0),
        ],
        rows=rows,
    )


def levels_table(page: LabelsPage | LabelledTopicPage) -> Table[LevelAgreement]:
    """The agreement on what is relevant, by the grade from which on it is."""
    found = _agreement(page)
    return Table(
        name=f"{page.name}-levels",
        caption=f"What {page.judge.name} and the judgments find relevant: {which(page)}.",
        columns=[
            Column(key="grade", head="Relevant from grade", value=lambda row: row.truth, digits=0),
            Column(key="label", head="From label", value=lambda row: row.judge, digits=0),
            Column(key="kappa", head="κ", value=lambda row: row.kappa, digits=4),
            Column(key="jaccard", head="Jaccard", value=lambda row: row.jaccard, digits=4),
            Column(key="precision", head="Precision", value=lambda row: row.precision, digits=4),
            Column(key="recall", head="Recall", value=lambda row: row.recall, digits=4),
            Column(key="f1", head="F1", value=lambda row: row.f1, digits=4),
        ],
        rows=found.levels if found else (),
    )


def topics_table(page: LabelsPage) -> Table[TopicRow]:
    """The agreement within each topic."""
    held = page.held
    return Table(
        name=f"{page.name}-topics",
        caption=f"Labels of {page.judge.name} by topic: {which(page)}.",
        columns=[
            Column(key="topic", head="Topic", value=lambda row: row.topic),
            Column(
                key="documents",
                head=f"{page.unit}s".capitalize(),
                value=lambda row: row.agreement.documents,
                digits=0,
            ),
            *(_coefficient(key) for key in COEFFICIENTS),
        ],
        rows=[TopicRow(topic, found) for topic, found in held.topics.items()] if held else (),
    )


def differences_table(page: LabelsPage) -> Table[DocumentDifference]:
    """The documents judged by both whose grades differ most."""
    held = page.held
    return Table(
        name=f"{page.name}-differences",
        caption=f"{page.unit}s judged by both, the largest differences first.".capitalize(),
        columns=[
            Column(key="topic", head="Topic", value=lambda row: row.topic),
            _labelled(page),
            Column(key="grade", head="Grade", value=lambda row: row.reference, digits=0),
            Column(key="label", head="Label", value=lambda row: row.judge, digits=0),
            _confidence(held.differences if held else ()),
        ],
        rows=held.differences if held else (),
    )


def documents_table(page: LabelledTopicPage) -> Table[LabelledDocument]:
    """All documents of a topic that count."""
    return Table(
        name=f"{page.name}-{page.topic_id}",
        caption=f"Topic {page.topic_id}: {which(page)}, the largest differences first.",
        columns=[
            _labelled(page),
            Column(key="grade", head="Grade", value=lambda row: row.reference, digits=0),
            Column(key="label", head="Label", value=lambda row: row.judge, digits=0),
            Column(
                key="apart",
                head="Label less grade",
                value=lambda row: row.apart,
                digits=0,
                words=lambda row: _signed(row.apart),
            ),
            _confidence(page.documents),
        ],
        rows=page.documents,
    )


def nuggets_table(page: LabelsPage) -> Table[NuggetsOfTopic]:
    """How many nuggets either side has of each topic, and how many both have."""
    return Table(
        name=f"{page.name}-nuggets",
        caption=f"Nuggets of the judgments and of {page.judge.name} by topic; the same means word for word.",
        columns=[
            Column(key="topic", head="Topic", value=lambda row: row.topic),
            _count("judgments", "Of the judgments", lambda row: row.reference),
            _count("judgments_vital", "Vital there", lambda row: row.reference_vital),
            _count("judge", "Of the judge", lambda row: row.judge),
            _count("judge_vital", "Vital there", lambda row: row.judge_vital),
            _count("same", "The same", lambda row: row.same),
            _count("judgments_only", "Only of the judgments", lambda row: row.reference - row.same),
            _count("judge_only", "Only of the judge", lambda row: row.judge - row.same),
        ],
        rows=page.nuggets,
    )


def nugget_words_table(page: LabelsPage) -> Table[HeldNugget]:
    """Every nugget of either side with its importance there."""
    return Table(
        name=f"{page.name}-nugget-words",
        caption="Nuggets in their own words; a dash where a side does not have one.",
        columns=[
            Column(key="topic", head="Topic", value=lambda row: row.topic),
            Column(key="nugget", head="Nugget", value=lambda row: row.text),
            Column(key="judgments", head="In the judgments", value=lambda row: row.reference),
            Column(key="judge", head="By the judge", value=lambda row: row.judge),
        ],
        rows=[nugget for of_topic in page.nuggets for nugget in of_topic.nuggets],
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
    return Column(
        key=key, head=_SHORT[key], value=lambda row: getattr(row.agreement, key), digits=4, title=NAMES[key]
    )


def _count(key: str, head: str, of: Callable[[NuggetsOfTopic], int]) -> Column[NuggetsOfTopic]:
    return Column(key=key, head=head, value=of, digits=0)


def _labelled(page: LabelsHead) -> Column[Any]:
    """The document, or the run and what of its answer was labelled."""
    return Column(
        key="docno" if page.unit == "document" else page.unit,
        head=page.unit.capitalize(),
        value=lambda row: row.docno.replace("\t", " · "),
        group="labelled",
    )


def _confidence(rows: Sequence[LabelledDocument | DocumentDifference]) -> Column[Any]:
    is_given = any(row.confidence is not None for row in rows)
    return Column(
        key="confidence",
        head="Confidence",
        value=lambda row: row.confidence,
        digits=2,
        title="As the judge gave it; it weighs nothing.",
        shown=Place.EVERYWHERE if is_given else Place.DATA,
    )


def _signed(apart: int | None) -> str | None:
    return None if apart is None else f"{apart:+d}".replace("-", "−") if apart else "0"
