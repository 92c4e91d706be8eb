"""Who judges which documents of a pool: by topic, by share or everybody everything, with planned overlap."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import ceil

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assignment, Pool, PoolTopic, Topic
from leaderboard.errors import Closed, Invalid, Problem
from leaderboard.services import audit
from leaderboard.services.judging import links
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.services.pools.documents import PoolDocument

ORDERS = {
    "docno": "by document id: the rank is hidden",
    "random": "at random: another order for each assessor",
    "score": "by priority: what the method thinks relevant comes first",
}
"""Name of an order -> how a form calls it; the first is the default."""


@dataclass(frozen=True, slots=True)
class Share:
    """An assessor's part of a topic's documents.

    The documents are divided into `parts`; part counts from 0. A part beyond them has no documents of its
    own. overlap: share of every other part's documents that this assessor judges too; who judges what of
    another part is divided so that no document has more than two assessors while the shares allow it.
    """

    parts: int = 1
    part: int = 0
    overlap: float = 0.0
    order: str = "docno"
    seed: int = 0


def own_and_shared(
    rows: Sequence[PoolDocument], share: Share, pool_seed: int, topic_id: str
) -> tuple[list[PoolDocument], list[PoolDocument]]:
    """The documents of a share's own part, and those of other parts that it has too, in stored order.

    Documents whose judgment is used again are in neither. pool_seed says how the topic is divided.

    >>> rows = [PoolDocument(f"d{number}") for number in range(10)]
    >>> own, shared = own_and_shared(rows, Share(parts=2, part=1, overlap=0.2), 1, "t")
    >>> len(own), len(shared), {row.docno for row in own} & {row.docno for row in shared}
    (5, 1, set())
    """
    waiting = [row for row in rows if row.grade is None]
    if (share.parts, share.part) == (1, 0):
        return waiting, []
    by_chance = sorted(waiting, key=lambda row: _digest(pool_seed, topic_id, row.docno))
    own: set[str] = set()
    shared: set[str] = set()
    for part in range(share.parts):
        documents = [row.docno for row in by_chance[part :: share.parts]]
        if part == share.part:
            own.update(documents)
        else:
            first, last = _between(share, part, len(documents))
            shared.update(documents[first:last])
    return ([row for row in waiting if row.docno in own], [row for row in waiting if row.docno in shared])


def size(share: Share, documents: int) -> int:
    """How many documents the share has, of a topic with n documents to be judged.

    >>> size(Share(parts=2, part=1, overlap=0.2), 10), size(Share(parts=1, part=1, overlap=0.15), 10)
    (6, 2)
    """
    count = 0
    for part in range(share.parts):
        here = len(range(part, documents, share.parts))
        first, last = (0, here) if part == share.part else _between(share, part, here)
        count += max(min(last, here) - min(first, here), 0)
    return count


def in_order(rows: Sequence[PoolDocument], share: Share, topic_id: str) -> list[PoolDocument]:
    """The documents as the assessor gets them; rows are in the order of their priority."""
    if share.order == "score":
        return list(rows)
    if share.order == "docno":
        return sorted(rows, key=lambda row: row.docno.encode("utf-8", "surrogateescape"))
    return sorted(rows, key=lambda row: _digest(share.seed, topic_id, row.docno))


def share_of_topic(overlap: float, assessors: int) -> float:
    """The overlap that each of several assessors with parts needs so that a share of a topic is judged twice.

    >>> share_of_topic(0.2, 2), share_of_topic(0.2, 3), share_of_topic(0.2, 1)
    (0.2, 0.1, 0.0)
    """
    return overlap / (assessors - 1) if assessors > 1 else 0.0


def _between(share: Share, part: int, documents: int) -> tuple[int, int]:
    """The piece that the share has of another part of n documents: each assessor takes the next."""
    place = (share.part - part) % share.parts if share.part < share.parts else share.part
    return (
        ceil(round((place - 1) * share.overlap * documents, 9)),
        ceil(round(place * share.overlap * documents, 9)),
    )


def _digest(seed: int, topic_id: str, docno: str) -> bytes:
    text = f"{seed}\n{topic_id}\n{docno}".encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=16).digest()


WAYS = {
    "topic": "by topic: each topic is one assessor’s",
    "share": "by share: each topic is divided among all",
    "all": "all: everybody judges everything",
}
"""Name of a way to divide the work -> how a form calls it; the first is the default."""
DEFAULT_OVERLAP = 0.15
MOST_OVERLAP = 1.0
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Plan:
    """How a pool's documents are assigned."""

    assessor_ids: Sequence[int]
    way: str = "topic"
    overlap: float = DEFAULT_OVERLAP
    """Share of each topic that is judged by two."""
    order: str = "docno"
    seed: int = 0
    topics: Sequence[str] = field(default_factory=tuple)
    """Empty: all of the pool's topics; else the others keep their assessors."""


