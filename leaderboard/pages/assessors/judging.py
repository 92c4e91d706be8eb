"""What assessors see: their topics, and one document at a time; no run, rank or score."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Assignment, Collection, Pool, PoolTopic, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import collections
from leaderboard.services.assessors import assignments, links, log, queues
from leaderboard.services.assessors.queues import ComingDocument, Queue
from leaderboard.services.assessors.shares import size
from leaderboard.services.tasks import grade_scales
from leaderboard.services.tasks.grade_scales import Grade
from leaderboard.tables.record import Column, Shown, Table, columns_from
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.documents.marking import Piece, marked, terms


@dataclass(frozen=True, slots=True)
class JudgingTopic:
    """A topic as its assessor's list shows it."""

    pool: int
    """The pool's number."""
    topic_id: Annotated[str, Shown(key="topic")]
    title: str
    documents: Annotated[int, Shown("Of")]
    judged: int

    @property
    def left(self) -> int:
        """Documents that have no grade yet."""
        return max(self.documents - self.judged, 0)


@dataclass(frozen=True, slots=True)
class JudgingPool:
    """A pool in which the assessor has something to do."""

    number: int
    state: str
    adaptive: bool
    has_guidelines: bool
    topics: tuple[JudgingTopic, ...]

    @property
    def documents(self) -> int:
        """How many documents the topics have."""
        return sum(topic.documents for topic in self.topics)

    @property
    def judged(self) -> int:
        """How many of them have a grade."""
        return sum(min(topic.judged, topic.documents) for topic in self.topics)

    @property
    def next_topic(self) -> JudgingTopic | None:
        """The first topic with something left."""
        return next((topic for topic in self.topics if topic.left), None)


@dataclass(frozen=True, slots=True)
class AssessorDesk:
    """An assessor's first page."""

    assessor_id: int
    name: str
    task: str
    pools: tuple[JudgingPool, ...]


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document to judge, the topic's words marked."""

    docno: str
    condition: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    link: str
    is_judged: bool = False
    grade: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class OwnLabel:
    """What the assessor said of a document."""

    docno: Annotated[str, Shown("Document")]
    title: str
    grade: Annotated[int | None, Shown(digits=None)]
    note: str


@dataclass(frozen=True, slots=True)
class JudgingPage:
    """One document of a topic to be judged, and those that come next."""

    assessor_id: int
    task: str
    number: int
    state: str
    adaptive: bool
    level: int
    topic_id: str
    title: str
    description: str
    narrative: str
    grades: tuple[Grade, ...]
    shown: ShownDocument | None
    """None where every document has a label."""
    coming: tuple[ShownDocument, ...]
    total: int
    judged: int
    skipped: tuple[str, ...]
    can_undo: bool
    pace: float | None
    """Seconds a document takes."""
    own: tuple[OwnLabel, ...]
    """What the assessor decided; empty unless it was asked for or nothing is left."""
    next_topic: str | None
    at: datetime
    """The server's now."""
    must_read: bool
    """Whether there are guidelines and the assessor has judged nothing yet."""

    @property
    def done(self) -> int:
        """Documents with a label, skipped ones too."""
        return self.judged + len(self.skipped)


def desk(session: Session, token: str) -> AssessorDesk:
    """The assessor's pools and topics; raises NotFound for a dead link."""
    assessor = links.by_token(session, token)
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
    return AssessorDesk(
        assessor_id=assessor.id,
        name=assessor.name,
        task=task.name,
        pools=tuple(
            JudgingPool(pool.number, pool.state, pool.adaptive, _has_guidelines(pool), of_pool[pool.id])
            for pool in pools
        ),
    )


def topics_table(pool: JudgingPool) -> Table[JudgingTopic]:
    """An assessor's topics in a pool."""
    columns = columns_from(
        JudgingTopic, "topic_id judged documents", Column("progress", lambda row: row.judged, "Progress")
    )
    caption = "Your topics: documents with a grade, of those you are asked to judge"
    return Table("topics", caption, columns, pool.topics)


