"""The queue of one assessor on a topic: documents to judge, progress, and the next documents."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b, sha256
from math import ceil
from statistics import median
from typing import Annotated

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from leaderboard.core import audit
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Assessment, Assessor, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import Closed, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import Label
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolDocument
from leaderboard.memory import keep_by
from leaderboard.pooling.methods import Judge, method, start
from leaderboard.scoring.ops.qrels import left_out
from leaderboard.scoring.ops.rankings import topic_seed, topic_tops

PASSED_OVER = -1
"""Grade passed to the method for documents that must not be returned now."""


@dataclass(frozen=True, eq=False)
class LiveTopic:
    """A topic's documents and the judge that selects them; immutable."""

    judge: Judge
    docnos: tuple[str, ...]
    place: Mapping[str, int]

    def next(
        self, grades: Mapping[str, int], allowed: Collection[str], passed: Collection[str], level: int
    ) -> str | None:
        """The next allowed document to judge, None when the pool or its budget is exhausted.

        grades: docno -> grade of judged documents, by any assessor; passed: skipped documents, which are not
        returned now and teach the method nothing.
        """
        judged = {
            place: PASSED_OVER
            for docno, place in self.place.items()
            if docno not in allowed or docno in passed
        }
        judged.update(
            {self.place[docno]: max(grade, 0) for docno, grade in grades.items() if docno in self.place}
        )
        place = self.judge.next(judged, level)
        return None if place is None else self.docnos[place]


def _adaptive_digest(session: Session, task: Task, pool: Pool, topic_id: str) -> str:
    """A digest of everything that the topic depends on.

    The method, seed and runs of a pool and the rankings of a run never change, so a topic
    that was read once stays valid. The address of the database and the creation
    time distinguish pools with the same id, in two databases or one after the other.
    """
    facts = [
        str(session.get_bind().engine.url),
        pool.id,
        pool.created_at.isoformat(),
        pool.method,
        pool.seed,
        pool.run_ids,
        task.depth,
        task.dialect,
        topic_id,
    ]
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


# The lock is for the threads of the web server; reading a topic twice at once does no harm.
@keep_by(_adaptive_digest)
def live_topic(session: Session, task: Task, pool: Pool, topic_id: str) -> LiveTopic:
    """The judge that selects a topic's documents; read once and cached."""
    bound = method(pool.method)
    gone = left_out.of_pool(session, pool).get(topic_id, frozenset())
    depth = bound.reach or task.depth
    tops = topic_tops(session, pool.run_ids, topic_id, depth, task.dialect, gone=gone)
    docnos = tuple(tops.docno(place) for place in range(len(tops.docnos)))
    judge = start(bound, tops.rankings, topic_seed(pool.seed, topic_id), scores=tops.scores)
    return LiveTopic(judge, docnos, {docno: place for place, docno in enumerate(docnos)})


ORDERS = {
    "docno": "by document id (hides the rank)",
    "random": "random, different for each assessor",
    "score": "by priority: probably relevant documents first",
}
"""Order -> label in forms; the first is the default."""


@dataclass(frozen=True, slots=True)
class Share:
    """An assessor's share of a topic's documents.

    The documents are divided into `parts`; part counts from 0. A part beyond them has no documents of its
    own. overlap: share of every other part's documents that this assessor also judges; overlapping documents
    are divided so that no document has more than two assessors while the shares allow it.
    """

    parts: int = 1
    part: int = 0
    overlap: float = 0.0
    order: str = "docno"
    seed: int = 0


def own_and_shared(
    rows: Sequence[PoolDocument], share: Share, pool_seed: int, topic_id: str
) -> tuple[list[PoolDocument], list[PoolDocument]]:
    """The documents of a share's own part, and its overlap with other parts, in stored order.

    Both exclude documents with reused judgments. pool_seed determines the division of the topic.

    >>> rows = [PoolDocument(f"d{number}") for number in range(10)]
    >>> own, shared = own_and_shared(rows, Share(parts=2, part=1, overlap=0.2), 1, "t")
    >>> len(own), len(shared), {row.docno for row in own} & {row.docno for row in shared}
    (5, 1, set())
    """
    waiting = [row for row in rows if row.grade is None]
    if (share.parts, share.part) == (1, 0):
        return waiting, []
    by_chance = sorted(waiting, key=lambda row: _assignments_digest(pool_seed, topic_id, row.docno))
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
    """Number of documents in the share, for a topic with n documents to judge.

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
    """The documents in the assessor's order; rows are in order of priority."""
    if share.order == "score":
        return list(rows)
    if share.order == "docno":
        return sorted(rows, key=lambda row: row.docno.encode("utf-8", "surrogateescape"))
    return sorted(rows, key=lambda row: _assignments_digest(share.seed, topic_id, row.docno))


