"""Answers of runs, for readers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers
from leaderboard.answers.ops.nuggets import scoring
from leaderboard.answers.page.nuggets.topic import (
    OF_CITATIONS,
    OF_NUGGETS,
    LabelShape,
    in_order,
    labels_of,
    maker,
)
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.tables import Answer as StoredAnswer
from leaderboard.db.tables import Collection as StoredCollection
from leaderboard.db.tables import Run, Task, Upload
from leaderboard.errors import NotFound
from leaderboard.measures.answers.judged import UNLABELLED
from leaderboard.scoring.ops import collections, scored_topics
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, shown_edition
from leaderboard.scoring.ops.scored_topics import PlacedTopic, RunOnTopic
from leaderboard.tables.record import Column, Files, Table
from leaderboard.trec.answers.record import COUNTS, UNIT_WORDS, Answer, Segment, Unit
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.nuggets.packing import PackedAnswers


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledNugget:
    """A nugget of the topic with its label in this answer, a key of OF_NUGGETS."""

    text: str
    importance: str
    label: str

    @property
    def is_vital(self) -> bool:
        """Whether the nugget is vital."""
        return self.importance == "vital"

    @property
    def shape(self) -> LabelShape:
        """The label as displayed."""
        return OF_NUGGETS[self.label]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLabels:
    """The labels of an answer, empty without judgments and while these are hidden.

    citations: for each segment that counts, the labels of its citations (keys of OF_CITATIONS), None without
    labels of the answer. borne_out: for each segment judged by Auto-ARGUE, the number of supporting
    citations, else empty. Makers are text, empty for missing parts.
    """

    nuggets: tuple[LabelledNugget, ...] = ()
    citations: tuple[tuple[int, ...], ...] | None = None
    borne_out: tuple[int, ...] = ()
    nuggets_by: str = ""
    labels_by: str = ""
    support_by: str = ""

    @property
    def made_by(self) -> tuple[tuple[str, str], ...]:
        """The makers of the existing parts."""
        parts = (
            ("nuggets", self.nuggets_by),
            ("assignments", self.labels_by),
            ("support labels", self.support_by),
        )
        return tuple((part, maker) for part, maker in parts if maker)

    def of_citation(self, segment: int, citation: int) -> LabelShape | None:
        """The label of a citation by indices from 0; None without labels of the answer."""
        if self.citations is None:
            return None
        labels = self.citations[segment] if segment < len(self.citations) else ()
        return OF_CITATIONS[labels[citation] if citation < len(labels) else UNLABELLED]


NO_LABELS = AnswerLabels()


def answer_labels(
    session: Session, shown: ShownEdition, access: TaskAccess, run: str, topic: str, answer: Answer | None
) -> AnswerLabels:
    """Labels of an answer in the shown edition's judgments; run: digest of its answers; one statement."""
    if shown.edition is None or not access.details:
        return NO_LABELS
    judged = scoring.of_revision(session, shown.edition.revision_id)
    argued = judged.judgments.argued.cells.get((run, topic))
    segments = answer.segments if answer is not None else ()
    sentences = argued.sentences if argued is not None else ()
    return AnswerLabels(
        nuggets=tuple(_nuggets(judged, run, topic, answer)),
        citations=judged.judgments.support.of(run, topic, answer),
        # If an answer was split differently, sentences cannot be matched to segments.
        borne_out=tuple(sentence.supporting for sentence in sentences)
        if len(sentences) == len(segments)
        else (),
        nuggets_by=maker(judged, "nuggets"),
        labels_by=maker(judged, "assignments", "argue"),
        support_by=maker(judged, "support", "argue"),
    )


def _nuggets(judged: PackedAnswers, run: str, topic: str, answer: Answer | None) -> Sequence[LabelledNugget]:
    given = judged.judgments.nuggets.topics.get(topic, ())
    labels = labels_of(judged.judgments, run, topic, answer)
    return [
        LabelledNugget(text=given[place].text, importance=given[place].importance, label=labels[place])
        for place in in_order(given)
    ]


