"""What organisers see of a pool's assessors: who has which documents, and how far they are."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.services.assessors import assignments, log
from leaderboard.services.assessors import links as assessors
from leaderboard.services.assessors.log import Label
from leaderboard.services.assessors.shares import size
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor of the task and what there is of theirs in the pool."""

    id: int
    name: Annotated[str, Shown(key="assessor")]
    origin: Annotated[str, Shown(shown=~Place.PAGE)]
    origin_name: Annotated[str, Shown(key="machine", shown=~Place.PAGE)]
    role: Annotated[str, Shown(key="is", shown=Place.PAGE)]
    has_link: Annotated[bool, Shown("Link", shown=~Place.PAGE)]
    link_ends_at: datetime | None
    """None for a link without an end."""
    link_ended: bool
    revoked_at: datetime | None
    topics: int
    documents: int
    """To judge."""
    judged: int
    """Documents with a grade in force."""
    skipped: int
    last_at: Annotated[datetime | None, Shown(key="last_sent", shown=Place.PAGE)]

    @property
    def is_machine(self) -> bool:
        """Whether the labels are a machine's."""
        return self.origin == assessors.MACHINE


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of the pool: who judges it and how far it is."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: str
    documents: int
    assessors: tuple[str, ...]
    order: str
    judged: int
    """Documents that some person has graded."""
    twice: Annotated[int, Shown("By two or more", key="judged_twice")]
    """Documents that two people or more have graded."""


@dataclass(frozen=True, slots=True)
class AssessorsPage:
    """A pool's assessors and topics."""

    task: str
    slug: str
    number: int
    state: str
    adaptive: bool
    documents: int
    assessors: tuple[AssessorRow, ...]
    topics: tuple[TopicRow, ...]
    has_guidelines: bool

    @property
    def people(self) -> tuple[AssessorRow, ...]:
        """Those who can be asked to judge."""
        return tuple(row for row in self.assessors if row.has_link)


def assessors_page(session: Session, viewer: Viewer, slug: str, number: int) -> AssessorsPage:
    """Who judges a pool; raises SignInNeeded, Forbidden or NotFound unless the viewer organises the task."""
    task, pool = assessors.seen_pool(session, viewer, slug, number)
    given = session.scalars(select(Assignment).where(Assignment.pool_id == pool.id)).all()
    labels = log.in_force(session, pool.id)
    topics = _pool_topics(session, pool)
    return AssessorsPage(
        task=task.name,
        slug=slug,
        number=number,
        state=pool.state,
        adaptive=pool.adaptive,
        documents=sum(documents for _, documents in topics.values()),
        assessors=_assessors(session, task, pool, given, labels, topics),
        topics=_topics(session, task, given, labels, topics),
        has_guidelines=bool(pool.guidelines.strip() or pool.examples),
    )


def facts(page: AssessorsPage) -> dict[str, Any]:
    """The page as JSON facts; of a link only whether there is one."""
    return {
        "task": page.slug,
        "pool": page.number,
        "state": page.state,
        "adaptive": page.adaptive,
        "documents": page.documents,
        "assessors": assessors_table(page).facts(),
        "topics": topics_table(page).facts(),
    }


def assessors_table(page: AssessorsPage) -> Table[AssessorRow]:
    """The task's assessors and what they have of the pool."""
    columns = columns_from(
        AssessorRow,
        "name role origin origin_name",
        Column("role", lambda row: row.role, "Role", shown=~Place.PAGE),
        "has_link",
        Column("link_ends", _link_end, "Link ends", shown=~Place.PAGE),
        "topics documents judged skipped last_at",
        Column("link", lambda row: row.has_link, "Link", shown=Place.PAGE),
    )
    caption = (
        f"Assessors of {page.task} and what they have of pool {page.number}; machines are never mixed with "
        "people"
    )
    return Table(f"{page.slug}-pool-{page.number}-assessors", caption, columns, page.assessors)