def assign(session: Session, viewer: Viewer, slug: str, number: int, plan: Plan) -> int:
    """Assign a pool's documents as planned, in place of who had them; how many assignments there are.

    Judgments that were made stay, no matter who has the documents now. Raises Invalid for a plan that cannot
    be, Closed for a closed pool.
    """
    task, pool = pools.own_pool(session, viewer, slug, number)
    if pool.state == "closed":
        raise Closed("This pool is closed; open it again before its documents are assigned anew.")
    people = _people(session, task.id, plan)
    topics = _topics(session, pool, plan)
    shares = _by_topic(topics, people, plan) if plan.way == "topic" else _by_share(topics, people, plan)
    session.execute(delete(Assignment).where(Assignment.pool_id == pool.id, Assignment.topic_id.in_(topics)))
    session.add_all(
        Assignment(
            pool_id=pool.id,
            assessor_id=assessor_id,
            topic_id=topic_id,
            document_order=plan.order,
            seed=_seed(plan.seed, assessor_id),
            parts=share.parts,
            part=share.part,
            overlap=share.overlap,
        )
        for (topic_id, assessor_id), share in shares.items()
    )
    session.flush()
    audit.record(
        session,
        viewer,
        "pool.assign",
        f"pool:{pool.id}",
        way=plan.way,
        overlap=plan.overlap,
        order=plan.order,
        seed=plan.seed,
        assessors=people,
        topics=len(topics),
    )
    return len(shares)


def share_of(assignment: Assignment) -> Share:
    """An assignment's part of its topic."""
    return Share(
        parts=assignment.parts,
        part=assignment.part,
        overlap=assignment.overlap,
        order=assignment.document_order,
        seed=assignment.seed,
    )


def asked(given: Iterable[Assignment], documents: Mapping[str, int]) -> Counter[int]:
    """Id of an assessor -> how many documents some assignments ask for; documents: of each topic."""
    counts = Counter[int]()
    for assignment in given:
        counts[assignment.assessor_id] += size(share_of(assignment), documents.get(assignment.topic_id, 0))
    return counts


def _people(session: Session, task_id: int, plan: Plan) -> list[int]:
    """The ids of the plan's assessors, checked; raises Invalid."""
    problems = []
    if plan.way not in WAYS:
        problems.append(Problem(f"must be one of {', '.join(WAYS)}.", field="way", value=plan.way))
    if plan.order not in ORDERS:
        problems.append(Problem(f"must be one of {', '.join(ORDERS)}.", field="order", value=plan.order))
    if not 0 <= plan.overlap <= MOST_OVERLAP:
        rule = "must be between 0 and 100 percent."
        problems.append(Problem(rule, "10 to 20 percent tell how well assessors agree.", field="overlap"))
    if not 0 <= plan.seed <= LARGEST_SEED:
        problems.append(Problem(f"must be a whole number up to {LARGEST_SEED:,}.", field="seed"))
    chosen = list(dict.fromkeys(plan.assessor_ids))
    if not chosen or not links.able(session, task_id).keys() >= set(chosen):
        rule = "must be people of this task whose link works."
        problems.append(Problem(rule, "Add assessors first, then choose at least one.", field="assessors"))
    if problems:
        raise Invalid("The documents cannot be assigned like this.", problems)
    return chosen


def _topics(session: Session, pool: Pool, plan: Plan) -> dict[str, int]:
    """Topic -> documents to be judged, in the task's order."""
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.documents)
        .join(Topic, (Topic.task_id == pool.task_id) & (Topic.topic_id == PoolTopic.topic_id))
        .where(PoolTopic.pool_id == pool.id)
        .order_by(Topic.position)
    )
    every = {row.topic_id: row.documents for row in rows}
    unknown = [topic for topic in plan.topics if topic not in every]
    if unknown or not every:
        rule = "must be topics of the pool."
        problem = Problem(rule, field="topics", value=" ".join(unknown)[:80])
        raise Invalid("The documents cannot be assigned like this.", [problem])
    return {topic: count for topic, count in every.items() if not plan.topics or topic in plan.topics}


def _by_topic(topics: Mapping[str, int], people: Sequence[int], plan: Plan) -> dict[tuple[str, int], Share]:
    """Each topic, the largest first, to the person with the fewest documents; another judges the overlap."""
    load = dict.fromkeys(people, 0.0)
    shares: dict[tuple[str, int], Share] = {}
    for topic in sorted(topics, key=lambda topic: -topics[topic]):
        owner = min(people, key=load.__getitem__)
        shares[topic, owner] = Share()
        load[owner] += topics[topic]
        if len(people) > 1 and plan.overlap > 0:
            second = min((person for person in people if person != owner), key=load.__getitem__)
            shares[topic, second] = Share(1, 1, plan.overlap)
            load[second] += plan.overlap * topics[topic]
    return shares


def _by_share(topics: Mapping[str, int], people: Sequence[int], plan: Plan) -> dict[tuple[str, int], Share]:
    """To everybody a part of each topic, or all of it."""
    if plan.way == "all":
        return {(topic, person): Share() for topic in topics for person in people}
    overlap = share_of_topic(plan.overlap, len(people))
    return {
        (topic, person): Share(len(people), part, overlap)
        for topic in topics
        for part, person in enumerate(people)
    }


def _seed(seed: int, assessor_id: int) -> int:
    """A seed for each assessor, so that each gets an order of their own."""
    return (seed * 1_000_003 + assessor_id) % LARGEST_SEED
