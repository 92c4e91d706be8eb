"""Which judgments come next in a pool, over all assessors: their queues, taken in turn."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Assignment, Pool
from leaderboard.services.assessors.assignments import share_of
from leaderboard.services.assessors.shares import in_order, own_and_shared
from leaderboard.services.pools.documents import PoolDocument

Place = tuple[str, str]
"""Topic and docno."""


@dataclass(frozen=True, slots=True)
class ComingLabel:
    """A judgment that an assessor is about to be asked for."""

    assessor_id: int
    topic_id: str
    docno: str


@dataclass(frozen=True, slots=True)
class AssessorQueue:
    """All documents that an assessor was ever asked for, topic by topic, in the order they are given."""

    assessor_id: int
    topics: Mapping[str, tuple[str, ...]]
    """In the task's order."""


def queues_of(
    session: Session, pool: Pool, documents: Mapping[str, tuple[PoolDocument, ...]]
) -> tuple[AssessorQueue, ...]:
    """The queues of the assessors whose links work; one statement.

    documents: topic -> its documents in stored order, the topics in the task's.
    """
    lasts = or_(Assessor.expires_at.is_(None), Assessor.expires_at > now(session))
    rows = session.scalars(
        select(Assignment)
        .join(Assessor, Assessor.id == Assignment.assessor_id)
        .where(Assignment.pool_id == pool.id, Assessor.token_sha256.is_not(None), lasts)
        .order_by(Assignment.assessor_id)
    )
    by_assessor: dict[int, dict[str, Assignment]] = {}
    for row in rows:
        by_assessor.setdefault(row.assessor_id, {})[row.topic_id] = row
    return tuple(
        AssessorQueue(
            assessor_id,
            {topic: _docnos(pool, mine[topic], documents[topic]) for topic in documents if topic in mine},
        )
        for assessor_id, mine in by_assessor.items()
    )


def coming(
    queues: Collection[AssessorQueue], given: Collection[tuple[int, str, str]]
) -> tuple[ComingLabel, ...]:
    """The judgments that are left, the next first: one of each assessor in turn, as if all were as quick.

    given: assessor, topic and docno of what was judged or skipped. Each goes on with the topics that they
    have begun, then with the others in the task's order.

    >>> queues = AssessorQueue(1, {"a": ("d1", "d2")}), AssessorQueue(2, {"a": ("d1",), "b": ("d3", "d4")})
    >>> found = coming(queues, {(2, "a", "d1"), (2, "b", "d3")})
    >>> [(label.assessor_id, label.docno) for label in found]
    [(1, 'd1'), (2, 'd4'), (1, 'd2')]
    """
    in_turn = chain.from_iterable(zip_longest(*(_left(queue, given) for queue in queues)))
    return tuple(label for label in in_turn if label is not None)


def _docnos(pool: Pool, assignment: Assignment, rows: tuple[PoolDocument, ...]) -> tuple[str, ...]:
    share = share_of(assignment)
    own, shared = own_and_shared(rows, share, pool.seed, assignment.topic_id)
    mine = {row.docno for row in (*own, *shared)}
    ordered = in_order([row for row in rows if row.docno in mine], share, assignment.topic_id)
    return tuple(row.docno for row in ordered)


def _left(queue: AssessorQueue, done: Collection[tuple[int, str, str]]) -> Iterator[ComingLabel]:
    """What is left for one assessor, in order."""
    who = queue.assessor_id
    left = {
        topic: [docno for docno in docnos if (who, topic, docno) not in done]
        for topic, docnos in queue.topics.items()
    }
    begun = [topic for topic, docnos in left.items() if len(docnos) < len(queue.topics[topic])]
    for topic in dict.fromkeys((*begun, *left)):
        yield from (ComingLabel(who, topic, docno) for docno in left[topic])
