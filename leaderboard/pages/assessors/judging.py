"""What assessors see: their topics, the guidelines, one document at a time; no run, rank or score."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Assignment, Collection, Pool, PoolTopic, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import collections
from leaderboard.services.assessors import assignments, links, log, queues
from leaderboard.services.assessors.queues import Coming, Queue
from leaderboard.services.assessors.shares import size
from leaderboard.services.tasks import grade_scales
from leaderboard.services.tasks.grade_scales import Grade
from leaderboard.trec.documents.marking import Piece, marked, terms


@dataclass(frozen=True, slots=True)
class JudgingTopic:
    """A topic as its assessor's list shows it."""

    topic_id: str
    title: str
    documents: int
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
        """Of all topics."""
        return sum(each.documents for each in self.topics)

    @property
    def judged(self) -> int:
        """Of all topics."""
        return sum(min(each.judged, each.documents) for each in self.topics)

    @property
    def next_topic(self) -> JudgingTopic | None:
        """The first topic with something left."""
        return next((each for each in self.topics if each.left), None)


@dataclass(frozen=True, slots=True)
class Desk:
    """An assessor's first page."""

    assessor_id: int
    name: str
    task: str
    pools: tuple[JudgingPool, ...]


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

    assessor_id: int
    task: str
    number: int
    text: str
    """Markdown."""
    grades: tuple[Grade, ...]
    examples: tuple[SolvedExample, ...]
    topics: tuple[JudgingTopic, ...]


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

    docno: str
    title: str
    grade: int | None
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


def desk(session: Session, token: str) -> Desk:
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
    topics = _topics(session, assessor, pools)
    return Desk(
        assessor.id,
        assessor.name,
        task.name,
        tuple(
            JudgingPool(pool.number, pool.state, pool.adaptive, _has_guidelines(pool), topics[pool.id])
            for pool in pools
        ),
    )


def guidelines_page(session: Session, token: str, number: int) -> GuidelinesPage:
    """The guidelines of a pool with its solved examples; raises NotFound."""
    assessor, pool = log.assessor_and_pool(session, token, number)
    task = session.get_one(Task, pool.task_id)
    return GuidelinesPage(
        assessor.id,
        task.name,
        pool.number,
        pool.guidelines,
        grade_scales.scale(task),
        solved_examples(session, task, pool),
        _topics(session, assessor, [pool])[pool.id],
    )


def solved_examples(session: Session, task: Task, pool: Pool) -> tuple[SolvedExample, ...]:
    """A pool's solved examples, with the text of documents that are named by their docno."""
    grades = {each.value: each for each in grade_scales.scale(task)}
    docnos = [str(each["docno"]) for each in pool.examples if each.get("docno")]
    texts = collections.texts(session, task.collection_id, docnos)
    found = []
    for each in pool.examples:
        document = texts.get(str(each.get("docno", "")))
        title = document.title if document else str(each.get("docno", ""))
        text = document.text if document else str(each.get("text", ""))
        grade = grades.get(int(each["grade"]))
        found.append(SolvedExample(str(each.get("topic", "")), title, text, grade, str(each.get("why", ""))))
    return tuple(found)


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
    found = queues.queue(session, token, number, topic_id)
    if docno is not None and docno not in found.docnos and docno != found.first():
        raise NotFound(f"Document {docno} is not among those you are asked to judge for topic {topic_id}.")
    shown = docno if docno is not None else found.first()
    is_open = found.pool.state == "open"
    documents: tuple[ShownDocument, ...] = ()
    if shown is not None and is_open:
        documents = _documents(session, found, (Coming(shown), *found.ahead(shown)))
    topics = _topics(session, found.assessor, [found.pool])[found.pool.id]
    wants_list = with_labels or not documents
    return JudgingPage(
        assessor_id=found.assessor.id,
        task=found.task.name,
        number=number,
        state=found.pool.state,
        adaptive=found.pool.adaptive,
        level=found.task.level,
        topic_id=topic_id,
        title=found.topic.title,
        description=found.topic.description,
        narrative=found.topic.narrative,
        grades=grade_scales.scale(found.task),
        shown=documents[0] if documents else None,
        coming=documents[1:],
        total=found.total,
        judged=found.judged,
        skipped=found.skipped,
        can_undo=bool(found.own) and is_open,
        pace=found.pace(),
        own=_own_labels(session, found) if wants_list else (),
        next_topic=next((each.topic_id for each in topics if each.left and each.topic_id != topic_id), None),
        at=now(session),
        must_read=_has_guidelines(found.pool) and not found.own and not any(each.judged for each in topics),
    )


def ahead(session: Session, token: str, number: int, topic_id: str, after: str) -> tuple[ShownDocument, ...]:
    """The documents that come after one that is shown; raises NotFound, Closed."""
    found = queues.queue(session, token, number, topic_id)
    log.require_open(found.pool)
    return _documents(session, found, found.ahead(after))


def _documents(session: Session, queue: Queue, wanted: Sequence[Coming]) -> tuple[ShownDocument, ...]:
    collection = session.get_one(Collection, queue.task.collection_id)
    texts = collections.texts(session, collection.id, [each.docno for each in wanted])
    words = terms(queue.topic.title, queue.topic.description)
    shown = []
    for docno, condition in ((each.docno, each.condition) for each in wanted):
        document, label = texts.get(docno), queue.own.get(docno)
        shown.append(
            ShownDocument(
                docno,
                condition,
                marked(document.title, words) if document else (),
                marked(document.text, words) if document else (),
                collections.link(collection.link_template, docno),
                label is not None,
                label.grade if label else None,
                label.note if label else "",
            )
        )
    return tuple(shown)


def _own_labels(session: Session, queue: Queue) -> tuple[OwnLabel, ...]:
    texts = collections.texts(session, queue.task.collection_id, list(queue.own))
    return tuple(
        OwnLabel(docno, texts[docno].title if docno in texts else "", label.grade, label.note)
        for docno, label in sorted(queue.own.items())
    )


def _topics(
    session: Session, assessor: Assessor, pools: Sequence[Pool]
) -> dict[int, tuple[JudgingTopic, ...]]:
    """Pool -> the assessor's topics in the task's order."""
    ids = [pool.id for pool in pools]
    rows = session.execute(
        select(Assignment, PoolTopic.documents, Topic.title)
        .join(
            PoolTopic,
            (PoolTopic.pool_id == Assignment.pool_id) & (PoolTopic.topic_id == Assignment.topic_id),
        )
        .join(Topic, (Topic.task_id == assessor.task_id) & (Topic.topic_id == Assignment.topic_id))
        .where(Assignment.assessor_id == assessor.id, Assignment.pool_id.in_(ids))
        .order_by(Topic.position)
    )
    judged = queues.judged_topics(session, assessor.id, ids)
    found: dict[int, list[JudgingTopic]] = {pool_id: [] for pool_id in ids}
    for assignment, documents, title in rows:
        count = size(assignments.share_of(assignment), documents)
        place = assignment.pool_id, assignment.topic_id
        found[assignment.pool_id].append(
            JudgingTopic(assignment.topic_id, title, count, judged.get(place, 0))
        )
    return {pool_id: tuple(topics) for pool_id, topics in found.items()}


def _has_guidelines(pool: Pool) -> bool:
    return bool(pool.guidelines.strip() or pool.examples)
