"""A judge's labels compared with the judgments behind the reference: over all topics, and on one topic."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row, read_rows
from leaderboard.core.policy import Viewer
from leaderboard.errors import Forbidden, Invalid, NotFound
from leaderboard.judges.ops import store
from leaderboard.judges.ops.labels.comparison import (
    COEFFICIENTS,
    DocumentDifference,
    JudgedLabels,
    LabelPlan,
    kept_labels,
    on_scale,
)
from leaderboard.judges.ops.labels.reference import (
    ComparedNugget,
    NuggetsOfTopic,
    ReferenceLabels,
    hold_nuggets,
    reference_labels,
)
from leaderboard.judges.page.board import ReferencePage, SeenReference, head_of, seen_reference
from leaderboard.measures.answers import registry as answer_measures
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.stats.judges import LabelAgreement, LevelAgreement
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from, signed
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels, as_grades
from leaderboard.trec.boards.judge_labels import JudgeLabels, KeptLabels
from leaderboard.trec.nuggets.packing import Part
from leaderboard.trec.read.lines import text_of

SentLabels = KeptLabels | KeptAnswerLabels
UNITS: Mapping[Part | None, str] = {None: "document", "assignments": "nugget", "support": "citation"}
"""Kind of judgments of answers, None for documents -> labelled unit."""
_GRADE = re.compile("-?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document with its grade and the judge's label; None if it was not judged."""

    docno: str
    reference: int | None
    judge: int | None
    confidence: float | None

    @property
    def apart(self) -> int | None:
        """The judge's label minus the grade; None if either is missing."""
        return None if self.reference is None or self.judge is None else self.judge - self.reference


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsHead(ReferencePage):
    """Shared head of the pages of a judge's labels.

    source_slug: of the source task of documents or answers. plan: included items, and how labels
    are read. unit: name of a labelled item. run_ids: of answers, by their runs' names. part: kind of these
    labels, of those that the judge submitted; None and empty for documents.
    """

    judge: RunName
    source_slug: str
    plan: LabelPlan
    file_run: str
    unit: str = "document"
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    run_ids: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Base name of the page's tables."""
        return f"{self.slug}-judge-{self.judge.run_id}-labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPage(LabelsHead):
    """The agreement over all topics, by topic, and the documents with the largest differences.

    judged_labels: None if no document is included, because none was judged by both. labels, confident: number
    of the judge's labels on these topics, and of labels with a confidence. nuggets: of the judge and the
    judgments by topic, if both have some and assignments are shown.
    """

    judged_labels: JudgedLabels | None
    labels: int
    confident: int
    nuggets: tuple[NuggetsOfTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTopicPage(LabelsHead):
    """One topic: its agreement, None if no document is included; largest differences first."""

    topic_id: str
    agreement: LabelAgreement | None
    documents: tuple[LabelledDocument, ...]
    previous: str | None
    following: str | None


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Both sides of a page: the judge's labels on topics with visible judgments."""

    reference: SeenReference
    row: Row
    judgments: ReferenceLabels
    labels: JudgeLabels
    sent: SentLabels
    part: Part | None


def labels_page(
    session: Session, viewer: Viewer, slug: str, run_id: int, plan: LabelPlan, part: str = ""
) -> LabelsPage:
    """A judge's labels; part: their kind, empty for the kind that scores runs; a few statements.

    Raises NotFound for a run that is not a judge's labels, while the reference is hidden, and if the
    judgments behind it are hidden from the viewer; Invalid for a scale that lacks a label, and for a
    part that the judge did not submit.
    """
    seen = _of_run(session, viewer, slug, run_id, part)
    return LabelsPage(
        **_head(seen, plan),
        judged_labels=_judged_labels(seen, plan),
        labels=sum(map(len, seen.labels.judgments.values())),
        confident=sum(map(len, seen.labels.confidence.values())),
        nuggets=_nuggets(seen),
    )


def labelled_topic_page(
    session: Session, viewer: Viewer, slug: str, run_id: int, topic_id: str, plan: LabelPlan, part: str = ""
) -> LabelledTopicPage:
    """One topic of a judge's labels; raises as `labels_page` does, and NotFound for a topic without them."""
    seen = _of_run(session, viewer, slug, run_id, part)
    topics = list(seen.judgments.labels.judgments)
    if topic_id not in topics:
        raise NotFound(f"No judgments of topic {topic_id[:40]!r} are shown here.")
    at, judged_labels = topics.index(topic_id), _judged_labels(seen, plan)
    return LabelledTopicPage(
        **_head(seen, plan),
        topic_id=topic_id,
        agreement=judged_labels.topics.get(topic_id) if judged_labels is not None else None,
        documents=_documents(seen, topic_id, plan),
        previous=topics[at - 1] if at else None,
        following=topics[at + 1] if at + 1 < len(topics) else None,
    )


def summary(
    session: Session, viewer: Viewer, reference: SeenReference, row: Row
) -> tuple[JudgedLabels | None, SentLabels | None]:
    """The labels section of a judge's page: the agreement if visible to the viewer, and the labels.

    None and None for a judge that submitted a board.
    """
    sent = store.sent_labels(session, row.run_id)
    if not isinstance(sent, SentLabels):
        return None, None
    try:
        return _judged_labels(_seen(session, viewer, reference, row, sent, ""), LabelPlan()), sent
    except (NotFound, Forbidden):
        return None, sent


def _of_run(session: Session, viewer: Viewer, slug: str, run_id: int, part: str) -> _Seen:
    reference = seen_reference(session, viewer, slug)
    access = reference.head.access
    rows = read_rows(session, viewer, reference.task, access, reference.edition, ())
    row = next((row for row in rows if row.run_id == run_id), None)
    sent = store.sent_labels(session, run_id) if row is not None else None
    if row is None or not isinstance(sent, SentLabels):
        raise NotFound(f"{reference.task.name} has no visible labels of run {run_id}.", run=run_id)
    return _seen(session, viewer, reference, row, sent, part)


def _seen(
    session: Session, viewer: Viewer, reference: SeenReference, row: Row, sent: SentLabels, requested: str
) -> _Seen:
    if reference.kept is None:
        raise NotFound(f"{reference.task.name} has no reference yet to compare labels with.")
    part = _part(sent, reference.kept.reference.measure, requested)
    judgments = reference_labels(session, viewer, reference.kept, part)
    judged, given = judgments.labels.judgments, _as_labels(sent, part, reference.kept.reference.runs)
    labels = replace(
        given,
        judgments={topic: of_topic for topic, of_topic in given.judgments.items() if topic in judged},
        confidence={topic: of_topic for topic, of_topic in given.confidence.items() if topic in judged},
    )
    return _Seen(reference, row, judgments, labels, sent, part)


def _part(sent: SentLabels, measure: str, requested: str) -> Part | None:
    """The labels to show: the requested ones, else those for the reference's measure."""
    parts = _parts_of(sent)
    if isinstance(sent, KeptAnswerLabels) and not parts:
        raise NotFound("Auto-ARGUE’s judgments have no grades to compare.")
    if requested:
        requested_part = next((part for part in parts if part == requested), None)
        if requested_part is None:
            raise Invalid(f"?part= must be one of {', '.join(parts) or 'none here'}, not {requested[:40]!r}.")
        return requested_part
    is_of_support = "support" in parts and _basis(measure) == "support"
    return "support" if is_of_support else next(iter(parts), None)


def _basis(measure: str) -> str:
    return answer_measures.NAMES[answer_measures.parse(measure).measure.name].basis


def _parts_of(sent: SentLabels) -> tuple[Part, ...]:
    return sent.graded if isinstance(sent, KeptAnswerLabels) else ()


def _as_labels(sent: SentLabels, part: Part | None, runs: Sequence[str]) -> JudgeLabels:
    if isinstance(sent, KeptLabels):
        return sent.labels
    assert part is not None, "labels of answers have parts"
    return JudgeLabels(as_grades(sent.answers, part, {run: run for run in runs}), {}, "", ())


def _nuggets(seen: _Seen) -> tuple[NuggetsOfTopic, ...]:
    """The nuggets of both sides on topics with visible judgments."""
    if seen.part != "assignments" or not isinstance(seen.sent, KeptAnswerLabels):
        return ()
    reference, judge = seen.judgments.nuggets, seen.sent.answers.judgments.nuggets.topics
    return hold_nuggets(reference, reference, judge)


def _head(seen: _Seen, plan: LabelPlan) -> dict[str, Any]:
    row = seen.row
    return {
        **head_of(seen.reference.head),
        "judge": RunName(**row.named()),
        "source_slug": seen.judgments.slug,
        "plan": plan,
        "file_run": row.tag,
        "unit": UNITS[seen.part],
        "part": seen.part,
        "parts": _parts_of(seen.sent),
        "run_ids": seen.judgments.run_ids,
    }


def _judged_labels(seen: _Seen, plan: LabelPlan) -> JudgedLabels | None:
    if not _is_comparable(seen.judgments.labels.judgments, seen.labels.judgments, plan):
        return None
    keys = seen.judgments.key, seen.sent.sha256
    return kept_labels(keys, seen.row.run, seen.judgments.labels, seen.labels, plan)


def _is_comparable(
    reference: Mapping[str, Mapping[bytes, int]], judge: Mapping[str, Mapping[bytes, int]], plan: LabelPlan
) -> bool:
    """Whether any document is included: both sides have one and, unless either is enough, share one."""
    if not any(reference.values()) or not any(judge.values()):
        return False
    return plan.union or any(reference[topic].keys() & labels.keys() for topic, labels in judge.items())


def _documents(seen: _Seen, topic_id: str, plan: LabelPlan) -> tuple[LabelledDocument, ...]:
    grades = seen.judgments.labels.judgments[topic_id]
    labels = on_scale(seen.labels.judgments, plan.scale).get(topic_id, {})
    confidence = seen.labels.confidence.get(topic_id, {})
    docnos = grades.keys() | labels.keys() if plan.union else grades.keys() & labels.keys()
    documents = [
        LabelledDocument(text_of(docno), grades.get(docno), labels.get(docno), confidence.get(docno))
        for docno in docnos
    ]
    return tuple(
        sorted(
            documents,
            key=lambda document: (-abs((document.judge or 0) - (document.reference or 0)), document.docno),
        )
    )


def plan_from(union: str, levels: str, scale: str) -> LabelPlan:
    """Plan for reading labels, from query parameters: `either`, `2:1`, `0=0,1=2`; raises Invalid.

    >>> plan_from("either", "2:1", "0=0,1=2")
    LabelPlan(union=True, levels=((2, 1),), scale={0: 0, 1: 2})
    """
    if union not in ("", "both", "either"):
        raise Invalid(f"?documents= must be both or either, not {union[:40]!r}.")
    pairs = tuple(_pair(part if ":" in part else f"{part}:{part}", ":", "level") for part in _parts(levels))
    mapped = dict(_pair(part, "=", "scale") for part in _parts(scale))
    return LabelPlan(union == "either", pairs, mapped or None)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pair(text: str, between: str, what: str) -> tuple[int, int]:
    first, _, second = text.partition(between)
    if not (_GRADE.fullmatch(first) and _GRADE.fullmatch(second)):
        raise Invalid(f"?{what}= takes pairs of whole numbers such as 2{between}1, not {text[:40]!r}.")
    return int(first), int(second)


LABEL_TABLES_NAMES = {
    "kappa": "Cohen’s κ, all grades",
    "linear": "κ, linear weights",
    "quadratic": "κ, quadratic weights",
    "alpha": "Krippendorff’s α, ordinal",
    "mae": "mean absolute error",
    "bias": "bias: label minus grade",
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
    """A coefficient over all pairs of topic and document, and its mean over topics where it is defined."""

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
    """The included items as text: the two ways are never mixed."""
    return (
        f"{page.unit}s judged by either, missing grades as 0"
        if page.plan.union
        else f"{page.unit}s judged by both"
    )


def coefficients_table(page: LabelsPage) -> Table[Coefficient]:
    """Single-number coefficients over all grades."""
    judged_labels = page.judged_labels
    rows = (
        [
            Coefficient(key, getattr(judged_labels.overall, key), *judged_labels.means[key])
            for key in COEFFICIENTS
        ]
        if judged_labels
        else []
    )
    return Table(
        f"{page.name}-coefficients",
        f"Labels of {page.judge.name} compared with the judgments: {which(page)}.",
        columns_from(
            Coefficient,
            Column(
                "coefficient",
                lambda row: row.key,
                "Coefficient",
                words=lambda row: LABEL_TABLES_NAMES[row.key],
            ),
            "overall mean topics",
        ),
        rows,
    )


def levels_table(page: LabelsPage | LabelledTopicPage) -> Table[LevelAgreement]:
    """The agreement on relevance, by lowest relevant grade."""
    agreement = _agreement(page)
    return Table(
        f"{page.name}-levels",
        f"Agreement on relevance of {page.judge.name} and the judgments: {which(page)}.",
        columns_from(LevelAgreement),
        agreement.levels if agreement else (),
    )


def topics_table(page: LabelsPage) -> Table[TopicRow]:
    """The agreement within each topic."""
    judged_labels = page.judged_labels
    return Table(
        f"{page.name}-topics",
        f"Labels of {page.judge.name} by topic: {which(page)}.",
        [
            Column("topic", lambda row: row.topic, "Topic"),
            Column("documents", lambda row: row.agreement.documents, f"{page.unit}s".capitalize(), digits=0),
            *(_coefficient(key) for key in COEFFICIENTS),
        ],
        [TopicRow(topic, agreement) for topic, agreement in judged_labels.topics.items()]
        if judged_labels
        else (),
    )


def differences_table(page: LabelsPage) -> Table[DocumentDifference]:
    """The documents judged by both with the largest differences."""
    judged_labels = page.judged_labels
    return Table(
        f"{page.name}-differences",
        f"{page.unit}s judged by both, largest differences first.".capitalize(),
        [
            Column("topic", lambda row: row.topic, "Topic"),
            _labelled(page),
            Column("grade", lambda row: row.reference, "Grade", digits=0),
            Column("label", lambda row: row.judge, "Label", digits=0),
            _confidence(judged_labels.differences if judged_labels else ()),
        ],
        judged_labels.differences if judged_labels else (),
    )


def documents_table(page: LabelledTopicPage) -> Table[LabelledDocument]:
    """All included documents of a topic."""
    return Table(
        f"{page.name}-{page.topic_id}",
        f"Topic {page.topic_id}: {which(page)}, largest differences first.",
        [
            _labelled(page),
            Column("grade", lambda row: row.reference, "Grade", digits=0),
            Column("label", lambda row: row.judge, "Label", digits=0),
            Column(
                "apart",
                lambda row: row.apart,
                "Label minus grade",
                digits=0,
                words=lambda row: None if row.apart is None else signed(row.apart),
            ),
            _confidence(page.documents),
        ],
        page.documents,
    )


def nuggets_table(page: LabelsPage) -> Table[NuggetsOfTopic]:
    """Number of nuggets of each side by topic, and of shared ones."""
    return Table(
        f"{page.name}-nuggets",
        f"Nuggets of the judgments and of {page.judge.name} by topic; identical means the same wording.",
        [
            Column("topic", lambda row: row.topic, "Topic"),
            _count("judgments", "In the judgments", lambda row: row.reference),
            _count("judgments_vital", "Of these vital", lambda row: row.reference_vital),
            _count("judge", "By the judge", lambda row: row.judge),
            _count("judge_vital", "Of these vital", lambda row: row.judge_vital),
            _count("same", "Identical", lambda row: row.same),
            _count("judgments_only", "Only in the judgments", lambda row: row.reference - row.same),
            _count("judge_only", "Only by the judge", lambda row: row.judge - row.same),
        ],
        page.nuggets,
    )


def nugget_words_table(page: LabelsPage) -> Table[ComparedNugget]:
    """Every nugget of either side with its importance."""
    return Table(
        f"{page.name}-nugget-words",
        "Text of every nugget; a dash where a side does not have it.",
        columns_from(ComparedNugget),
        [nugget for of_topic in page.nuggets for nugget in of_topic.nuggets],
    )


def labels_facts(page: LabelsPage) -> dict[str, Any]:
    """The agreement of labels as plain values."""
    judged_labels = page.judged_labels
    return {
        **_label_tables_head(page),
        "labels": page.labels,
        "with_confidence": page.confident,
        "mean_confidence": judged_labels.confidence if judged_labels else None,
        "same_scale": judged_labels.same_scale if judged_labels else None,
        "overall": agreement_facts(judged_labels.overall) if judged_labels else None,
        "means_over_topics": coefficients_table(page).facts(),
        "topics": topics_table(page).facts(),
        "differences": differences_table(page).facts(),
        "nuggets": nuggets_table(page).facts(),
        "nugget_words": nugget_words_table(page).facts(),
    }


def topic_facts(page: LabelledTopicPage) -> dict[str, Any]:
    """One topic of a judge's labels as plain values."""
    return {
        **_label_tables_head(page),
        "topic": page.topic_id,
        "agreement": agreement_facts(page.agreement) if page.agreement else None,
        "documents": documents_table(page).facts(),
    }


def agreement_facts(agreement: LabelAgreement) -> dict[str, Any]:
    """An agreement of grades as plain values."""
    return {
        "documents": agreement.documents,
        **{key: getattr(agreement, key) for key in COEFFICIENTS},
        "levels": [asdict(level) for level in agreement.levels],
        "confusion": {
            "grades": list(agreement.confusion.grades),
            "counts": agreement.confusion.counts.tolist(),
        },
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


def _label_tables_head(page: LabelsHead) -> dict[str, Any]:
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
    return page.judged_labels.overall if page.judged_labels else None


def _coefficient(key: str) -> Column[TopicRow]:
    return Column(
        key, lambda row: getattr(row.agreement, key), _SHORT[key], digits=4, title=LABEL_TABLES_NAMES[key]
    )


def _count(key: str, head: str, of: Callable[[NuggetsOfTopic], int]) -> Column[NuggetsOfTopic]:
    return Column(key, of, head, digits=0)


def _labelled(page: LabelsHead) -> Column[Any]:
    """The document, or the run and the labelled part of its answer."""
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
        title="As submitted by the judge; it does not affect any result.",
        shown=Place.EVERYWHERE if is_given else Place.DATA,
    )
