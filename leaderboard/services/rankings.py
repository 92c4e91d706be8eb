"""One run's ranking for one topic, with grades and what it missed; and one document."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection, Judgment, RankingBlock, RankingIndex, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import collections, policy, topics
from leaderboard.services.boards import MeasureColumn
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs import topic_scores
from leaderboard.services.shown_editions import Basis, shown_edition
from leaderboard.services.topics import JudgedDocument
from leaderboard.trec.align import order
from leaderboard.trec.packing import read_index, unpack_topic
from leaderboard.trec.runs import Ranking

SNIPPET = 240


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document of the ranking; grade is None where it is not judged or judgments are held back."""

    rank: int
    docno: str
    score: float
    grade: int | None
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class RankingPage:
    """One run's ranking for one topic; shown of total documents are in rows."""

    task: str
    slug: str
    run_id: int
    run: str
    team: str
    topic_id: str
    title: str
    description: str
    scores: tuple[tuple[MeasureColumn, float], ...]
    """What the run got on this topic; empty where scores are held back."""
    basis: Basis | None
    dialect: int
    grade_names: dict[int, str]
    level: int
    total: int
    rows: tuple[RankedDocument, ...]
    missed: tuple[JudgedDocument, ...]
    previous: str | None
    following: str | None
    sight: Sight


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A document of a task's collection, its text where it is stored, and its judgments."""

    task: str
    slug: str
    docno: str
    title: str
    text: str
    link: str
    collection: str
    judgments: tuple[tuple[str, str, int], ...]
    """(topic id, topic title, grade)."""
    basis: Basis | None
    grade_names: dict[int, str]
    level: int
    sight: Sight


def ranking_page(
    session: Session, viewer: Viewer, run_id: int, topic_id: str, limit: int | None = None
) -> RankingPage:
    """The first `limit` documents (all where None) in the order they were scored in.

    Raises NotFound for an unknown run or topic, and, while judgments are held back, for the runs of others.
    """
    run, task, sight = policy.visible_run(session, viewer, run_id)
    if not (sight.details or policy.owns(viewer, run.team_id)):
        raise NotFound(f"There is no run {run_id}.", run=run_id)
    topic = topics.find(session, task, topic_id)
    shown = shown_edition(session, task, sight)
    dialect = shown.edition.dialect if shown.edition is not None else task.dialect
    ranking = _ranking(session, run.id, topic_id)
    places = order(ranking, dialect).tolist() if ranking is not None else []
    grades: dict[str, int] = {}
    scores: tuple[tuple[MeasureColumn, float], ...] = ()
    if shown.edition is not None and sight.details:
        grades = grades_of(session, shown.edition.revision_id, topic_id)
        if run.withdrawn_at is None:
            scores = topic_scores(session, run.id, shown.edition, topic_id)
    docnos = [ranking.docnos[place].decode() for place in places] if ranking is not None else []
    rows = _rows(session, task, docnos, ranking, places, grades, limit)
    before, after = topics.neighbours(session, task, topic)
    return RankingPage(
        task=task.name,
        slug=task.slug,
        run_id=run.id,
        run=run.name,
        team=policy.team_names(session, viewer, task).get(run.team_id, ""),
        topic_id=topic.topic_id,
        title=topic.title,
        description=topic.description,
        scores=scores,
        basis=shown.basis,
        dialect=dialect,
        grade_names=topics.grade_names(task),
        level=task.level,
        total=len(docnos),
        rows=rows,
        missed=_missed(session, task, set(docnos), grades),
        previous=before,
        following=after,
        sight=sight,
    )


def document_page(session: Session, viewer: Viewer, slug: str, docno: str) -> DocumentPage:
    """One document; raises NotFound where neither its text nor a link nor a judgment is known."""
    task, sight = policy.visible_task(session, viewer, slug)
    collection = session.get_one(Collection, task.collection_id)
    shown = shown_edition(session, task, sight)
    found = collections.texts(session, collection.id, [docno]).get(docno)
    judged: tuple[tuple[str, str, int], ...] = ()
    if shown.edition is not None and sight.details:
        judged = _judgments_of(session, task, shown.edition.revision_id, docno)
    if found is None and not judged and not collection.link_template:
        raise NotFound(f"Nothing is known here of a document {docno!r}.", docno=docno)
    return DocumentPage(
        task=task.name,
        slug=task.slug,
        docno=docno,
        title=found.title if found else "",
        text=found.text if found else "",
        link=collections.link(collection.link_template, docno),
        collection=collection.name,
        judgments=judged,
        basis=shown.basis,
        grade_names=topics.grade_names(task),
        level=task.level,
        sight=sight,
    )