def share_of_topic(overlap: float, assessors: int) -> float:
    """The overlap that each of several assessors needs so that a share of a topic is judged twice.

    >>> share_of_topic(0.2, 2), share_of_topic(0.2, 3), share_of_topic(0.2, 1)
    (0.2, 0.1, 0.0)
    """
    return overlap / (assessors - 1) if assessors > 1 else 0.0


def _between(share: Share, part: int, documents: int) -> tuple[int, int]:
    """The piece that the share has of another part of n documents; assessors take consecutive pieces."""
    place = (share.part - part) % share.parts if share.part < share.parts else share.part
    return (
        ceil(round((place - 1) * share.overlap * documents, 9)),
        ceil(round(place * share.overlap * documents, 9)),
    )


def _assignments_digest(seed: int, topic_id: str, docno: str) -> bytes:
    text = f"{seed}\n{topic_id}\n{docno}".encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=16).digest()


WAYS = {
    "topic": "by topic: one assessor per topic",
    "share": "by share: each topic is divided among all assessors",
    "all": "all: every assessor judges every document",
}
"""Way of distributing the work -> label in forms; the first is the default."""
DEFAULT_OVERLAP = 0.15
MOST_OVERLAP = 1.0
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Plan:
    """An assignment of topics to assessors."""

    assessors: Annotated[tuple[int, ...], Field(title="Assessors", help="Their ids.")]
    way: Annotated[
        str,
        Field(
            title="Distribution",
            help="One assessor per topic, each topic divided among all, or all documents to all.",
            choices=WAYS,
        ),
    ] = "topic"
    overlap: Annotated[
        float,
        Field(
            title="Overlap",
            help="Share of each topic that two assessors judge, drawn at random. 10 to 20 percent shows how "
            "well they agree.",
            least=0,
            most=1,
            is_percent=True,
        ),
    ] = DEFAULT_OVERLAP
    order: Annotated[
        str, Field(title="Order", help="Order of documents; a pool's method may decide it.", choices=ORDERS)
    ] = "docno"
    seed: Annotated[int, Field(title="Random seed", least=0, most=LARGEST_SEED)] = 0
    topics: Annotated[
        tuple[str, ...], Field(title="Topics", help="Leave empty for all topics.", typed="words")
    ] = ()


def assign(session: Session, viewer: Viewer, slug: str, number: int, plan: Plan) -> int:
    """Assign a pool's documents as planned, replacing the assignments; return their number.

    Topics outside the plan keep their assessors. Existing judgments are kept, regardless of assignments.
    Raises Invalid for an invalid plan, Closed for a closed pool.
    """
    task, pool = pools.own_pool(session, viewer, slug, number)
    if pool.state == "closed":
        raise Closed("This pool is closed. Reopen it before you reassign its documents.")
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


ASSIGN = Action(
    name="assign",
    summary="Assign a pool's documents to assessors",
    method="PUT",
    path="/tasks/<slug>/pools/<id:number>/assignments",
    form="/tasks/<slug>/pools/<id:number>/assignments",
    page="assessors.show",
    may=pools.own_pool,
    record=Plan,
    act=assign,
    done=lambda _, count: f"{count} assignments",
)


def share_of(assignment: Assignment) -> Share:
    """The share of its topic that an assignment covers."""
    return Share(
        parts=assignment.parts,
        part=assignment.part,
        overlap=assignment.overlap,
        order=assignment.document_order,
        seed=assignment.seed,
    )


def asked(given: Iterable[Assignment], documents: Mapping[str, int]) -> Counter[int]:
    """Assessor id -> number of documents in some assignments; documents: by topic."""
    counts = Counter[int]()
    for assignment in given:
        counts[assignment.assessor_id] += size(share_of(assignment), documents.get(assignment.topic_id, 0))
    return counts


