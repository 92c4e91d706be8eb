"""Making a task: files are parsed first, a draft is stored, its organiser looks at it and publishes it."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import (
    Phase,
    Task,
    TaskRole,
    Topic,
    TopicSet,
)
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.services import audit, collections, policy
from leaderboard.services.accounts import accounts
from leaderboard.services.collections import PreparedDocuments
from leaderboard.services.evaluations import editions
from leaderboard.services.policy import ALL_TOPICS, PUBLIC_TOPICS, Viewer
from leaderboard.services.qrels import files as qrels
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.services.revisions import publish as revisions
from leaderboard.services.tasks import board_measures
from leaderboard.trec.topics import topics as trec_topics

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
RESERVED = frozenset({"new"})
VISIBILITIES = ("open", "blind", "sealed")
DEEPEST = 100_000
GRADED = ("nDCG@10", "AP", "RR@10", "R@1000")
BINARY = ("AP", "nDCG@10", "P@10", "R@1000")
ONE_RELEVANT = ("RR@10", "Success@1", "Success@10")
ALWAYS = "Judged@10"
MOSTLY = 0.9
"""Share of topics with one relevant document from which a task counts as looking for that one."""
BLIND_RUNS_PER_DAY, BLIND_RUNS_IN_ALL = 5, 30


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """What an organiser asks for; measures empty and primary None mean the proposed ones."""

    slug: str
    name: str
    topics: Path
    topics_name: str = ""
    description: str = ""
    qrels: Path | None = None
    qrels_name: str = ""
    collection: str | None = None
    documents: Path | None = None
    depth: int = 1000
    level: int = 1
    dialect: int = 10
    visibility: str = "open"
    measures: tuple[str, ...] = ()
    primary: str | None = None
    origin: str = "human"
    origin_name: str = ""
    grade_names: Mapping[int, str] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTask:
    """A draft with its files parsed; made without a session."""

    draft: TaskDraft
    topics: tuple[trec_topics.Topic, ...]
    qrels: PreparedQrels | None
    documents: PreparedDocuments | None
    measures: tuple[str, ...]
    primary: str


@dataclass(frozen=True, slots=True)
class CreatedTask:
    """A stored draft."""

    id: int
    slug: str


def propose_measures(judgments: Mapping[str, Mapping[bytes, int]] | None) -> tuple[tuple[str, ...], str]:
    """Measures that suit the judgments, and the primary one.

    Several relevant grades: nDCG@10 first; one relevant document in nearly every topic: RR@10; else,
    and where no judgment is known yet, average precision.
    """
    chosen: tuple[str, ...] = BINARY
    positive = [[grade for grade in topic.values() if grade > 0] for topic in (judgments or {}).values()]
    if any(grade > 1 for grades in positive for grade in grades):
        chosen = GRADED
    elif positive and sum(len(grades) <= 1 for grades in positive) >= MOSTLY * len(positive):
        chosen = ONE_RELEVANT
    return (*chosen, ALWAYS), chosen[0]


def prepare(draft: TaskDraft) -> PreparedTask:
    """The draft with its files parsed and its measures settled; needs no session.

    Raises Invalid with every problem of the form, or with the lines at fault of a file.
    """
    problems = list(_form_problems(draft))
    if problems:
        raise Invalid("The task cannot be made like this.", problems)
    topics = trec_topics.read_topics(draft.topics)
    judged = qrels.prepare(draft.qrels, draft.qrels_name) if draft.qrels else None
    measures, primary = _measures(draft, judged)
    documents = collections.prepare(draft.documents) if draft.documents else None
    return PreparedTask(draft, tuple(topics), judged, documents, measures, primary)


def create(session: Session, viewer: Viewer, prepared: PreparedTask) -> CreatedTask:
    """Store the task as a draft that only its organisers see; the viewer becomes one.

    Raises Conflict where the slug or the collection's name is taken, NotFound for an unknown collection.
    """
    policy.require_creator(viewer)
    draft = prepared.draft
    if session.scalar(select(Task.id).where(Task.slug == draft.slug)) is not None:
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
    maker = _as_organiser(viewer, task.id)
    audit.record(session, viewer, "task.create", f"task:{task.id}", slug=task.slug)
    if prepared.qrels is not None:
        revisions.revise(
            session,
            maker,
            task.slug,
            prepared.qrels,
            draft.note,
            origin=draft.origin,
            origin_name=draft.origin_name,
        )
    return CreatedTask(task.id, task.slug)


def publish(session: Session, viewer: Viewer, slug: str) -> None:
    """Show the task to everybody and take runs from now on; publishing twice changes nothing."""
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    if task.published_at is not None:
        return
    task.published_at = now(session)
    session.flush()
    revision = qrels.newest(session, task.id)
    if revision is not None:
        editions.build(session, task, revision)
    audit.record(session, viewer, "task.publish", f"task:{task.id}", slug=slug)


def discard(session: Session, viewer: Viewer, slug: str) -> None:
    """Delete a draft with its topics and judgments; raises Conflict once the task is published."""
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    if task.published_at is not None:
        raise Conflict(f"{task.name} is published; only drafts can be discarded.")
    audit.record(session, viewer, "task.discard", f"task:{task.id}", slug=slug)
    session.execute(delete(Task).where(Task.id == task.id))


def add_organiser(session: Session, viewer: Viewer, slug: str, account_name: str) -> None:
    """Let another account organise the task too; raises NotFound for an unknown account."""
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    account_id = accounts.find(session, account_name)
    if session.get(TaskRole, (task.id, account_id, "organiser")) is None:
        session.add(TaskRole(task_id=task.id, account_id=account_id, role="organiser"))
        audit.record(session, viewer, "task.add_organiser", f"task:{task.id}", account=account_id)


def set_dates(
    session: Session, viewer: Viewer, slug: str, opens_at: datetime | None, closes_at: datetime | None
) -> None:
    """Set when the task takes runs; None is no limit. A blind or sealed task shows everything once closed.

    Raises Invalid where it would close before it opens.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        raise Invalid("The task would close before it opens; give a later closing time.")
    for phase in session.scalars(select(Phase).where(Phase.task_id == task.id)):
        phase.opens_at, phase.closes_at = opens_at, closes_at
    opens, closes = (moment.isoformat() if moment else "" for moment in (opens_at, closes_at))
    audit.record(session, viewer, "task.dates", f"task:{task.id}", opens=opens, closes=closes)


