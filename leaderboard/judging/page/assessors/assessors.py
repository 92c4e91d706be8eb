"""A pool's assessors, for organisers: assignments and progress."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, Assessor, Assignment
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.assessors import log, queues
from leaderboard.judging.ops.assessors.log import Label, PoolFacts, TopicOfPool, pool_facts
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.page.assessors.judging import has_guidelines
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor of the task and their progress in the pool."""

    assessor: Assessor
    link_ended: bool
    topics: int
    documents: int
    """Documents to judge."""
    judged: int
    """Documents with a grade in force."""
    skipped: int
    last_at: Annotated[datetime | None, Shown(key="last_sent", shown=Place.PAGE)]

    @property
    def has_link(self) -> Annotated[bool, Shown("Link", shown=~Place.PAGE)]:
        """Whether a personal link exists and is not revoked."""
        return self.assessor.token_sha256 is not None

    @property
    def is_machine(self) -> bool:
        """Whether the labels are a machine's."""
        return self.assessor.origin == judging.MACHINE


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of the pool with its assessors and progress."""

    topic: TopicOfPool
    assessors: tuple[str, ...]
    order: str
    judged: int
    """Documents graded by people."""
    twice: Annotated[int, Shown("Judged by two or more", key="judged_twice")]
    """Documents graded by two or more people."""


@dataclass(frozen=True, slots=True)
class AssessorsPage:
    """A pool's assessors and topics."""

    pool: PoolFacts
    adaptive: bool
    has_guidelines: bool
    assessors: tuple[AssessorRow, ...]
    topics: tuple[TopicRow, ...]

    @property
    def people(self) -> tuple[AssessorRow, ...]:
        """People who can be assigned documents."""
        return tuple(row for row in self.assessors if row.has_link)

    @property
    def assigned(self) -> tuple[int, ...]:
        """Ids of people with topics; of all before topics are assigned."""
        has_any = any(topic.assessors for topic in self.topics)
        return tuple(row.assessor.id for row in self.people if row.topics or not has_any)


def assessors_page(session: Session, viewer: Viewer, slug: str, number: int) -> AssessorsPage:
    """A pool's assessors; raises SignInNeeded, Forbidden or NotFound unless the viewer organises the task."""
    task, pool = pools.seen_pool(session, viewer, slug, number)
    facts, people = pool_facts(session, task, pool), judging.of_task(session, task.id)
    given = session.scalars(select(Assignment).where(Assignment.pool_id == pool.id)).all()
    labels = log.in_force(session, pool.id)
    return AssessorsPage(
        pool=facts,
        adaptive=pool.adaptive,
        has_guidelines=has_guidelines(pool),
        assessors=_assessors(session, facts, people, given, labels),
        topics=_topics(facts, people, given, labels),
    )


def facts(page: AssessorsPage) -> dict[str, Any]:
    """The page as JSON facts; includes whether a link exists, never the link."""
    return {
        "task": page.pool.slug,
        "pool": page.pool.number,
        "state": page.pool.state,
        "adaptive": page.adaptive,
        "documents": page.pool.documents,
        "assessors": assessors_table(page).facts(),
        "topics": topics_table(page).facts(),
    }


def assessors_table(page: AssessorsPage) -> Table[AssessorRow]:
    """The task's assessors with their assignments in the pool."""
    columns = columns_from(
        AssessorRow,
        Column("assessor", lambda row: row.assessor.name, "Assessor"),
        Column("is", lambda row: row.assessor.role, "Is", shown=Place.PAGE),
        Column("origin", lambda row: row.assessor.origin, "Origin", shown=~Place.PAGE),
        Column("machine", lambda row: row.assessor.origin_name, "Machine", shown=~Place.PAGE),
        Column("role", lambda row: row.assessor.role, "Role", shown=~Place.PAGE),
        "has_link",
        Column("link_ends", _link_end, "Link expires", shown=~Place.PAGE),
        "topics documents judged skipped last_at",
        Column("link", lambda row: row.has_link, "Link", shown=Place.PAGE),
    )
    pool, what = page.pool, "what they have of pool"
    caption = f"Assessors of {pool.task} and {what} {pool.number}; machines are never mixed with people"
    return Table(f"{pool.name}-assessors", caption, columns, page.assessors)


def _link_end(row: AssessorRow) -> str | None:
    """The day, in UTC, after which the assessor's link expires."""
    return None if row.assessor.expires_at is None else f"{row.assessor.expires_at:%Y-%m-%d}"


def topics_table(page: AssessorsPage) -> Table[TopicRow]:
    """The topics of the pool with their assessors."""
    columns = columns_from(
        TopicRow,
        "topic.topic_id topic.documents",
        Column("assessors", lambda row: ", ".join(row.assessors), "Assessors"),
        "order judged twice",
    )
    caption = (
        f"Topics of pool {page.pool.number} of {page.pool.task}: documents judged by people, and "
        "by two or more of them"
    )
    return Table(f"{page.pool.name}-topics", caption, columns, page.topics)


FILES = Files(facts=facts, tables={"assessors": assessors_table, "topics": topics_table})


def _assessors(
    session: Session,
    pool: PoolFacts,
    people: Sequence[Assessor],
    given: Sequence[Assignment],
    labels: Sequence[Label],
) -> tuple[AssessorRow, ...]:
    judged = Counter(label.assessor_id for label in labels if label.grade is not None)
    skipped = Counter(label.assessor_id for label in labels if label.grade is None)
    sent = session.execute(
        select(Assessment.assessor_id, func.max(Assessment.sent_at))
        .where(Assessment.pool_id == pool.id)
        .group_by(Assessment.assessor_id)
    )
    last = {assessor_id: at for assessor_id, at in sent}
    documents = queues.asked(given, pool.documents_of)
    counts = Counter(assignment.assessor_id for assignment in given)
    at = now(session)
    return tuple(
        AssessorRow(
            assessor=assessor,
            link_ended=assessor.expires_at is not None and assessor.expires_at <= at,
            topics=counts[assessor.id],
            documents=documents[assessor.id],
            judged=judged[assessor.id],
            skipped=skipped[assessor.id],
            last_at=last.get(assessor.id),
        )
        for assessor in people
    )


def _topics(
    pool: PoolFacts, people: Sequence[Assessor], given: Sequence[Assignment], labels: Sequence[Label]
) -> tuple[TopicRow, ...]:
    by_id = {assessor.id: assessor for assessor in people}
    names, orders = defaultdict(list), defaultdict(set)
    for assignment in given:
        names[assignment.topic_id].append(by_id[assignment.assessor_id].name)
        orders[assignment.topic_id].add(assignment.document_order)
    graded = Counter(
        label[:2]
        for label in labels
        if label.grade is not None and by_id[label.assessor_id].origin == judging.HUMAN
    )
    judged = Counter(topic for topic, _ in graded)
    twice = Counter(topic for (topic, _), count in graded.items() if count > 1)
    return tuple(
        TopicRow(
            topic=topic,
            assessors=tuple(sorted(names[topic.topic_id])),
            order=", ".join(sorted(orders[topic.topic_id])),
            judged=judged[topic.topic_id],
            twice=twice[topic.topic_id],
        )
        for topic in pool.topics
    )
