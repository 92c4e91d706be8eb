"""Making a task: a draft is stored, its organiser looks at it and publishes or discards it."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import Phase, Task, TaskRole, Topic, TopicSet
from leaderboard.errors import Conflict
from leaderboard.services import audit, collections, policy
from leaderboard.services.evaluations import editions
from leaderboard.services.policy import ALL_TOPICS, PUBLIC_TOPICS, Viewer
from leaderboard.services.qrels import files as qrels
from leaderboard.services.qrels.lines import Origin
from leaderboard.services.revisions import publish as revisions
from leaderboard.services.revisions.publish import NewRevision
from leaderboard.services.tasks.drafts import PreparedTask
from leaderboard.trec.topics import topics as trec_topics

ROWS_AT_ONCE = 5_000
BLIND_RUNS_PER_DAY, BLIND_RUNS_IN_ALL = 5, 30


@dataclass(frozen=True, slots=True)
class CreatedTask:
    """A stored draft."""

    id: int
    slug: str


def create(session: Session, viewer: Viewer, prepared: PreparedTask) -> CreatedTask:
    """Store the task as a draft that only its organisers see; the viewer becomes one.

    A slug that only others' drafts have is free. Raises Conflict where the slug or the collection's name is
    taken, NotFound for a collection that the viewer may not know of.
    """
    policy.require_creator(viewer)
    draft = prepared.draft
    _hold_slug(session, draft.slug)
    if policy.known_tasks(session, viewer, draft.slug):
        raise Conflict(f"There is a task {draft.slug!r} already; choose another slug.")
    task = Task(
        slug=draft.slug,
        name=draft.name.strip(),
        description=draft.description,
        collection_id=_collection(session, viewer, prepared),
        visibility=draft.visibility,
        depth=draft.depth,
        level=draft.level,
        dialect=draft.dialect,
        measures=list(prepared.measures),
        primary_measure=prepared.primary,
        grade_names={str(grade): name for grade, name in draft.grade_names.items()},
        created_at=now(session),
    )
    session.add(task)
    session.flush()
    if viewer.account_id is not None:
        session.add(TaskRole(task_id=task.id, account_id=viewer.account_id, role="organiser"))
    _add_phase(session, task)
    _add_topics(session, task, prepared.topics)
    session.flush()
    maker = replace(viewer, organises=viewer.organises | {task.id})
    audit.record(session, viewer, "task.create", f"task:{task.id}", slug=task.slug)
    if prepared.qrels is not None:
        by = Origin(draft.origin, draft.origin_name)
        first = NewRevision(prepared=prepared.qrels, note=draft.note, by=by)
        revisions.revise(session, maker, task.slug, first)
    return CreatedTask(task.id, task.slug)


def publish(session: Session, viewer: Viewer, slug: str) -> None:
    """Show the task to everybody and take runs from now on; publishing twice changes nothing.

    Raises Conflict where another organiser's task has been published under the slug.
    """
    task = policy.own_task(session, viewer, slug)
    # A revision that comes in this moment finds the task published, or is found here.
    lock_row(session, Task, task.id)
    if task.published_at is not None:
        return
    _hold_slug(session, slug)
    if policy.known_tasks(session, policy.ANONYMOUS, slug):
        raise Conflict(f"A task {slug!r} was published meanwhile; make this one anew under another slug.")
    task.published_at = now(session)
    session.flush()
    revision = qrels.newest(session, task.id)
    if revision is not None:
        editions.build(session, task, revision)
    audit.record(session, viewer, "task.publish", f"task:{task.id}", slug=slug)


def discard(session: Session, viewer: Viewer, slug: str) -> None:
    """Delete a draft with its topics and judgments; raises Conflict once the task is published."""
    task = policy.own_task(session, viewer, slug)
    if task.published_at is not None:
        raise Conflict(f"{task.name} is published; only drafts can be discarded.")
    audit.record(session, viewer, "task.discard", f"task:{task.id}", slug=slug)
    session.execute(delete(Task).where(Task.id == task.id))


def _collection(session: Session, viewer: Viewer, prepared: PreparedTask) -> int:
    draft = prepared.draft
    if draft.collection:
        return collections.named(session, viewer, draft.collection).id
    return collections.add(session, viewer, draft.slug, documents=prepared.documents).id


def _hold_slug(session: Session, slug: str) -> None:
    # Two at once would both find it free.
    lock_key(session, f"slug {slug}")


def _add_phase(session: Session, task: Task) -> None:
    blind = task.visibility == "blind"
    session.add(
        Phase(
            task_id=task.id,
            name="main",
            visibility=task.visibility,
            runs_per_day=BLIND_RUNS_PER_DAY if blind else None,
            runs_in_all=BLIND_RUNS_IN_ALL if blind else None,
        )
    )


def _add_topics(session: Session, task: Task, topics: tuple[trec_topics.Topic, ...]) -> None:
    rows = [_topic_row(task.id, position, topic) for position, topic in enumerate(topics)]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        # Not an object a topic: two hundred thousand of them would hold the database for minutes.
        session.execute(insert(Topic), rows[start : start + ROWS_AT_ONCE])
    session.add(TopicSet(task_id=task.id, name=ALL_TOPICS, topics=None))
    if task.visibility == "blind":
        names = [topic.topic_id for topic in topics]
        session.add(TopicSet(task_id=task.id, name=PUBLIC_TOPICS, topics=half(task.slug, names)))


def _topic_row(task_id: int, position: int, topic: trec_topics.Topic) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "topic_id": topic.topic_id,
        "position": position,
        "title": topic.title,
        "description": topic.description,
        "narrative": topic.narrative,
        "subtopics": [
            {"number": subtopic.number, "text": subtopic.text, "kind": subtopic.kind}
            for subtopic in topic.subtopics
        ],
    }


def half(slug: str, topic_ids: list[str]) -> list[str]:
    """Half of the topics, chosen by digest: the same for the same task, but nobody's choice."""
    ordered = sorted(topic_ids, key=lambda topic: hashlib.sha256(f"{slug}\0{topic}".encode()).digest())
    chosen = set(ordered[: (len(ordered) + 1) // 2])
    return [topic for topic in topic_ids if topic in chosen]