NOTHING = Answer("", "", (), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedDocument:
    """A document cited by a segment; confidence is None if the run gave none."""

    docno: str
    confidence: float | None
    title: str
    is_stored: bool
    """Whether its text is stored."""
    support: LabelShape | None
    """Its support label; None without labels of the answer, and beyond the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSegment:
    """A segment, counted from 1, with its citations in their order."""

    number: int
    text: str
    citations: tuple[CitedDocument, ...]
    borne_out: int | None
    """Number of supporting citations as judged by Auto-ARGUE; None if not judged."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """Another run that answers the topic."""

    run_id: int
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDocument:
    """A cited document shown with the answer; link: its source, or empty."""

    docno: str
    title: str
    text: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPage(RunOnTopic):
    """One run's answer to one topic; segments are those that count, cut_off those beyond the limit."""

    is_answered: bool
    segments: tuple[ShownSegment, ...]
    cut_off: tuple[ShownSegment, ...]
    references: tuple[str, ...]
    length: int
    """Length of the segments that count, in the unit."""
    length_as_sent: int
    unit: str
    limit: int | None
    """The limit at the time of submission; None: no limit."""
    labels: AnswerLabels
    known: frozenset[str]
    """Cited or referenced documents that have a page, with stored text or an external link."""
    opened: OpenedDocument | None
    run_before: NextRun | None
    run_after: NextRun | None

    @property
    def citations(self) -> int:
        """Number of citations in all segments."""
        return sum(len(segment.citations) for segment in self.segments)

    @property
    def uncited(self) -> int:
        """Number of segments without citations."""
        return sum(not segment.citations for segment in self.segments)


def answer_page(
    session: Session, viewer: Viewer, run_id: int, topic_id: str, docno: str | None = None
) -> AnswerPage:
    """The answer page, with a cited document opened if docno is one.

    Raises NotFound for an unknown run or topic, a run of rankings and, while judgments are hidden, for runs
    of other teams.
    """
    run, task, access, topic = _visible(session, viewer, run_id, topic_id)
    answer = answers.of_topic(session, run.id, topic_id)
    counted, sent = answer or NOTHING, (answer.segments + answer.cut_off if answer else ())
    cited = {citation.docno for segment in sent for citation in segment.citations} | set(counted.references)
    documents = collections.texts(session, task.collection_id, sorted(cited))
    unit, limit = _rules(session, run, topic_id)
    names = shown_names.shown_names(session, viewer, task)
    shown = shown_edition(session, task, access)
    labels = answer_labels(session, shown, access, run.ranking_sha256, topic_id, answer)
    earlier, later = _next_runs(session, viewer, run, access, names, topic_id)
    segments = tuple(_segments(sent, documents, labels, len(counted.segments)))
    return AnswerPage(
        **scored_topics.task_head(task, topic, access, shown),
        **scored_topics.of_run(viewer, names, run),
        is_answered=answer is not None,
        segments=segments[: len(counted.segments)],
        cut_off=segments[len(counted.segments) :],
        references=counted.references,
        length=COUNTS[unit](counted.texts),
        length_as_sent=COUNTS[unit]([segment.text for segment in sent]),
        unit=UNIT_WORDS[unit],
        limit=limit,
        labels=labels,
        known=_known(session, task, cited, documents),
        opened=_opened(session, task, documents.get(docno)) if docno in cited else None,
        run_before=earlier,
        run_after=later,
    )


def _known(
    session: Session, task: Task, cited: Collection[str], documents: Mapping[str, Document]
) -> frozenset[str]:
    template = session.get_one(StoredCollection, task.collection_id).link_template
    return frozenset(cited if template else documents)


def _visible(
    session: Session, viewer: Viewer, run_id: int, topic_id: str
) -> tuple[Run, Task, TaskAccess, PlacedTopic]:
    run, task, access = policy.visible_run(session, viewer, run_id)
    if task.kind != "answers" or not (access.details or policy.owns(viewer, run.team_id)):
        raise NotFound(f"No run {run_id} with answers exists.", run=run_id)
    return run, task, access, scored_topics.placed_topic(session, task, topic_id)


def _rules(session: Session, run: Run, topic_id: str) -> tuple[Unit, int | None]:
    """The counting unit and the topic's limit as of submission."""
    report = session.scalar(select(Upload.report).where(Upload.id == run.upload_id))
    facts = (report or {}).get("facts", {})
    limit = facts.get("limits", {}).get(topic_id, facts.get("limit"))
    return facts.get("length", {}).get("unit", "words"), limit


def _segments(
    segments: Sequence[Segment], documents: Mapping[str, Document], labels: AnswerLabels, counted: int
) -> Iterator[ShownSegment]:
    """The segments with labels; only segments that count have labels."""
    for at, segment in enumerate(segments):
        cited = (
            CitedDocument(
                docno=citation.docno,
                confidence=citation.confidence,
                title=documents[citation.docno].title if citation.docno in documents else "",
                is_stored=citation.docno in documents,
                support=labels.of_citation(at, place) if at < counted else None,
            )
            for place, citation in enumerate(segment.citations)
        )
        yield ShownSegment(
            number=at + 1,
            text=segment.text,
            citations=tuple(cited),
            borne_out=labels.borne_out[at] if at < len(labels.borne_out) else None,
        )


def _opened(session: Session, task: Task, document: Document | None) -> OpenedDocument | None:
    if document is None:
        return None
    template = session.get_one(StoredCollection, task.collection_id).link_template
    link = collections.link(template, document.docno)
    return OpenedDocument(docno=document.docno, title=document.title, text=document.text, link=link)


def _next_runs(
    session: Session, viewer: Viewer, run: Run, access: TaskAccess, names: ShownNames, topic_id: str
) -> tuple[NextRun | None, NextRun | None]:
    """The previous and next run of the phase that answer the topic, by displayed name."""
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id)
        .join(StoredAnswer, StoredAnswer.run_id == Run.id)
        .where(
            Run.task_id == run.task_id,
            Run.phase_id == run.phase_id,
            Run.withdrawn_at.is_(None) | (Run.id == run.id),
            StoredAnswer.topic_id == topic_id,
        )
    ).all()
    seen = [row for row in rows if access.details or policy.owns(viewer, row.team_id)]
    ordered = sorted((NextRun(row.id, names.run(row.id, row.name)) for row in seen), key=_by_name)
    return _around(ordered, run.id)


