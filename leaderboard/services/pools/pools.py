"""A task's pools: making them, opening and closing them, and how far their judging is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, Assessment, Pool, PoolTopic, QrelsRevision, Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.pooling.methods import method
from leaderboard.services import audit, policy
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.pools import documents as pool_documents
from leaderboard.services.pools.documents import PoolDocument
from leaderboard.services.pools.previews import Preview
from leaderboard.services.tasks.topics import grade_names

DRAFT, OPEN, CLOSED = "draft", "open", "closed"
NEXT = {DRAFT: (OPEN,), OPEN: (CLOSED,), CLOSED: (OPEN,)}
"""State -> the states that it may be changed to."""
IMPORTED = "imported"
"""Name of the method of a pool that came as a file."""
NOTE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool in the list."""

    number: int
    name: str
    state: str
    method: str
    adaptive: bool
    runs: int
    topics: int
    documents: int
    """To be judged."""
    judged: int
    """Of these, how many have a grade from somebody."""
    seconds_per_document: int
    note: str
    created_at: datetime
    created_by: str

    @property
    def hours_left(self) -> float:
        """How long one person takes for the rest, each document judged once."""
        return max(self.documents - self.judged, 0) * self.seconds_per_document / 3600


@dataclass(frozen=True, slots=True)
class PoolList:
    """All pools of a task, newest first."""

    task: str
    slug: str
    pools: tuple[PoolRow, ...]
    sight: Sight


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of a pool."""

    topic_id: str
    title: str
    documents: int
    """To be judged."""
    judged: int
    """Of these, how many have a grade from somebody."""
    skipped: int
    """How many somebody skipped."""


@dataclass(frozen=True, slots=True)
class PoolPage:
    """One pool, topic by topic."""

    task: str
    slug: str
    pool: PoolRow
    spec: Mapping[str, Any]
    seed: int
    revision: int | None
    """Whose judgments are used again."""
    run_names: tuple[tuple[int, str], ...]
    topics: tuple[TopicRow, ...]
    changes: tuple[str, ...]
    """The states that it may be changed to."""
    sight: Sight


@dataclass(frozen=True, slots=True)
class TopicPage:
    """A topic's documents in a pool, in judging order."""

    task: str
    slug: str
    pool: PoolRow
    topic: TopicRow
    documents: tuple[PoolDocument, ...]
    grade_names: dict[int, str]
    level: int
    sight: Sight


def index(session: Session, viewer: Viewer, slug: str) -> PoolList:
    """All pools of a task; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task, sight = own_task(session, viewer, slug)
    rows = session.execute(
        select(Pool, Account.name)
        .outerjoin(Account, Account.id == Pool.created_by)
        .where(Pool.task_id == task.id)
        .order_by(Pool.number.desc())
    ).all()
    ids = [row.Pool.id for row in rows]
    counts = dict(
        session.execute(
            select(PoolTopic.pool_id, func.count())
            .where(PoolTopic.pool_id.in_(ids))
            .group_by(PoolTopic.pool_id)
        ).all()
    )
    judged = _judged_by(session, ids)
    pools = tuple(
        _row(row.Pool, row.name or "", counts.get(row.Pool.id, 0), judged.get(row.Pool.id, 0)) for row in rows
    )
    return PoolList(task.name, task.slug, pools, sight)


def page(session: Session, viewer: Viewer, slug: str, number: int) -> PoolPage:
    """One pool, topic by topic; raises as `index`, and NotFound for an unknown number."""
    task, sight = own_task(session, viewer, slug)
    pool = find(session, task, number)
    topics = topic_rows(session, task, pool)
    maker = session.scalar(select(Account.name).where(Account.id == pool.created_by)) or ""
    names = dict(session.execute(select(Run.id, Run.name).where(Run.id.in_(pool.run_ids))).all())
    revision = select(QrelsRevision.number).where(QrelsRevision.id == pool.revision_id)
    return PoolPage(
        task=task.name,
        slug=task.slug,
        pool=_row(pool, maker, len(topics), sum(each.judged for each in topics)),
        spec=pool.method,
        seed=pool.seed,
        revision=session.scalar(revision),
        run_names=tuple((run_id, names[run_id]) for run_id in pool.run_ids if run_id in names),
        topics=topics,
        changes=NEXT[pool.state],
        sight=sight,
    )


def topic_page(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> TopicPage:
    """A topic's documents in a pool; raises as `page`, and NotFound for a topic that is not in the pool."""
    shown = page(session, viewer, slug, number)
    topic = next((each for each in shown.topics if each.topic_id == topic_id), None)
    if topic is None:
        raise NotFound(f"Pool {number} of {shown.task} has no topic {topic_id!r}.")
    task, sight = own_task(session, viewer, slug)
    pool = find(session, task, number)
    body = session.scalars(
        select(PoolTopic.body).where(PoolTopic.pool_id == pool.id, PoolTopic.topic_id == topic_id)
    ).one()
    documents = pool_documents.unpack(body)
    return TopicPage(shown.task, slug, shown.pool, topic, documents, grade_names(task), task.level, sight)


