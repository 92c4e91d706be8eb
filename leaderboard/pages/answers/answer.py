"""What one run says on one topic: segments with the documents they cite, what was cut, where to go on."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Answer as StoredAnswer
from leaderboard.db.tables import Collection as StoredCollection
from leaderboard.db.tables import Run, Task, Topic, Upload
from leaderboard.errors import NotFound
from leaderboard.pages.answers.judged import AnswerLabels, answer_labels
from leaderboard.pages.nuggets.labels import LabelShape
from leaderboard.services import collections, policy, shown_names
from leaderboard.services.answers import store
from leaderboard.services.evaluations.shown import shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.shown_names import ShownNames
from leaderboard.services.tasks import scored_topics, topics
from leaderboard.services.tasks.head import TopicHead
from leaderboard.trec.answers.counting import COUNTS, UNIT_WORDS, Unit
from leaderboard.trec.answers.record import Answer, Segment
from leaderboard.trec.documents.documents import Document

NOTHING = Answer("", "", (), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedDocument:
    """A document that a segment cites; confidence is None where the run gave none."""

    docno: str
    confidence: float | None
    title: str
    is_stored: bool
    """Whether the collection has its text."""
    support: LabelShape | None
    """Its support label; None where nobody labelled any of the answer, and beyond the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSegment:
    """A segment, counted from 1, with its citations in their order."""

    number: int
    text: str
    citations: tuple[CitedDocument, ...]
    borne_out: int | None
    """How many of its citations bear it out, as Auto-ARGUE judged it; None where it did not."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """Another run that answers the topic."""

    run_id: int
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDocument:
    """A cited document to be read beside the answer; link: where it is published, or empty."""

    docno: str
    title: str
    text: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPage(TopicHead):
    """One run's answer to one topic; segments are those that count, cut_off those beyond the limit."""

    run_id: int
    run: str
    team: str
    is_own: bool
    excluded: str
    is_answered: bool
    segments: tuple[ShownSegment, ...]
    cut_off: tuple[ShownSegment, ...]
    references: tuple[str, ...]
    length: int
    """Of the segments that count, in the unit."""
    length_as_sent: int
    unit: str
    limit: int | None
    """The limit that held when the run came; None: there was none."""
    labels: AnswerLabels
    known: frozenset[str]
    """Of what is cited and referred to, the documents that have a page: with a text, or a link elsewhere."""
    opened: OpenedDocument | None
    previous: str | None
    following: str | None
    run_before: NextRun | None
    run_after: NextRun | None

    @property
    def citations(self) -> int:
        """Citations of all segments."""
        return sum(len(segment.citations) for segment in self.segments)

    @property
    def uncited(self) -> int:
        """Segments that cite nothing."""
        return sum(not segment.citations for segment in self.segments)


def answer_page(
    session: Session, viewer: Viewer, run_id: int, topic_id: str, docno: str | None = None
) -> AnswerPage:
    """The answer, with a cited document opened where docno is one.

    Raises NotFound for an unknown run or topic, a run of rankings and, while judgments are held back, for the
    runs of others.
    """
    run, task, sight, topic = _visible(session, viewer, run_id, topic_id)
    answer = store.of_topic(session, run.id, topic_id)
    counted, sent = answer or NOTHING, (answer.segments + answer.cut_off if answer else ())
    cited = {citation.docno for segment in sent for citation in segment.citations} | set(counted.references)
    documents = collections.texts(session, task.collection_id, sorted(cited))
    unit, limit = _rules(session, run, topic_id)
    names = shown_names.shown_names(session, viewer, task)
    shown = shown_edition(session, task, sight)
    labels = answer_labels(session, shown, sight, run.ranking_sha256, topic_id, answer)
    before, after = topics.neighbours(session, task, topic)
    earlier, later = _next_runs(session, viewer, run, sight, names, topic_id)
    segments = tuple(_segments(sent, documents, labels, len(counted.segments)))
    return AnswerPage(
        of=task,
        sight=sight,
        basis=shown.basis,
        run_id=run.id,
        run=names.run(run.id, run.name),
        team=names.team(run.team_id),
        is_own=policy.owns(viewer, run.team_id),
        topic=topic,
        excluded=scored_topics.why_left_out(topic.excluded, sight),
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
        previous=before,
        following=after,
        run_before=earlier,
        run_after=later,
    )


def _known(
    session: Session, task: Task, cited: Collection[str], documents: Mapping[str, Document]
) -> frozenset[str]:
    template = session.get_one(StoredCollection, task.collection_id).link_template
    return frozenset(cited if template else documents)


def _visible(session: Session, viewer: Viewer, run_id: int, topic_id: str) -> tuple[Run, Task, Sight, Topic]:
    run, task, sight = policy.visible_run(session, viewer, run_id)
    if task.kind != "answers" or not (sight.details or policy.owns(viewer, run.team_id)):
        raise NotFound(f"There is no run {run_id} with answers.", run=run_id)
    return run, task, sight, topics.find(session, task, topic_id)


def _rules(session: Session, run: Run, topic_id: str) -> tuple[Unit, int | None]:
    """How the run's answers were counted, and the topic's limit, when it was checked."""
    report = session.scalar(select(Upload.report).where(Upload.id == run.upload_id))
    facts = (report or {}).get("facts", {})
    limit = facts.get("limits", {}).get(topic_id, facts.get("limit"))
    return facts.get("length", {}).get("unit", "words"), limit


def _segments(
    segments: Sequence[Segment], documents: Mapping[str, Document], labels: AnswerLabels, counted: int
) -> Iterator[ShownSegment]:
    """The segments with their labels, which only the first ones have: those that count."""
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
    session: Session, viewer: Viewer, run: Run, sight: Sight, names: ShownNames, topic_id: str
) -> tuple[NextRun | None, NextRun | None]:
    """The runs before and after this one that answer the topic, by their shown names, in its phase."""
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
    seen = [row for row in rows if sight.details or policy.owns(viewer, row.team_id)]
    ordered = sorted((NextRun(row.id, names.run(row.id, row.name)) for row in seen), key=_by_name)
    return _around(ordered, run.id)


def _by_name(run: NextRun) -> tuple[str, int]:
    return run.run, run.run_id


def _around(runs: Collection[NextRun], run_id: int) -> tuple[NextRun | None, NextRun | None]:
    known = list(runs)
    at = next((place for place, run in enumerate(known) if run.run_id == run_id), None)
    if at is None:
        return None, known[0] if known else None
    return (known[at - 1] if at else None), (known[at + 1] if at + 1 < len(known) else None)
