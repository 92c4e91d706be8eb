"""One document: its text, its judgments, and its rank in each run for a topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores import table as scores_table
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.tables import Collection, Run, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.qrels.page.topics import judgments
from leaderboard.qrels.page.topics.judgments import (
    DocumentFinders,
    GradesOfTopic,
    Revision,
    finder_facts,
    judged_topic,
)
from leaderboard.scoring.ops import collections, rankings, scored_topics
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, shown_edition
from leaderboard.scoring.ops.rankings import DocumentPosition, positions_of
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import TaskHead, TopicHead
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from
from leaderboard.trec.documents.marking import Piece, marked, terms

BANDS = (10, 100, 1000)
"""Rank limits of the bands."""


@dataclass(frozen=True, slots=True)
class DocumentTopic:
    """A topic the document was judged for: its grades by revision, and the runs that retrieve it."""

    grades: GradesOfTopic
    grade: int | None
    """In the revision that is shown."""
    finders: DocumentFinders | None
    """None where it is not judged in the revision that is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace(RunName):
    """A run that has the document for the chosen topic."""

    rank: Annotated[int, Shown(shown=Place.PAGE)]
    score: float


@dataclass(frozen=True, slots=True)
class DocumentBand:
    """The number of runs that retrieve the document at these ranks."""

    first: int
    last: int | None
    runs: int


@dataclass(frozen=True, slots=True)
class ChosenTopic:
    """The document's rank in each run for one topic, best first."""

    topic_id: str
    title: str
    description: str
    grade: int | None
    """In the revision that is shown; None where it is not judged there."""
    of: int
    """The number of runs searched: only the viewer's own if others' are hidden."""
    places: tuple[RunPlace, ...]
    bands: tuple[DocumentBand, ...]
    without: tuple[tuple[int, str], ...]
    """(id, name) of the runs that do not retrieve it."""
    is_left_out: bool
    """Whether it is left out of every ranking of the topic, so that it has no rank in any run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage(TaskHead):
    """A document of a task's collection, its text where it is stored, its judgments and its places."""

    docno: str
    title: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    """With the words of the chosen topic marked; empty where the text is not stored."""
    link: str
    collection: str
    stored: int
    """The number of stored documents of the collection."""
    revisions: tuple[Revision, ...]
    topics: tuple[DocumentTopic, ...]
    chosen: ChosenTopic | None
    is_for_topic: bool
    """Whether the reader chose the topic, so that the page's files contain its runs."""
    grade_names: dict[int, str]

    @property
    def revision_columns(self) -> dict[str, int]:
        """Key of each revision's column -> its index among the revisions; empty for a single revision."""
        if len(self.revisions) < 2:
            return {}
        return {f"revision {revision.number}": at for at, revision in enumerate(self.revisions)}

    @property
    def plain(self) -> str:
        """The text without marks."""
        return "".join(piece.text for piece in self.text)


def document_page(
    session: Session, viewer: Viewer, slug: str, docno: str, topic_id: str | None = None
) -> DocumentPage:
    """One document, read for a topic where one is given or it is judged for one alone.

    Raises NotFound for an unknown topic, and where neither the document's text nor a link, a judgment, a
    place in a ranking nor that it is left out is known.
    """
    task, access = policy.visible_task(session, viewer, slug)
    collection = session.get_one(Collection, task.collection_id)
    shown = shown_edition(session, task, access)
    revisions: tuple[Revision, ...] = ()
    judged: tuple[DocumentTopic, ...] = ()
    if access.details:
        revisions = judgments.shown_revisions(session, task)
        judged = _topics(session, viewer, task, access, shown, revisions, docno)
    is_for_topic = topic_id is not None
    if topic_id is None and len(judged) == 1:
        topic_id = judged[0].grades.topic_id
    topic = scored_topics.find_topic(session, task, topic_id) if topic_id is not None else None
    chosen = _chosen(session, viewer, task, access, shown, topic, judged, docno) if topic else None
    stored = collections.texts(session, collection.id, [docno]).get(docno)
    is_met = chosen is not None and (chosen.places or chosen.is_left_out)
    if not (stored or judged or collection.link_template or is_met):
        raise NotFound(f"This task has no document {docno!r}.", docno=docno)
    words = terms(topic.title, topic.description) if topic else frozenset()
    return DocumentPage(
        of=task,
        docno=docno,
        title=stored.title if stored else "",
        heading=marked(stored.title, words) if stored else (),
        text=marked(stored.text, words) if stored else (),
        link=collections.link(collection.link_template, docno),
        collection=collection.name,
        stored=collection.stored,
        revisions=revisions,
        topics=judged,
        chosen=chosen,
        is_for_topic=is_for_topic,
        basis=shown.basis,
        grade_names=scored_topics.grade_names(task),
        access=access,
    )


