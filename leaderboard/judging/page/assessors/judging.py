"""Judging pages of assessors: their topics, and one document at a time; without runs, ranks or scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.assessors import log, queues
from leaderboard.judging.ops.assessors.log import Label, PoolFacts, pool_facts
from leaderboard.judging.ops.assessors.queues import ComingDocument, Queue, size
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.page import judging as desk_pages
from leaderboard.judging.page.judging import DeskPart, DeskTopic, DocumentReading, ReadDocument
from leaderboard.scoring.ops import collections, setting_values
from leaderboard.scoring.ops.setting_values import Grade
from leaderboard.tables.record import Column, Table


@dataclass(frozen=True, slots=True)
class JudgingPool(DeskPart):
    """A pool with documents assigned to the assessor."""

    pool: Pool

    @property
    def has_guidelines(self) -> bool:
        """Whether there are guidelines."""
        return has_guidelines(self.pool)


@dataclass(frozen=True, slots=True)
class AssessorDesk:
    """An assessor's first page."""

    assessor: Assessor
    task: Task
    pools: tuple[JudgingPool, ...]


@dataclass(frozen=True, slots=True)
class ShownDocument(ReadDocument):
    """A document to judge, with its label."""

    condition: str
    label: Label | None
    """The assessor's label."""


@dataclass(frozen=True, slots=True)
class OwnLabel:
    """An assessor's label of a document."""

    title: str
    label: Label


@dataclass(frozen=True, slots=True)
class JudgingPage:
    """The document of a topic to judge, and the next ones."""

    queue: Queue
    shown: ShownDocument | None
    """None if every document has a label."""
    coming: tuple[ShownDocument, ...]
    own: tuple[OwnLabel, ...]
    """The assessor's labels; empty unless requested or when nothing is left."""
    next_topic: str | None
    at: datetime
    """The server's current time."""
    must_read: bool
    """Whether there are guidelines and the assessor has judged nothing yet."""

    @property
    def grades(self) -> tuple[Grade, ...]:
        """The available grades."""
        return setting_values.grade_scale(self.queue.task)


def desk(session: Session, token: str) -> AssessorDesk:
    """The assessor's pools and topics; raises NotFound for an invalid link."""
    assessor = judging.by_token(session, token)
    task = session.get_one(Task, assessor.task_id)
    pools = session.scalars(
        select(Pool)
        .where(
            Pool.id.in_(select(Assignment.pool_id).where(Assignment.assessor_id == assessor.id)),
            Pool.state != "draft",
        )
        .order_by(Pool.number)
    ).all()
    of_pool = topics(session, assessor, pools)
    own = tuple(JudgingPool(of_pool[pool.id], pool) for pool in pools)
    return AssessorDesk(assessor, task, own)


def topics_table(pool: JudgingPool) -> Table[DeskTopic]:
    """An assessor's topics in a pool."""
    caption = "Your topics: documents judged, of those assigned to you"
    return desk_pages.topics_table(pool, "Judged", caption)


def labels_table(page: JudgingPage) -> Table[OwnLabel]:
    """The assessor's labels of the topic's documents."""
    columns: list[Column[OwnLabel]] = [
        Column("docno", lambda row: row.label.docno, "Document"),
        Column("grade", lambda row: row.label.grade, "Grade"),
        Column("note", lambda row: row.label.note, "Note"),
    ]
    topic_id = page.queue.topic.topic_id
    caption = f"Your judgments on topic {topic_id}, by document id; follow a link to judge a document again"
    return Table("judgments", caption, columns, page.own)


def judging_page(
    session: Session,
    token: str,
    number: int,
    topic_id: str,
    *,
    docno: str | None = None,
    with_labels: bool = False,
) -> JudgingPage:
    """A topic's next document for the assessor, or the requested one.

    Raises NotFound for an invalid link, a topic or a document that is not assigned to the assessor.
    """
    queue = queues.queue(session, token, number, topic_id)
    if docno is not None and docno not in queue.docnos and docno != queue.first():
        raise NotFound(f"Document {docno} is not assigned to you for topic {topic_id}.")
    shown = docno if docno is not None else queue.first()
    documents: tuple[ShownDocument, ...] = ()
    if shown is not None and queue.pool.state == "open":
        documents = _documents(session, queue, (ComingDocument(shown), *queue.ahead(shown)))
    own_topics = topics(session, queue.assessor, [queue.pool])[queue.pool.id]
    others_left = (topic.topic_id for topic in own_topics if topic.left and topic.topic_id != topic_id)
    is_new = not queue.own and not any(topic.done for topic in own_topics)
    return JudgingPage(
        queue=queue,
        shown=documents[0] if documents else None,
        coming=documents[1:],
        own=_own_labels(session, queue) if with_labels or not documents else (),
        next_topic=next(others_left, None),
        at=now(session),
        must_read=has_guidelines(queue.pool) and is_new,
    )