def exclude_topic(session: Session, viewer: Viewer, slug: str, topic_id: str, reason: str) -> None:
    """Leave a topic of a draft out of all means, with the reason; an empty reason takes it back in."""
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_organiser(viewer, task)
    if task.published_at is not None:
        raise Conflict("Topics can be excluded only before the task is published.")
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise Invalid(f"There is no topic {topic_id!r} in this task.")
    topic.excluded = reason.strip()
    audit.record(session, viewer, "topic.exclude", f"task:{task.id}", topic=topic_id, reason=topic.excluded)


def _form_problems(draft: TaskDraft) -> list[Problem]:
    checks = [
        (
            bool(SLUG.fullmatch(draft.slug)) and draft.slug not in RESERVED,
            "slug",
            draft.slug,
            "must be 1 to 63 lower-case letters, digits or hyphens, and not `new`.",
        ),
        (0 < len(draft.name.strip()) <= 200, "name", draft.name[:40], "must have 1 to 200 characters."),
        (1 <= draft.depth <= DEEPEST, "depth", str(draft.depth), f"must be from 1 to {DEEPEST}."),
        (1 <= draft.level <= 1000, "level", str(draft.level), "must be a grade from 1 to 1000."),
        (
            draft.dialect in (9, 10),
            "dialect",
            str(draft.dialect),
            "must be 9 or 10 (the version of trec_eval).",
        ),
        (
            draft.visibility in VISIBILITIES,
            "visibility",
            draft.visibility,
            f"must be one of {', '.join(VISIBILITIES)}.",
        ),
        (
            not (draft.collection and draft.documents),
            "documents",
            "",
            "make a new collection; give either a collection or documents.",
        ),
        (draft.origin in ("human", "machine"), "origin", draft.origin, "must be human or machine."),
    ]
    return [
        Problem(rule, "Change it and send again.", field=field, value=value)
        for fine, field, value, rule in checks
        if not fine
    ]


def _measures(draft: TaskDraft, judged: PreparedQrels | None) -> tuple[tuple[str, ...], str]:
    proposed, proposed_primary = propose_measures(judged.judgments if judged else None)
    wanted = list(draft.measures or proposed)
    primary = draft.primary or (wanted[0] if draft.measures else proposed_primary)
    there = {board_measures.SIZE} if draft.documents or draft.collection else set()
    if judged is None:
        # Judgments that are still to come may be of any kind.
        there |= board_measures.BESIDE
    elif judged.kind == "subtopic":
        there.add("subtopics")
    return board_measures.for_board(wanted, primary, draft.level, there)


def _collection(session: Session, viewer: Viewer, prepared: PreparedTask) -> int:
    draft = prepared.draft
    if draft.collection:
        return collections.named(session, draft.collection).id
    return collections.add(session, viewer, draft.slug, documents=prepared.documents).id


def _add_phase(session: Session, task: Task) -> None:
    blind = task.visibility == "blind"
    session.add(
        Phase(
            task_id=task.id,
            name="main",
            runs_per_day=BLIND_RUNS_PER_DAY if blind else None,
            runs_in_all=BLIND_RUNS_IN_ALL if blind else None,
        )
    )


def _add_topics(session: Session, task: Task, topics: tuple[trec_topics.Topic, ...]) -> None:
    for position, topic in enumerate(topics):
        session.add(
            Topic(
                task_id=task.id,
                topic_id=topic.topic_id,
                position=position,
                title=topic.title,
                description=topic.description,
                narrative=topic.narrative,
                subtopics=[
                    {"number": each.number, "text": each.text, "kind": each.kind} for each in topic.subtopics
                ],
            )
        )
    session.add(TopicSet(task_id=task.id, name=ALL_TOPICS, topics=None))
    if task.visibility == "blind":
        names = [topic.topic_id for topic in topics]
        session.add(TopicSet(task_id=task.id, name=PUBLIC_TOPICS, topics=_half(task.slug, names)))


def _half(slug: str, topic_ids: list[str]) -> list[str]:
    """Half of the topics, chosen by digest: the same for the same task, but nobody's choice."""
    ordered = sorted(topic_ids, key=lambda topic: hashlib.sha256(f"{slug}\0{topic}".encode()).digest())
    chosen = set(ordered[: (len(ordered) + 1) // 2])
    return [topic for topic in topic_ids if topic in chosen]


def _as_organiser(viewer: Viewer, task_id: int) -> Viewer:
    return Viewer(
        viewer.account_id,
        viewer.name,
        viewer.is_organiser,
        viewer.team_ids,
        viewer.organises | {task_id},
        viewer.is_operator,
        viewer.ip,
    )