def facts(page: DocumentPage) -> dict[str, Any]:
    """The document with its judgments and places as plain values."""
    chosen = page.chosen
    return {
        "task": page.slug,
        "docno": page.docno,
        "title": page.title,
        "text": page.plain,
        "link": page.link,
        "revision": page.basis.revision if page.basis else None,
        "judgments": {row.grades.topic_id: row.grade for row in page.topics if row.grade is not None},
        "revisions": {
            row.grades.topic_id: {
                str(revision.number): then.grade
                for revision, then in zip(page.revisions, row.grades.grades, strict=True)
            }
            for row in page.topics
        },
        "topic": chosen.topic_id if chosen else None,
        "grade": chosen.grade if chosen else None,
        "runs": chosen.of if chosen else None,
        **({"left_out": True} if chosen and chosen.is_left_out else {}),
        "places": [
            {
                "run": place.name,
                "run_id": place.run_id,
                "team": place.team,
                "rank": place.rank,
                "score": place.score,
            }
            for place in (chosen.places if chosen else ())
        ],
    }


def table(page: DocumentPage) -> Table[Any]:
    """The places for the topic that was chosen, else the judgments."""
    return places_table(page) if page.is_for_topic else judgments_table(page)


def places_table(page: DocumentPage) -> Table[RunPlace]:
    """The table of the document's ranks in the runs for the chosen topic."""
    chosen = page.chosen
    places = chosen.places if chosen else ()
    topic, of = (chosen.topic_id, chosen.of) if chosen else ("", 0)
    return Table(
        f"{page.slug}-{page.docno}",
        (
            f"Ranks of document {page.docno} in {len(places):,} of {of:,} runs for topic {topic} of "
            f"{page.task}."
        ),
        columns_from(
            RunPlace,
            "rank name run_id team",
            Column("rank", lambda row: row.rank, "Rank", digits=0, shown=~Place.PAGE),
            "score",
        ),
        places,
    )


def judgments_table(page: DocumentPage) -> Table[DocumentTopic]:
    """The judgments by topic and revision; for readers only the grades of each revision."""
    alone = Place.EVERYWHERE if not page.revision_columns else ~Place.PAGE
    return Table(
        f"{page.slug}-{page.docno}",
        f"Grades of document {page.docno} in {page.task}, by topic and qrels revision.",
        [
            Column("topic", lambda row: row.grades.topic_id, "Topic"),
            Column("title", lambda row: row.grades.title, "Title"),
            Column("grade", lambda row: row.grade, "Grade", shown=alone),
            *(_finders(key) for key in ("runs", "best_rank", "best_run")),
            *(_revision(page, key, at) for key, at in page.revision_columns.items()),
            Column("found", lambda row: row.finders, "Runs", shown=Place.PAGE),
        ],
        page.topics,
    )


FILES = Files(facts=facts, tables={"document": table, "judgments": judgments_table, "runs": places_table})


def _finders(key: str) -> Column[DocumentTopic]:
    head = key.replace("_", " ").capitalize()
    return Column(key, lambda row: finder_facts(row.finders)[key], head, shown=~Place.PAGE)


def _revision(page: DocumentPage, key: str, at: int) -> Column[DocumentTopic]:
    return Column(
        key,
        lambda row: row.grades.grades[at].grade,
        key.capitalize(),
        title=page.revisions[at].note,
        group="revision",
    )


def _topics(
    session: Session,
    viewer: Viewer,
    task: Task,
    access: TaskAccess,
    shown: ShownEdition,
    revisions: Sequence[Revision],
    docno: str,
) -> tuple[DocumentTopic, ...]:
    """The topics the document was judged for, and the number of runs that retrieve it."""
    grades = judgments.grades_over_time(session, task, revisions, docno)
    field = scores_table.field(session, viewer, task, access, shown) if grades else None
    finders: dict[str, DocumentFinders] = {}
    if field is not None:
        finders = judgments.finders_of(session, field.source, field.runs, docno, task.level)
    now = shown.basis.revision_id if shown.basis is not None else None
    return tuple(DocumentTopic(row, row.of(now, revisions), finders.get(row.topic_id)) for row in grades)