def labels_table(page: JudgingPage) -> Table[OwnLabel]:
    """What the assessor said of the topic's documents."""
    columns = columns_from(OwnLabel, "docno grade note")
    caption = (
        f"Your judgments of topic {page.topic_id}, by document id; follow a link to judge a document anew"
    )
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
    pool, topic = queue.pool, queue.topic
    if docno is not None and docno not in queue.docnos and docno != queue.first():
        raise NotFound(f"Document {docno} is not among those you are asked to judge for topic {topic_id}.")
    shown = docno if docno is not None else queue.first()
    is_open = pool.state == "open"
    documents: tuple[ShownDocument, ...] = ()
    if shown is not None and is_open:
        documents = _documents(session, queue, (ComingDocument(shown), *queue.ahead(shown)))
    own_topics = topics(session, queue.assessor, [pool])[pool.id]
    others_left = (other.topic_id for other in own_topics if other.left and other.topic_id != topic_id)
    return JudgingPage(
        assessor_id=queue.assessor.id,
        task=queue.task.name,
        number=number,
        state=pool.state,
        adaptive=pool.adaptive,
        level=queue.task.level,
        topic_id=topic_id,
        title=topic.title,
        description=topic.description,
        narrative=topic.narrative,
        grades=grade_scales.scale(queue.task),
        shown=documents[0] if documents else None,
        coming=documents[1:],
        total=queue.total,
        judged=queue.judged,
        skipped=queue.skipped,
        can_undo=bool(queue.own) and is_open,
        pace=queue.pace(),
        own=_own_labels(session, queue) if with_labels or not documents else (),
        next_topic=next(others_left, None),
        at=now(session),
        must_read=_has_guidelines(pool) and not queue.own and not any(known.judged for known in own_topics),
    )


def ahead(session: Session, token: str, number: int, topic_id: str, after: str) -> tuple[ShownDocument, ...]:
    """The documents that come after one that is shown; raises NotFound, Closed."""
    queue = queues.queue(session, token, number, topic_id)
    log.require_open(queue.pool)
    return _documents(session, queue, queue.ahead(after))


def _documents(session: Session, queue: Queue, coming: Sequence[ComingDocument]) -> tuple[ShownDocument, ...]:
    collection = session.get_one(Collection, queue.task.collection_id)
    texts = collections.texts(session, collection.id, [following.docno for following in coming])
    words = terms(queue.topic.title, queue.topic.description)
    return tuple(
        _shown(following, queue, texts.get(following.docno), words, collection.link_template)
        for following in coming
    )


def _shown(
    coming: ComingDocument, queue: Queue, document: Document | None, words: frozenset[str], link_template: str
) -> ShownDocument:
    label = queue.own.get(coming.docno)
    return ShownDocument(
        docno=coming.docno,
        condition=coming.condition,
        heading=marked(document.title, words) if document else (),
        text=marked(document.text, words) if document else (),
        link=collections.link(link_template, coming.docno),
        is_judged=label is not None,
        grade=label.grade if label else None,
        note=label.note if label else "",
    )


def _own_labels(session: Session, queue: Queue) -> tuple[OwnLabel, ...]:
    texts = collections.texts(session, queue.task.collection_id, list(queue.own))
    return tuple(
        OwnLabel(docno, texts[docno].title if docno in texts else "", label.grade, label.note)
        for docno, label in sorted(queue.own.items())
    )


def topics(
    session: Session, assessor: Assessor, pools: Sequence[Pool]
) -> dict[int, tuple[JudgingTopic, ...]]:
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
    of_pool: dict[int, list[JudgingTopic]] = {pool_id: [] for pool_id in ids}
    numbers = {pool.id: pool.number for pool in pools}
    for assignment, documents, title in rows:
        topic = JudgingTopic(
            pool=numbers[assignment.pool_id],
            topic_id=assignment.topic_id,
            title=title,
            documents=size(assignments.share_of(assignment), documents),
            judged=judged.get((assignment.pool_id, assignment.topic_id), 0),
        )
        of_pool[assignment.pool_id].append(topic)
    return {pool_id: tuple(own) for pool_id, own in of_pool.items()}


def _has_guidelines(pool: Pool) -> bool:
    return bool(pool.guidelines.strip() or pool.examples)
