"""What organisers see of a pool's assessors: who has which documents, and how far they are."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, Assessor, Assignment
from leaderboard.pages.assessors.judging import has_guidelines
from leaderboard.services.assessors import assignments, log
from leaderboard.services.assessors.judged_pools import PoolFacts, TopicOfPool, pool_facts
from leaderboard.services.assessors.log import Label
from leaderboard.services.judging import links
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.tables.record import Column, Files, Place, Table


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor of the task and what there is of theirs in the pool."""

    assessor: Assessor
    link_ended: bool
    topics: int
    documents: int
    """To judge."""
    judged: int
    """Documents with a grade in force."""
    skipped: int
    last_at: datetime | None

    @property
    def has_link(self) -> bool:
        """Whether a personal link was given out and not revoked."""
        return self.assessor.token_sha256 is not None

    @property
    def is_machine(self) -> bool:
        """Whether the labels are a machine's."""
        return self.assessor.origin == links.MACHINE


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of the pool: who judges it and how far it is."""

    topic: TopicOfPool
    assessors: tuple[str, ...]
    order: str
    judged: int
    """Documents that some person has graded."""
    twice: int
    """Documents that two people or more have graded."""


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
        """Those who can be asked to judge."""
        return tuple(row for row in self.assessors if row.has_link)


def assessors_page(session: Session, viewer: Viewer, slug: str, number: int) -> AssessorsPage:
    """Who judges a pool; raises SignInNeeded, Forbidden or NotFound unless the viewer organises the task."""
    task, pool = pools.seen_pool(session, viewer, slug, number)
    facts, people = pool_facts(session, task, pool), links.of_task(session, task.id)
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
    """The page as JSON facts; of a link only whether there is one."""
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
    """The task's assessors and what they have of the pool."""
    columns: list[Column[AssessorRow]] = [
        Column(key="assessor", head="Assessor", value=lambda row: row.assessor.name),
        Column(key="is", head="Is", value=lambda row: row.assessor.role, shown=Place.PAGE),
        Column(key="origin", head="Origin", value=lambda row: row.assessor.origin, shown=~Place.PAGE),
        Column(key="machine", head="Machine", value=lambda row: row.assessor.origin_name, shown=~Place.PAGE),
        Column(key="role", head="Role", value=lambda row: row.assessor.role, shown=~Place.PAGE),
        Column(key="has_link", head="Link", value=lambda row: row.has_link, shown=~Place.PAGE),
        Column(key="link_ends", head="Link ends", value=_link_end, shown=~Place.PAGE),
        Column(key="topics", head="Topics", value=lambda row: row.topics, digits=0),
        Column(key="documents", head="Documents", value=lambda row: row.documents, digits=0),
        Column(key="judged", head="Judged", value=lambda row: row.judged, digits=0),
        Column(key="skipped", head="Skipped", value=lambda row: row.skipped, digits=0),
        Column(key="last_sent", head="Last sent", value=lambda row: row.last_at, shown=Place.PAGE),
        Column(key="link", head="Link", value=lambda row: row.has_link, shown=Place.PAGE),
    ]
    pool = page.pool
    what = "what they have of pool"
    caption = f"Assessors of {pool.task} and {what} {pool.number}; machines are never mixed with people"
    return Table(name=f"{pool.name}-assessors", caption=caption, columns=columns, rows=page.assessors)


def _link_end(row: AssessorRow) -> str | None:
    """The day, in UTC, after which the assessor's link no longer works."""
    return None if row.assessor.expires_at is None else f"{row.assessor.expires_at:%Y-%m-%d}"


def topics_table(page: AssessorsPage) -> Table[TopicRow]:
    """The topics of the pool and who judges them."""
    columns: list[Column[TopicRow]] = [
        Column(key="topic", head="Topic", value=lambda row: row.topic.topic_id),
        Column(key="documents", head="Documents", value=lambda row: row.topic.documents, digits=0),
        Column(key="assessors", head="Assessors", value=lambda row: ", ".join(row.assessors)),
        Column(key="order", head="Order", value=lambda row: row.order),
        Column(key="judged", head="Judged", value=lambda row: row.judged, digits=0),
        Column(key="judged_twice", head="By two or more", value=lambda row: row.twice, digits=0),
    ]
    caption = (
        f"Topics of pool {page.pool.number} of {page.pool.task}: documents that people have judged, and "
        "those that two or more have"
    )
    return Table(
        name=f"{page.pool.slug}-pool-{page.pool.number}-topics",
        caption=caption,
        columns=columns,
        rows=page.topics,
    )


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
    documents = assignments.asked(given, pool.documents_of)
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
        if label.grade is not None and by_id[label.assessor_id].origin == links.HUMAN
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