def ahead(session: Session, token: str, number: int, topic_id: str, after: str) -> tuple[ShownDocument, ...]:
    """The documents after the one shown; raises NotFound, Closed."""
    queue = queues.queue(session, token, number, topic_id)
    log.require_open(queue.pool)
    return _documents(session, queue, queue.ahead(after))


def _documents(session: Session, queue: Queue, coming: Sequence[ComingDocument]) -> tuple[ShownDocument, ...]:
    docnos = [following.docno for following in coming]
    reading = DocumentReading.of(session, queue.task, docnos, queue.topic.title, queue.topic.description)
    return tuple(
        ShownDocument(
            **reading.fields(document.docno),
            condition=document.condition,
            label=queue.own.get(document.docno),
        )
        for document in coming
    )


def _own_labels(session: Session, queue: Queue) -> tuple[OwnLabel, ...]:
    texts = collections.texts(session, queue.task.collection_id, list(queue.own))
    return tuple(
        OwnLabel(texts[docno].title if docno in texts else "", label)
        for docno, label in sorted(queue.own.items())
    )


def topics(session: Session, assessor: Assessor, pools: Sequence[Pool]) -> dict[int, tuple[DeskTopic, ...]]:
    """Pool -> the assessor's topics in the task's order."""
    ids = [pool.id for pool in pools]
    rows = session.execute(
        select(Assignment, PoolTopic.documents, Topic.title)
        .join(
            PoolTopic, (PoolTopic.pool_id == Assignment.pool_id) & (PoolTopic.topic_id == Assignment.topic_id)
        )
        .join(Topic, (Topic.task_id == assessor.task_id) & (Topic.topic_id == Assignment.topic_id))
        .where(Assignment.assessor_id == assessor.id, Assignment.pool_id.in_(ids))
        .order_by(Topic.position)
    )
    judged = queues.judged_topics(session, assessor.id, ids)
    of_pool: dict[int, list[DeskTopic]] = {pool_id: [] for pool_id in ids}
    numbers = {pool.id: pool.number for pool in pools}
    for assignment, documents, title in rows:
        topic = DeskTopic(
            number=numbers[assignment.pool_id],
            topic_id=assignment.topic_id,
            title=title,
            items=size(queues.share_of(assignment), documents),
            done=judged.get((assignment.pool_id, assignment.topic_id), 0),
        )
        of_pool[assignment.pool_id].append(topic)
    return {pool_id: tuple(own) for pool_id, own in of_pool.items()}


def has_guidelines(pool: Pool) -> bool:
    """Whether assessors of a pool have guidelines to read."""
    return bool(pool.guidelines.strip() or pool.examples)


@dataclass(frozen=True, slots=True)
class SolvedExample:
    """A worked example: a document, its grade and the reason."""

    topic: str
    title: str
    text: str
    grade: Grade | None
    why: str


@dataclass(frozen=True, slots=True)
class GuidelinesPage:
    """The guidelines for assessors of a pool."""

    assessor: Assessor
    task: Task
    pool: Pool
    grades: tuple[Grade, ...]
    examples: tuple[SolvedExample, ...]
    topics: tuple[DeskTopic, ...]


@dataclass(frozen=True, slots=True)
class GuidelinesForm:
    """A pool's guidelines, for editing by its organisers."""

    pool: PoolFacts
    text: str
    shown: tuple[SolvedExample, ...]


def guidelines_page(session: Session, token: str, number: int) -> GuidelinesPage:
    """The guidelines of a pool with its worked examples; raises NotFound."""
    assessor, pool = log.assessor_and_pool(session, token, number)
    task = session.get_one(Task, pool.task_id)
    return GuidelinesPage(
        assessor=assessor,
        task=task,
        pool=pool,
        grades=setting_values.grade_scale(task),
        examples=solved_examples(session, task, pool),
        topics=topics(session, assessor, [pool])[pool.id],
    )


def guidelines_form(session: Session, viewer: Viewer, slug: str, number: int) -> GuidelinesForm:
    """A pool's guidelines for editing."""
    task, pool = pools.seen_pool(session, viewer, slug, number)
    shown = solved_examples(session, task, pool)
    return GuidelinesForm(pool_facts(session, task, pool), pool.guidelines, shown)


def solved_examples(session: Session, task: Task, pool: Pool) -> tuple[SolvedExample, ...]:
    """A pool's worked examples, with the text of stored documents."""
    grades = {grade.value: grade for grade in setting_values.grade_scale(task)}
    docnos = [str(stored["docno"]) for stored in pool.examples if stored.get("docno")]
    texts = collections.texts(session, task.collection_id, docnos)
    examples = []
    for stored in pool.examples:
        docno = str(stored.get("docno", ""))
        document = texts.get(docno)
        examples.append(
            SolvedExample(
                topic=str(stored.get("topic", "")),
                title=document.title if document else docno,
                text=document.text if document else str(stored.get("text", "")),
                grade=grades.get(int(stored["grade"])),
                why=str(stored.get("why", "")),
            )
        )
    return tuple(examples)