def _people(session: Session, task_id: int, plan: Plan) -> list[int]:
    """The checked ids of the plan's assessors; raises Invalid."""
    problems = []
    if plan.way not in WAYS:
        problems.append(Problem(f"must be one of {', '.join(WAYS)}.", field="way", value=plan.way))
    if plan.order not in ORDERS:
        problems.append(Problem(f"must be one of {', '.join(ORDERS)}.", field="order", value=plan.order))
    if not 0 <= plan.overlap <= MOST_OVERLAP:
        rule = "must be between 0 and 100 percent."
        problems.append(Problem(rule, "10 to 20 percent shows how well assessors agree.", field="overlap"))
    if not 0 <= plan.seed <= LARGEST_SEED:
        problems.append(Problem(f"must be a whole number up to {LARGEST_SEED:,}.", field="seed"))
    chosen = list(dict.fromkeys(plan.assessors))
    if not chosen or not judging.able(session, task_id).keys() >= set(chosen):
        rule = "must be people of this task with a valid link."
        problems.append(Problem(rule, "Add assessors first, then choose at least one.", field="assessors"))
    if problems:
        raise Invalid("The documents cannot be assigned.", problems)
    return chosen


def _topics(session: Session, pool: Pool, plan: Plan) -> dict[str, int]:
    """Topic -> number of documents to judge, in the task's order."""
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
        raise Invalid("The documents cannot be assigned.", [problem])
    return {topic: count for topic, count in every.items() if not plan.topics or topic in plan.topics}


def _by_topic(topics: Mapping[str, int], people: Sequence[int], plan: Plan) -> dict[tuple[str, int], Share]:
    """Assign topics, largest first, to the person with the fewest documents; another judges the overlap."""
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
    """Assign everyone a share of each topic, or all of it."""
    if plan.way == "all":
        return {(topic, person): Share() for topic in topics for person in people}
    overlap = share_of_topic(plan.overlap, len(people))
    return {
        (topic, person): Share(len(people), part, overlap)
        for topic in topics
        for part, person in enumerate(people)
    }


def _seed(seed: int, assessor_id: int) -> int:
    """A seed per assessor, so that each gets a different order."""
    return (seed * 1_000_003 + assessor_id) % LARGEST_SEED


AHEAD = 5
"""Number of further documents on the page, which can be judged without a connection."""
PAUSE_S = 300.0
"""Longer times count as pauses."""


@dataclass(frozen=True, slots=True)
class ComingDocument:
    """A coming document; in an adaptive pool, condition says which grade of the shown one leads to it."""

    docno: str
    condition: str = ""
    """`relevant`, `other`, or empty."""


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """State that decides the next document in an adaptive pool."""

    topic: LiveTopic | None
    """None if the assessor has no part of the topic."""
    part: frozenset[str]
    """Documents of the assessor's own part."""
    twice: tuple[str, ...]
    """Documents of other parts that another assessor judged and this one judges too."""
    grades: Mapping[str, int]
    """Docno -> grade of every judged document, by any assessor."""

    def next(self, grades: Mapping[str, int], given: Set[str], level: int) -> str | None:
        """The next document of the own part that the method selects, then the overlap.

        given: documents that the assessor already graded or skipped.
        """
        if self.topic is not None:
            docno = self.topic.next(grades, self.part, given - grades.keys(), level)
            if docno is not None:
                return docno
        return next((docno for docno in self.twice if docno not in given), None)


