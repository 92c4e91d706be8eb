"""A task's pools: making them, opening and closing them, deleting drafts."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.pooling.methods import method
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import documents as pool_documents
from leaderboard.services.pools.documents import PoolDocument
from leaderboard.services.pools.previews import Preview

DRAFT, OPEN, CLOSED = "draft", "open", "closed"
NEXT = {DRAFT: (OPEN,), OPEN: (CLOSED,), CLOSED: (OPEN,)}
"""State -> the states that it may be changed to."""
IMPORTED = "imported"
"""Name of the method of a pool that came as a file."""
SAMPLE = "people_sample"
"""Name of the method of a pool that people judge of what a machine judged: services/combined draws it."""
SAMPLED_TOPICS = "people_topics"
"""The same, where whole topics are drawn instead of documents in every topic."""
SAMPLES = (SAMPLE, SAMPLED_TOPICS)
NOTE_CHARACTERS = 300


def documents_of(
    session: Session, viewer: Viewer, slug: str, number: int
) -> dict[str, tuple[PoolDocument, ...]]:
    """Topic -> its documents, in judging order and the task's order of topics.

    Raises NotFound for an unknown number, and NotFound, SignInNeeded or Forbidden unless the viewer organises
    the task.
    """
    task = policy.own_task(session, viewer, slug, policy.knows)
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
    documents = {topic.topic_id: (topic.rows(), topic.to_judge) for topic in made.pools if topic.documents}
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
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    if len(note) > NOTE_CHARACTERS:
        problem = Problem(f"has at most {NOTE_CHARACTERS} characters.", field="note")
        raise Invalid(f"The note may have at most {NOTE_CHARACTERS} characters.", [problem])
    # Two pools at once would have the same number.
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
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    pool = find(session, task, number)
    # Its state is read again behind the lock: two clicks at once change it once.
    lock_row(session, Pool, pool.id)
    if state not in NEXT[pool.state]:
        raise Conflict(f"Pool {number} is {pool.state}; it can be made {' or '.join(NEXT[pool.state])} only.")
    pool.state = state
    audit.record(session, viewer, f"pool.{state}", f"pool:{pool.id}", task=slug)


def discard(session: Session, viewer: Viewer, slug: str, number: int) -> None:
    """Delete a draft; raises Conflict for a pool that was opened: its assessments are kept."""
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    pool = find(session, task, number)
    # Nobody opens it while it is looked at.
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


def title(spec: Mapping[str, Any]) -> str:
    """How a pool was made, in words.

    >>> title({"name": "depth", "depth": 8}), title({"name": "imported", "file": "pool.txt"})
    ('Depth-k, depth 8', 'Imported from pool.txt')
    """
    if spec.get("name") == IMPORTED:
        return f"Imported from {spec.get('file')}"
    if spec.get("name") == SAMPLE:
        return f"Sample for people, {spec['share']:.0%} of the machine’s revision {spec['revision']}"
    if spec.get("name") == SAMPLED_TOPICS:
        return f"Topics for people, {spec['topics']} of the machine’s revision {spec['revision']}"
    bound = method(spec)
    values = {**bound.last.values, "budget": bound.budget}
    plain = (
        f"{name} {value:g}" if isinstance(value, int | float) else f"{name} {value}"
        for name, value in values.items()
        if isinstance(value, int | float | str)
    )
    return ", ".join((bound.title, *plain))
