"""One document: its text, what assessors said of it, and where the runs have it for a topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection, Run, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.pages.scores import fields
from leaderboard.pages.topics import judgments
from leaderboard.pages.topics.judgments import Finders, GradesOfTopic, Revision
from leaderboard.services import collections, policy
from leaderboard.services.evaluations.shown import Basis, Shown, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.rankings.stored import Position, positions_of
from leaderboard.services.tasks import topics
from leaderboard.trec.documents.marking import Piece, marked, terms

BANDS = (10, 100, 1000)
"""Ranks at which places are counted."""


@dataclass(frozen=True, slots=True)
class DocumentTopic:
    """A topic the document was judged for: its grades by revision, and who found it."""

    grades: GradesOfTopic
    grade: int | None
    """In the revision that is shown."""
    found: Finders | None
    """None where it is not judged in the revision that is shown."""


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A run that has the document for the chosen topic."""

    run_id: int
    run: str
    team: str
    kind: str
    is_own: bool
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Band:
    """How many runs have the document at these ranks."""

    first: int
    last: int | None
    runs: int


@dataclass(frozen=True, slots=True)
class ChosenTopic:
    """Where the runs have the document for one topic, highest first."""

    topic_id: str
    title: str
    description: str
    grade: int | None
    """In the revision that is shown; None where it is not judged there."""
    of: int
    """Runs that were looked through: the viewer's own where others' are held back."""
    places: tuple[RunPlace, ...]
    bands: tuple[Band, ...]
    without: tuple[tuple[int, str], ...]
    """(id, name) of the runs that do not have it."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A document of a task's collection, its text where it is stored, its judgments and its places."""

    task: str
    slug: str
    docno: str
    title: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    """With the words of the chosen topic marked; empty where the text is not stored."""
    link: str
    collection: str
    stored: int
    """How many documents of the collection are stored."""
    revisions: tuple[Revision, ...]
    topics: tuple[DocumentTopic, ...]
    chosen: ChosenTopic | None
    basis: Basis | None
    grade_names: dict[int, str]
    level: int
    sight: Sight

    @property
    def plain(self) -> str:
        """The text without marks."""
        return "".join(piece.text for piece in self.text)


def document_page(
    session: Session, viewer: Viewer, slug: str, docno: str, topic_id: str | None = None
) -> DocumentPage:
    """One document, read for a topic where one is given or it is judged for one alone.

    Raises NotFound for an unknown topic, and where neither the document's text nor a link, a judgment or
    a place in a ranking is known.
    """
    task, sight = policy.visible_task(session, viewer, slug)
    collection = session.get_one(Collection, task.collection_id)
    shown = shown_edition(session, task, sight)
    revisions: tuple[Revision, ...] = ()
    judged: tuple[DocumentTopic, ...] = ()
    if sight.details:
        revisions = judgments.shown_revisions(session, task)
        judged = _topics(session, viewer, task, sight, shown, revisions, docno)
    if topic_id is None and len(judged) == 1:
        topic_id = judged[0].grades.topic_id
    topic = topics.find(session, task, topic_id) if topic_id is not None else None
    chosen = _chosen(session, viewer, task, sight, shown, topic, judged, docno) if topic else None
    found = collections.texts(session, collection.id, [docno]).get(docno)
    if not (found or judged or collection.link_template or (chosen and chosen.places)):
        raise NotFound(f"Nothing is known here of a document {docno!r}.", docno=docno)
    wanted = terms(topic.title, topic.description) if topic else frozenset()
    return DocumentPage(
        task=task.name,
        slug=task.slug,
        docno=docno,
        title=found.title if found else "",
        heading=marked(found.title, wanted) if found else (),
        text=marked(found.text, wanted) if found else (),
        link=collections.link(collection.link_template, docno),
        collection=collection.name,
        stored=collection.stored,
        revisions=revisions,
        topics=judged,
        chosen=chosen,
        basis=shown.basis,
        grade_names=topics.grade_names(task),
        level=task.level,
        sight=sight,
    )


def _topics(
    session: Session,
    viewer: Viewer,
    task: Task,
    sight: Sight,
    shown: Shown,
    revisions: Sequence[Revision],
    docno: str,
) -> tuple[DocumentTopic, ...]:
    """What the document was judged for, and how many runs found it."""
    grades = judgments.grades_over_time(session, task, revisions, docno)
    field = fields.field(session, viewer, task, sight, shown) if grades else None
    found: dict[str, Finders] = {}
    if field is not None:
        found = judgments.finders_of(session, field.source, field.runs, docno, task.level)
    now = shown.basis.revision_id if shown.basis is not None else None
    return tuple(DocumentTopic(each, each.of(now, revisions), found.get(each.topic_id)) for each in grades)


def _chosen(
    session: Session,
    viewer: Viewer,
    task: Task,
    sight: Sight,
    shown: Shown,
    topic: Topic,
    judged: Sequence[DocumentTopic],
    docno: str,
) -> ChosenTopic:
    """Where the runs that the viewer may look into have the document for a topic."""
    wanted = select(Run).where(Run.task_id == task.id, Run.withdrawn_at.is_(None)).order_by(Run.name)
    runs = {
        run.id: run for run in session.scalars(wanted) if sight.details or policy.owns(viewer, run.team_id)
    }
    dialect = shown.edition.dialect if shown.edition is not None else task.dialect
    positions = positions_of(session, list(runs), topic.topic_id, docno, dialect)
    places = _places(positions, runs, viewer, policy.team_names(session, viewer, task))
    have = {place.run_id for place in places}
    return ChosenTopic(
        topic_id=topic.topic_id,
        title=topic.title,
        description=topic.description,
        grade=next((each.grade for each in judged if each.grades.topic_id == topic.topic_id), None),
        of=len(runs),
        places=places,
        bands=_bands(places),
        without=tuple((run.id, run.name) for run in runs.values() if run.id not in have),
    )


def _places(
    positions: Sequence[Position], runs: Mapping[int, Run], viewer: Viewer, teams: Mapping[int, str]
) -> tuple[RunPlace, ...]:
    places = []
    for each in positions:
        run = runs[each.run_id]
        team, is_own = teams.get(run.team_id, ""), policy.owns(viewer, run.team_id)
        places.append(RunPlace(run.id, run.name, team, run.kind, is_own, each.rank, each.score))
    return tuple(sorted(places, key=lambda place: (place.rank, place.run)))


def _bands(places: Sequence[RunPlace]) -> tuple[Band, ...]:
    """How many of the places are among the first 10, the next up to 100, up to 1,000, and beyond."""
    edges = [0, *BANDS]
    bands = [
        Band(low + 1, high, sum(low < place.rank <= high for place in places))
        for low, high in zip(edges, BANDS, strict=False)
    ]
    deeper = sum(place.rank > BANDS[-1] for place in places)
    return tuple(band for band in (*bands, Band(BANDS[-1] + 1, None, deeper)) if band.runs)