def documents_of(
    session: Session, viewer: Viewer, slug: str, number: int
) -> dict[str, tuple[PoolDocument, ...]]:
    """Topic -> its documents, in judging order and the task's order of topics; raises as `page`."""
    task, _ = own_task(session, viewer, slug)
    pool = find(session, task, number)
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.body)
        .outerjoin(Topic, (Topic.topic_id == PoolTopic.topic_id) & (Topic.task_id == task.id))
        .where(PoolTopic.pool_id == pool.id)
        .order_by(Topic.position, PoolTopic.topic_id)
    )
    return {row.topic_id: pool_documents.unpack(row.body) for row in rows}


def add(session: Session, viewer: Viewer, made: Preview, note: str = "") -> int:
    """Store the pool of a preview as a draft; its number.

    Raises Conflict where it has no document to be judged, and unless the viewer organises the task.
    """
    if not made.documents:
        raise Conflict("This pool would have no document: pool more runs, or deeper.")
    documents = {each.topic_id: (each.rows(), each.to_judge) for each in made.pools if each.documents}
    return store(
        session,
        viewer,
        made.slug,
        documents,
        note=note,
        method=made.method.spec,
        adaptive=made.method.adaptive,
        seed=made.plan.seed,
        run_ids=[run.run_id for run in made.runs],
        revision_id=made.revision_id if made.plan.reuse else None,
        seconds_per_document=made.plan.seconds,
    )


def store(
    session: Session,
    viewer: Viewer,
    slug: str,
    documents: Mapping[str, tuple[list[PoolDocument], int]],
    *,
    note: str = "",
    **facts: Any,
) -> int:
    """Store a draft pool: topic -> documents in judging order and how many of them are to be judged."""
    task, _ = own_task(session, viewer, slug)
    if len(note) > NOTE_CHARACTERS:
        problem = Problem(f"has at most {NOTE_CHARACTERS} characters.", field="note")
        raise Invalid(f"The note may have at most {NOTE_CHARACTERS} characters.", [problem])
    lock_row(session, Task, task.id)
    last = session.scalar(select(func.max(Pool.number)).where(Pool.task_id == task.id)) or 0
    pool = Pool(
        task_id=task.id,
        number=last + 1,
        documents=sum(count for _, count in documents.values()),
        note=note.strip(),
        created_at=now(session),
        created_by=viewer.account_id,
        **facts,
    )
    session.add(pool)
    session.flush()
    session.execute(
        insert(PoolTopic),
        [
            {"pool_id": pool.id, "topic_id": topic, "documents": count, "body": pool_documents.pack(rows)}
            for topic, (rows, count) in documents.items()
        ],
    )
    audit.record(session, viewer, "pool.make", f"pool:{pool.id}", task=slug, method=pool.method)
    return pool.number


def change(session: Session, viewer: Viewer, slug: str, number: int, state: str) -> None:
    """Open a pool for assessors, or close it; raises Conflict for a state it cannot be changed to now."""
    task, _ = own_task(session, viewer, slug)
    pool = find(session, task, number)
    lock_row(session, Pool, pool.id)
    if state not in NEXT[pool.state]:
        raise Conflict(f"Pool {number} is {pool.state}; it can be made {' or '.join(NEXT[pool.state])} only.")
    pool.state = state
    audit.record(session, viewer, f"pool.{state}", f"pool:{pool.id}", task=slug)