def _by_name(run: NextRun) -> tuple[str, int]:
    return run.run, run.run_id


def _around(runs: Collection[NextRun], run_id: int) -> tuple[NextRun | None, NextRun | None]:
    next_runs = list(runs)
    at = next((place for place, run in enumerate(next_runs) if run.run_id == run_id), None)
    if at is None:
        return None, next_runs[0] if next_runs else None
    return (next_runs[at - 1] if at else None), (next_runs[at + 1] if at + 1 < len(next_runs) else None)


@dataclass(frozen=True, slots=True)
class CitationRow:
    """A segment and one of its citations, counted from 1; None and 0 without citations."""

    segment: ShownSegment
    place: int
    cited: CitedDocument | None
    counts: bool
    """False beyond the limit."""


def answer_facts(page: AnswerPage) -> dict[str, Any]:
    """The answer as plain values."""
    return {
        "task": page.slug,
        "run": page.run,
        "run_id": page.run_id,
        "topic": page.topic_id,
        "is_answered": page.is_answered,
        "length": page.length,
        "length_as_sent": page.length_as_sent,
        "unit": page.unit,
        "limit": page.limit,
        "segments": [_segment(segment) for segment in page.segments],
        "cut_off": [_segment(segment) for segment in page.cut_off],
        "references": list(page.references),
        "nuggets": [
            {"text": nugget.text, "importance": nugget.importance, "label": nugget.label}
            for nugget in page.labels.nuggets
        ],
        "nuggets_by": page.labels.nuggets_by or None,
        "labels_by": page.labels.labels_by or None,
        "support_by": page.labels.support_by or None,
    }


def answer_table(page: AnswerPage) -> Table[CitationRow]:
    """Table of the segments in order, with their citations."""
    return Table(
        f"{page.run}-{page.topic_id}-answer",
        f"The answer of run {page.run} to topic {page.topic_id} of {page.task}, one row per citation.",
        [
            Column("segment", lambda row: row.segment.number, "Segment", digits=0),
            Column("text", lambda row: row.segment.text, "Text"),
            Column("citation", lambda row: row.place or None, "Citation", digits=0),
            Column("docno", lambda row: row.cited.docno if row.cited else None, "Document"),
            Column(
                "confidence", lambda row: row.cited.confidence if row.cited else None, "Confidence", digits=4
            ),
            Column("support", _support, "Support"),
            Column("counts", lambda row: row.counts, "Counts"),
        ],
        tuple(_rows(page)),
    )


def nuggets(page: AnswerPage) -> Table[LabelledNugget]:
    """Table of the topic's nuggets, vital ones first, with the answer's labels."""
    return Table(
        f"{page.run}-{page.topic_id}-nuggets",
        f"Nuggets of topic {page.topic_id} of {page.task} in the answer of run {page.run}.",
        [
            Column("nugget", lambda row: row.text, "Nugget"),
            Column("importance", lambda row: row.importance, "Importance"),
            Column("label", lambda row: row.label, "Label", words=lambda row: row.shape.word),
        ],
        page.labels.nuggets,
    )


ANSWER_FILES = Files(facts=answer_facts, tables={"answer": answer_table, "nuggets": nuggets})


def _support(row: CitationRow) -> str | None:
    return row.cited.support.word if row.cited and row.cited.support else None


def _rows(page: AnswerPage) -> Iterator[CitationRow]:
    for segments, counts in ((page.segments, True), (page.cut_off, False)):
        for segment in segments:
            if not segment.citations:
                yield CitationRow(segment, 0, None, counts)
            for place, cited in enumerate(segment.citations, start=1):
                yield CitationRow(segment, place, cited, counts)


def _segment(segment: ShownSegment) -> dict[str, Any]:
    return {
        "text": segment.text,
        "borne_out": segment.borne_out,
        "citations": [
            {
                "docno": cited.docno,
                "confidence": cited.confidence,
                "title": cited.title,
                "support": cited.support.word if cited.support else None,
            }
            for cited in segment.citations
        ],
    }