def as_json(page: RankingPage) -> dict[str, Any]:
    """The ranking as plain values."""
    return {
        "task": page.slug,
        "run": page.run,
        "run_id": page.run_id,
        "topic": page.topic_id,
        "revision": page.basis.revision if page.basis else None,
        "dialect": page.dialect,
        "scores": {column.key: value for column, value in page.scores},
        "documents": [
            {"rank": row.rank, "docno": row.docno, "score": row.score, "grade": row.grade}
            for row in page.rows
        ],
        "missed": [{"docno": each.docno, "grade": each.grade} for each in page.missed],
    }


def table(page: RankingPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the ranking, for CSV."""
    return ["rank", "docno", "score", "grade", "title"], [
        [row.rank, row.docno, row.score, row.grade, row.title] for row in page.rows
    ]


def document_json(page: DocumentPage) -> dict[str, Any]:
    """The document with its judgments as plain values."""
    return {
        "task": page.slug,
        "docno": page.docno,
        "title": page.title,
        "text": page.text,
        "link": page.link,
        "revision": page.basis.revision if page.basis else None,
        "judgments": {topic: grade for topic, _, grade in page.judgments},
    }


def document_table(page: DocumentPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the document's judgments, for CSV."""
    return ["topic", "title", "grade"], [list(each) for each in page.judgments]


def _ranking(session: Session, run_id: int, topic_id: str) -> Ranking | None:
    """The stored ranking of one topic, None where the run misses it."""
    index = read_index(session.scalars(select(RankingIndex.body).where(RankingIndex.run_id == run_id)).one())
    if topic_id not in index:
        return None
    number, offset, length = index[topic_id]
    body = session.scalars(
        select(RankingBlock.body).where(RankingBlock.run_id == run_id, RankingBlock.number == number)
    ).one()
    return unpack_topic(body, offset, length)


def grades_of(session: Session, revision_id: int, topic_id: str) -> dict[str, int]:
    """Docno -> grade of one topic's judged documents, the highest where subtopics have several."""
    rows = session.execute(
        select(Judgment.docno, func.max(Judgment.grade))
        .where(Judgment.revision_id == revision_id, Judgment.topic_id == topic_id)
        .group_by(Judgment.docno)
    )
    return {docno: grade for docno, grade in rows}


def _rows(
    session: Session,
    task: Task,
    docnos: list[str],
    ranking: Ranking | None,
    places: list[int],
    grades: dict[str, int],
    limit: int | None,
) -> tuple[RankedDocument, ...]:
    chosen = docnos if limit is None else docnos[:limit]
    texts = collections.texts(session, task.collection_id, chosen)
    rows = []
    for rank, docno in enumerate(chosen, start=1):
        assert ranking is not None
        document = texts.get(docno)
        rows.append(
            RankedDocument(
                rank,
                docno,
                float(ranking.scores[places[rank - 1]]),
                grades.get(docno),
                document.title if document else "",
                snippet(document.text) if document else "",
            )
        )
    return tuple(rows)


def snippet(text: str) -> str:
    """The beginning of a text, cut between words."""
    flat = " ".join(text.split())
    if len(flat) <= SNIPPET:
        return flat
    return flat[:SNIPPET].rsplit(" ", 1)[0] + " …"


def _missed(
    session: Session, task: Task, retrieved: set[str], grades: dict[str, int]
) -> tuple[JudgedDocument, ...]:
    missed = [
        (docno, grade) for docno, grade in grades.items() if grade >= task.level and docno not in retrieved
    ]
    texts = collections.texts(session, task.collection_id, [docno for docno, _ in missed])
    found = [
        JudgedDocument(docno, grade, texts[docno].title if docno in texts else "") for docno, grade in missed
    ]
    return tuple(sorted(found, key=lambda each: (-each.grade, each.docno)))


def _judgments_of(
    session: Session, task: Task, revision_id: int, docno: str
) -> tuple[tuple[str, str, int], ...]:
    rows = session.execute(
        select(Judgment.topic_id, Topic.title, func.max(Judgment.grade))
        .outerjoin(
            Topic,
            (Topic.topic_id == Judgment.topic_id) & (Topic.task_id == task.id),
        )
        .where(Judgment.revision_id == revision_id, Judgment.docno == docno)
        .group_by(Judgment.topic_id, Topic.title)
        .order_by(Judgment.topic_id)
    )
    return tuple((topic, title or "", grade) for topic, title, grade in rows)