def _chosen(
    session: Session,
    viewer: Viewer,
    task: Task,
    access: TaskAccess,
    shown: ShownEdition,
    topic: Topic,
    judged: Sequence[DocumentTopic],
    docno: str,
) -> ChosenTopic:
    """The document's ranks for a topic in the runs visible to the viewer."""
    kept = select(Run).where(Run.task_id == task.id, Run.withdrawn_at.is_(None)).order_by(Run.id)
    runs = {
        run.id: run for run in session.scalars(kept) if access.details or policy.owns(viewer, run.team_id)
    }
    dialect = shown.edition.dialect if shown.edition is not None else task.dialect
    names = shown_names.shown_names(session, viewer, task)
    gone = _left_out(session, access, shown, topic)
    positions = positions_of(session, list(runs), topic.topic_id, docno, dialect, gone)
    places = _places(positions, runs, viewer, names)
    have = {place.run_id for place in places}
    return ChosenTopic(
        topic_id=topic.topic_id,
        title=topic.title,
        description=topic.description,
        grade=next((row.grade for row in judged if row.grades.topic_id == topic.topic_id), None),
        of=len(runs),
        places=places,
        bands=_bands(places),
        without=tuple(
            sorted(
                ((run.id, names.run(run.id, run.name)) for run in runs.values() if run.id not in have),
                key=itemgetter(1),
            )
        ),
        is_left_out=docno.encode() in gone,
    )


def _left_out(session: Session, access: TaskAccess, shown: ShownEdition, topic: Topic) -> frozenset[bytes]:
    """The documents that the judgments leave out of a topic, for viewers who can see the judgments."""
    if shown.source is None or not (access.details and shown.source.leaves_out):
        return frozenset()
    return rankings.left_out_of(rankings.compiled_judgments(session, shown.source), topic.topic_id)


def _places(
    positions: Sequence[DocumentPosition], runs: Mapping[int, Run], viewer: Viewer, names: ShownNames
) -> tuple[RunPlace, ...]:
    places = []
    for position in positions:
        run = runs[position.run_id]
        places.append(
            RunPlace(
                run_id=run.id,
                name=names.run(run.id, run.name),
                team=names.team(run.team_id),
                kind=run.kind,
                is_own=policy.owns(viewer, run.team_id),
                rank=position.rank,
                score=position.score,
            )
        )
    return tuple(sorted(places, key=lambda place: (place.rank, place.name)))


def _bands(places: Sequence[RunPlace]) -> tuple[DocumentBand, ...]:
    """The number of ranks up to 10, up to 100, up to 1,000, and beyond."""
    edges = [0, *BANDS]
    bands = [
        DocumentBand(low + 1, high, sum(low < place.rank <= high for place in places))
        for low, high in zip(edges, BANDS, strict=False)
    ]
    deeper = sum(place.rank > BANDS[-1] for place in places)
    return tuple(band for band in (*bands, DocumentBand(BANDS[-1] + 1, None, deeper)) if band.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document with the words of the topic marked; title and text are empty where they are not stored."""

    docno: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    link: str
    grade: int | None
    """None where it is not judged for the topic, or judgments are hidden."""
    finders: DocumentFinders | None
    is_left_out: bool
    """Whether it is left out of every ranking of the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsPage(TopicHead):
    """Documents of a task's collection as read for a topic, the highest grade first."""

    collection: str
    is_judged: bool
    """Whether grades for the topic are shown."""
    documents: tuple[ReadDocument, ...]
    grade_names: dict[int, str]


def texts_page(
    session: Session, viewer: Viewer, slug: str, docnos: Sequence[str], topic_id: str
) -> TextsPage:
    """The documents with these ids, for a topic; unknown ids have no text and no grade.

    Raises NotFound for an unknown task or topic.
    """
    task, access = policy.visible_task(session, viewer, slug)
    topic = scored_topics.find_topic(session, task, topic_id)
    collection = session.get_one(Collection, task.collection_id)
    shown = shown_edition(session, task, access)
    field = scores_table.field(session, viewer, task, access, shown)
    judged = judged_topic(session, field.source, field.runs, topic_id, task.level) if field else None
    gone = rankings.left_out_of(judged.compiled, topic_id) if judged else frozenset()
    finders = dict(zip(judged.docnos, judged.finders, strict=True)) if judged else {}
    grades = judged.grades_in(docnos) if judged else [None] * len(docnos)
    stored = collections.texts(session, collection.id, docnos)
    words = terms(topic.title, topic.description)
    documents = [
        ReadDocument(
            docno=docno,
            heading=marked(stored[docno].title, words) if docno in stored else (),
            text=marked(stored[docno].text, words) if docno in stored else (),
            link=collections.link(collection.link_template, docno),
            grade=grade,
            finders=finders.get(docno),
            is_left_out=docno.encode() in gone,
        )
        for docno, grade in zip(docnos, grades, strict=True)
    ]
    return TextsPage(
        of=task,
        topic=topic,
        collection=collection.name,
        is_judged=judged is not None,
        documents=tuple(sorted(documents, key=_highest_first)),
        basis=shown.basis,
        grade_names=scored_topics.grade_names(task),
        access=access,
    )


def _highest_first(document: ReadDocument) -> tuple[bool, int]:
    return document.grade is None, -(document.grade or 0)