def discard(session: Session, viewer: Viewer, slug: str, number: int) -> None:
    """Delete a draft; raises Conflict for a pool that was opened: its assessments are kept."""
    task, _ = own_task(session, viewer, slug)
    pool = find(session, task, number)
    lock_row(session, Pool, pool.id)
    events = session.scalar(select(func.count()).where(Assessment.pool_id == pool.id)) or 0
    if pool.state != DRAFT or events:
        raise Conflict(f"Pool {number} was opened to assessors; close it instead.")
    audit.record(session, viewer, "pool.discard", f"pool:{pool.id}", task=slug)
    session.execute(delete(Pool).where(Pool.id == pool.id))


def find(session: Session, task: Task, number: int) -> Pool:
    """The task's pool of that number; raises NotFound."""
    pool = session.scalar(select(Pool).where(Pool.task_id == task.id, Pool.number == number))
    if pool is None:
        raise NotFound(f"{task.name} has no pool {number}.", pool=number)
    return pool


def own_task(session: Session, viewer: Viewer, slug: str) -> tuple[Task, Sight]:
    """The task and its sight; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task, sight = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    return task, sight


def title(spec: Mapping[str, Any]) -> str:
    """How a pool was made, in words.

    >>> title({"name": "depth", "depth": 8}), title({"name": "imported", "file": "pool.txt"})
    ('Depth-k, depth 8', 'Imported from pool.txt')
    """
    if spec.get("name") == IMPORTED:
        return f"Imported from {spec.get('file')}"
    found = method(spec)
    values = {**found.last.values, "budget": found.budget}
    plain = (
        f"{name} {value:g}" if isinstance(value, int | float) else f"{name} {value}"
        for name, value in values.items()
        if isinstance(value, int | float | str)
    )
    return ", ".join((found.title, *plain))


def topic_rows(session: Session, task: Task, pool: Pool) -> tuple[TopicRow, ...]:
    """The topics of a pool with how far their judging is, in the task's order."""
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.documents, Topic.title)
        .outerjoin(Topic, (Topic.topic_id == PoolTopic.topic_id) & (Topic.task_id == task.id))
        .where(PoolTopic.pool_id == pool.id)
        .order_by(Topic.position, PoolTopic.topic_id)
    ).all()
    counted = session.execute(
        select(
            Assessment.topic_id,
            func.count(Assessment.docno.distinct()).filter(Assessment.grade.is_not(None)),
            func.count(Assessment.docno.distinct()).filter(Assessment.grade.is_(None)),
        )
        .where(Assessment.pool_id == pool.id, Assessment.undone.is_(False))
        .group_by(Assessment.topic_id)
    )
    known = {topic: (judged, skipped) for topic, judged, skipped in counted}
    return tuple(
        TopicRow(row.topic_id, row.title or "", row.documents, *known.get(row.topic_id, (0, 0)))
        for row in rows
    )


def _judged_by(session: Session, pool_ids: list[int]) -> dict[int, int]:
    """Pool id -> documents that have a grade from somebody."""
    pairs = (
        select(Assessment.pool_id, Assessment.topic_id, Assessment.docno)
        .where(Assessment.pool_id.in_(pool_ids), Assessment.undone.is_(False), Assessment.grade.is_not(None))
        .distinct()
        .subquery()
    )
    rows = session.execute(select(pairs.c.pool_id, func.count()).group_by(pairs.c.pool_id))
    return {pool_id: count for pool_id, count in rows}


def _row(pool: Pool, maker: str, topics: int, judged: int) -> PoolRow:
    return PoolRow(
        number=pool.number,
        name=f"Pool {pool.number}",
        state=pool.state,
        method=title(pool.method),
        adaptive=pool.adaptive,
        runs=len(pool.run_ids),
        topics=topics,
        documents=pool.documents,
        judged=judged,
        seconds_per_document=pool.seconds_per_document,
        note=pool.note,
        created_at=pool.created_at,
        created_by=maker,
    )