@dataclass(frozen=True, slots=True, eq=False)
class Queue:
    """One assessor's documents and labels on one topic of a pool."""

    assessor: Assessor
    task: Task
    pool: Pool
    topic: Topic
    docnos: tuple[str, ...]
    """The assessor's documents in order; in an adaptive pool, only judged ones."""
    total: int
    """Number of documents of the assessor; approximate in an adaptive pool."""
    own: Mapping[str, Label]
    """Docno -> this assessor's label."""
    method: Method | None
    """None unless the pool is adaptive."""

    @property
    def judged(self) -> int:
        """Number of graded documents."""
        return sum(self.own[docno].grade is not None for docno in self.docnos if docno in self.own)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Skipped documents."""
        return tuple(docno for docno in self.docnos if docno in self.own and self.own[docno].grade is None)

    def first(self) -> str | None:
        """The document to judge now; None when only skipped ones are left."""
        if self.method is not None:
            return self.method.next(self.method.grades, self.own.keys(), self.task.level)
        return next((docno for docno in self.docnos if docno not in self.own), None)

    def ahead(self, after: str) -> tuple[ComingDocument, ...]:
        """The documents that follow an unjudged document."""
        if self.method is not None:
            return _branches(self.method, after, self.own.keys(), self.task.level)
        place = self.docnos.index(after) + 1 if after in self.docnos else 0
        later = (*self.docnos[place:], *self.docnos[:place])
        left = [docno for docno in later if docno not in self.own and docno != after]
        return tuple(ComingDocument(docno) for docno in left[:AHEAD])

    def pace(self) -> float | None:
        """Median seconds per document; None before the first."""
        seconds = [label.seconds for label in self.own.values() if label.seconds is not None]
        without_pauses = [took for took in seconds if took <= PAUSE_S]
        return median(without_pauses) if without_pauses else None


def queue(session: Session, token: str, number: int, topic_id: str) -> Queue:
    """The assessor's queue of a topic; raises NotFound for an invalid link or another assessor's topic."""
    assessor, pool = log.assessor_and_pool(session, token, number)
    row = session.execute(
        select(Assignment, PoolTopic.documents, PoolTopic.body, Topic)
        .join(
            PoolTopic, (PoolTopic.pool_id == Assignment.pool_id) & (PoolTopic.topic_id == Assignment.topic_id)
        )
        .join(Topic, (Topic.task_id == pool.task_id) & (Topic.topic_id == Assignment.topic_id))
        .where(
            Assignment.pool_id == pool.id,
            Assignment.assessor_id == assessor.id,
            Assignment.topic_id == topic_id,
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"Topic {topic_id} is not assigned to you.")
    assignment, planned, body, topic = row
    task = session.get_one(Task, pool.task_id)
    share, rows = share_of(assignment), previews.unpack(body)
    part, twice = own_and_shared(rows, share, pool.seed, topic_id)
    # In an adaptive pool the next document depends on the labels of all assessors.
    labels = log.in_force(
        session, pool.id, topic_id=topic_id, assessor_ids=None if pool.adaptive else (assessor.id,)
    )
    own = {label.docno: label for label in labels if label.assessor_id == assessor.id}
    if pool.adaptive:
        docnos, total = tuple(own), max(size(share, planned), len(own))
        others = {label.docno for label in labels if label.assessor_id != assessor.id}
        method = Method(
            topic=live_topic(session, task, pool, topic_id) if part else None,
            part=frozenset(row.docno for row in part),
            twice=tuple(row.docno for row in twice if row.docno in others),
            grades=_grades(rows, labels),
        )
    else:
        docnos = _in_order(rows, (*part, *twice), share, topic_id)
        total, method = len(docnos), None
    return Queue(
        assessor=assessor,
        task=task,
        pool=pool,
        topic=topic,
        docnos=docnos,
        total=total,
        own=own,
        method=method,
    )


def judged_topics(session: Session, assessor_id: int, pool_ids: Sequence[int]) -> dict[tuple[int, str], int]:
    """(pool, topic) -> documents that the assessor has graded, not counting withdrawn judgments."""
    rows = session.execute(
        select(Assessment.pool_id, Assessment.topic_id, Assessment.docno, Assessment.grade)
        .where(
            Assessment.assessor_id == assessor_id,
            Assessment.pool_id.in_(pool_ids),
            Assessment.undone.is_(False),
        )
        .order_by(Assessment.saved_at, Assessment.id)
    )
    last = {(row.pool_id, row.topic_id, row.docno): row.grade for row in rows}
    return Counter((pool_id, topic_id) for (pool_id, topic_id, _), grade in last.items() if grade is not None)


def _in_order(
    rows: Sequence[PoolDocument], mine: Sequence[PoolDocument], share: Share, topic_id: str
) -> tuple[str, ...]:
    """The assessor's documents in order; rows are in order of priority."""
    docnos = {row.docno for row in mine}
    ordered = in_order([row for row in rows if row.docno in docnos], share, topic_id)
    return tuple(row.docno for row in ordered)


def _grades(rows: Sequence[PoolDocument], labels: Sequence[Label]) -> dict[str, int]:
    """Docno -> grade: the last label, else the reused judgment."""
    used = {row.docno: row.grade for row in rows if row.grade is not None}
    by_time = sorted(labels, key=lambda label: label.saved_at)
    return used | {label.docno: label.grade for label in by_time if label.grade is not None}


def _branches(method: Method, shown: str, own: Set[str], level: int) -> tuple[ComingDocument, ...]:
    """The document after the one shown: if that is relevant, and if it is not."""
    given = {*own, shown}
    hit = method.next({**method.grades, shown: level}, given, level)
    miss = method.next({**method.grades, shown: 0}, given, level)
    if hit == miss:
        return (ComingDocument(hit),) if hit is not None else ()
    both = ((hit, "relevant"), (miss, "other"))
    return tuple(ComingDocument(docno, condition) for docno, condition in both if docno is not None)
