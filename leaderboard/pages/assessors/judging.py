"""What assessors see: their topics, and one document at a time; no run, rank or score."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.pages import judging as desk_pages
from leaderboard.pages.judging import DeskPart, DeskTopic, DocumentReading, ReadDocument
from leaderboard.services import collections, judging
from leaderboard.services.assessors import log, queues
from leaderboard.services.assessors.log import Label, PoolFacts, pool_facts
from leaderboard.services.assessors.queues import ComingDocument, Queue, size
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.services.tasks import setting_values
from leaderboard.services.tasks.setting_values import Grade
from leaderboard.tables.record import Column, Table


@dataclass(frozen=True, slots=True)
class JudgingPool(DeskPart):
    """A pool in which the assessor has something to do."""

    pool: Pool

    @property
    def has_guidelines(self) -> bool:
        """Whether there is something to read first."""
        return has_guidelines(self.pool)


@dataclass(frozen=True, slots=True)
class AssessorDesk:
    """An assessor's first page."""

    assessor: Assessor
    task: Task
    pools: tuple[JudgingPool, ...]


@dataclass(frozen=True, slots=True)
class ShownDocument(ReadDocument):
    """A document to judge."""

    condition: str
    label: Label | None
    """What the assessor said of it."""


@dataclass(frozen=True, slots=True)
class OwnLabel:
    """What the assessor said of a document."""

    title: str
    label: Label


@dataclass(frozen=True, slots=True)
class JudgingPage:
    """One document of a topic to be judged, and those that come next."""

    queue: Queue
    shown: ShownDocument | None
    """None where every document has a label."""
    coming: tuple[ShownDocument, ...]
    own: tuple[OwnLabel, ...]
    """What the assessor decided; empty unless it was asked for or nothing is left."""
    next_topic: str | None
    at: datetime
    """The server's now."""
    must_read: bool
    """Whether there are guidelines and the assessor has judged nothing yet."""

    @property
    def grades(self) -> tuple[Grade, ...]:
        """What may be given."""
        return setting_values.grade_scale(self.queue.task)


def desk(session: Session, token: str) -> AssessorDesk:
    """The assessor's pools and topics; raises NotFound for a dead link."""
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
    caption = "Your topics: documents with a grade, of those you are asked to judge"
    return desk_pages.topics_table(pool, "Judged", caption)


def labels_table(page: JudgingPage) -> Table[OwnLabel]:
    """What the assessor said of the topic's documents."""
    columns: list[Column[OwnLabel]] = [
        Column("docno", lambda row: row.label.docno, "Document"),
        Column("grade", lambda row: row.label.grade, "Grade"),
        Column("note", lambda row: row.label.note, "Note"),
    ]
    topic_id = page.queue.topic.topic_id
    caption = f"Your judgments of topic {topic_id}, by document id; follow a link to judge a document anew"
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
    """A topic's next document for the assessor, or the one that is asked for.

    Raises NotFound for a dead link, a topic that is not the assessor's or a document of others.
    """
    queue = queues.queue(session, token, number, topic_id)
    if docno is not None and docno not in queue.docnos and docno != queue.first():
        raise NotFound(f"Document {docno} is not among those you are asked to judge for topic {topic_id}.")
    shown = docno if docno is not None else queue.first()
    documents: tuple[ShownDocument, ...] = ()
    if shown is not None and queue.pool.state == "open":
        documents = _documents(session, queue, (ComingDocument(shown), *queue.ahead(shown)))
    own_topics = topics(session, queue.assessor, [queue.pool])[queue.pool.id]
    others_left = (other.topic_id for other in own_topics if other.left and other.topic_id != topic_id)
    is_new = not queue.own and not any(known.done for known in own_topics)
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
    """The documents that come after one that is shown; raises NotFound, Closed."""
    queue = queues.queue(session, token, number, topic_id)
    log.require_open(queue.pool)
    return _documents(session, queue, queue.ahead(after))


def _documents(session: Session, queue: Queue, coming: Sequence[ComingDocument]) -> tuple[ShownDocument, ...]:
    docnos = [following.docno for following in coming]
    reading = DocumentReading.of(session, queue.task, docnos, queue.topic.title, queue.topic.description)
    return tuple(
        ShownDocument(**reading.fields(one.docno), condition=one.condition, label=queue.own.get(one.docno))
        for one in coming
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
    """Whether assessors of a pool have something to read first."""
    return bool(pool.guidelines.strip() or pool.examples)


@dataclass(frozen=True, slots=True)
class SolvedExample:
    """A document, its grade and why."""

    topic: str
    title: str
    text: str
    grade: Grade | None
    why: str


@dataclass(frozen=True, slots=True)
class GuidelinesPage:
    """What assessors of a pool read first."""

    assessor: Assessor
    task: Task
    pool: Pool
    grades: tuple[Grade, ...]
    examples: tuple[SolvedExample, ...]
    topics: tuple[DeskTopic, ...]


@dataclass(frozen=True, slots=True)
class GuidelinesForm:
    """A pool's guidelines as its organisers edit them."""

    pool: PoolFacts
    text: str
    shown: tuple[SolvedExample, ...]


def guidelines_page(session: Session, token: str, number: int) -> GuidelinesPage:
    """The guidelines of a pool with its solved examples; raises NotFound."""
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
    """A pool's guidelines to be edited."""
    task, pool = pools.seen_pool(session, viewer, slug, number)
    shown = solved_examples(session, task, pool)
    return GuidelinesForm(pool_facts(session, task, pool), pool.guidelines, shown)


def solved_examples(session: Session, task: Task, pool: Pool) -> tuple[SolvedExample, ...]:
    """A pool's solved examples, with the text of documents that are named by their docno."""
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