def _link_end(row: AssessorRow) -> str | None:
    """The day, in UTC, after which the assessor's link no longer works."""
    return None if row.link_ends_at is None else f"{row.link_ends_at:%Y-%m-%d}"


def topics_table(page: AssessorsPage) -> Table[TopicRow]:
    """The topics of the pool and who judges them."""
    columns = columns_from(
        TopicRow,
        "topic_id documents",
        Column("assessors", lambda row: ", ".join(row.assessors), "Assessors"),
        "order judged twice",
    )
    caption = (
        f"Topics of pool {page.number} of {page.task}: documents that people have judged, and those that two "
        "or more have"
    )
    return Table(f"{page.slug}-pool-{page.number}-topics", caption, columns, page.topics)


FILES = Files(facts=facts, tables={"assessors": assessors_table, "topics": topics_table})


def _pool_topics(session: Session, pool: Pool) -> dict[str, tuple[str, int]]:
    """Topic -> its title and documents to judge, in the task's order."""
    rows = session.execute(
        select(PoolTopic.topic_id, Topic.title, PoolTopic.documents)
        .join(Topic, (Topic.task_id == pool.task_id) & (Topic.topic_id == PoolTopic.topic_id))
        .where(PoolTopic.pool_id == pool.id)
        .order_by(Topic.position)
    )
    return {row.topic_id: (row.title, row.documents) for row in rows}


def _assessors(
    session: Session,
    task: Task,
    pool: Pool,
    given: Sequence[Assignment],
    labels: Sequence[Label],
    topics: Mapping[str, tuple[str, int]],
) -> tuple[AssessorRow, ...]:
    judged = Counter(label.assessor_id for label in labels if label.grade is not None)
    skipped = Counter(label.assessor_id for label in labels if label.grade is None)
    sent = session.execute(
        select(Assessment.assessor_id, func.max(Assessment.sent_at))
        .where(Assessment.pool_id == pool.id)
        .group_by(Assessment.assessor_id)
    )
    last = {assessor_id: at for assessor_id, at in sent}
    documents: Counter[int] = Counter()
    for assignment in given:
        share = assignments.share_of(assignment)
        documents[assignment.assessor_id] += size(share, topics[assignment.topic_id][1])
    counts = Counter(assignment.assessor_id for assignment in given)
    at = now(session)
    return tuple(
        AssessorRow(
            id=assessor.id,
            name=assessor.name,
            origin=assessor.origin,
            origin_name=assessor.origin_name,
            role=assessor.role,
            has_link=assessor.token_sha256 is not None,
            link_ends_at=assessor.expires_at,
            link_ended=assessor.expires_at is not None and assessor.expires_at <= at,
            revoked_at=assessor.revoked_at,
            topics=counts[assessor.id],
            documents=documents[assessor.id],
            judged=judged[assessor.id],
            skipped=skipped[assessor.id],
            last_at=last.get(assessor.id),
        )
        for assessor in assessors.of_task(session, task.id)
    )


def _topics(
    session: Session,
    task: Task,
    given: Sequence[Assignment],
    labels: Sequence[Label],
    topics: Mapping[str, tuple[str, int]],
) -> tuple[TopicRow, ...]:
    people = {assessor.id: assessor for assessor in assessors.of_task(session, task.id)}
    names, orders = defaultdict(list), defaultdict(set)
    for assignment in given:
        names[assignment.topic_id].append(people[assignment.assessor_id].name)
        orders[assignment.topic_id].add(assignment.document_order)
    graded = Counter(
        (label.topic_id, label.docno)
        for label in labels
        if label.grade is not None and people[label.assessor_id].origin == assessors.HUMAN
    )
    judged = Counter(topic for topic, _ in graded)
    twice = Counter(topic for (topic, _), count in graded.items() if count > 1)
    return tuple(
        TopicRow(
            topic_id=topic,
            title=title,
            documents=documents,
            assessors=tuple(sorted(names[topic])),
            order=", ".join(sorted(orders[topic])),
            judged=judged[topic],
            twice=twice[topic],
        )
        for topic, (title, documents) in topics.items()
    )
