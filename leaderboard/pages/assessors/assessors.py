"""What organisers see of a pool's assessors: who has which documents, how far they are, what they read."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessment, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import Invalid, Problem
from leaderboard.pages.assessors import judging
from leaderboard.pages.assessors.judging import SolvedExample
from leaderboard.services import audit, collections
from leaderboard.services.assessors import assignments, log
from leaderboard.services.assessors import links as assessors
from leaderboard.services.assessors.log import Label
from leaderboard.services.assessors.shares import size
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import grade_scales
from leaderboard.services.tasks.grade_scales import Grade

GUIDELINES_CHARACTERS = 100_000
EXAMPLE_CHARACTERS = 20_000
MOST_EXAMPLES = 50


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor of the task and what there is of theirs in the pool."""

    id: int
    name: str
    origin: str
    origin_name: str
    role: str
    has_link: bool
    created_at: datetime
    revoked_at: datetime | None
    topics: int
    documents: int
    """To judge."""
    judged: int
    """Documents with a grade in force."""
    skipped: int
    last_at: datetime | None

    @property
    def is_machine(self) -> bool:
        """Whether the labels are a machine's."""
        return self.origin == assessors.MACHINE


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of the pool: who judges it and how far it is."""

    topic_id: str
    title: str
    documents: int
    assessors: tuple[str, ...]
    order: str
    judged: int
    """Documents that some person has graded."""
    twice: int
    """Documents that two people or more have graded."""


@dataclass(frozen=True, slots=True)
class AssessorsPage:
    """A pool's assessors and topics."""

    task: str
    slug: str
    number: int
    state: str
    adaptive: bool
    seed: int
    documents: int
    assessors: tuple[AssessorRow, ...]
    topics: tuple[TopicRow, ...]
    has_guidelines: bool

    @property
    def people(self) -> tuple[AssessorRow, ...]:
        """Those who can be asked to judge."""
        return tuple(each for each in self.assessors if each.has_link)


@dataclass(frozen=True, slots=True)
class GuidelinesForm:
    """A pool's guidelines as its organisers edit them."""

    task: str
    slug: str
    number: int
    text: str
    examples: tuple[dict[str, Any], ...]
    """As they are stored: topic, docno or text, grade, why."""
    shown: tuple[SolvedExample, ...]
    grades: tuple[Grade, ...]
    topics: tuple[tuple[str, str], ...]
    """(id, title) of the task's topics."""


def assessors_page(session: Session, viewer: Viewer, slug: str, number: int) -> AssessorsPage:
    """Who judges a pool; raises SignInNeeded, Forbidden or NotFound unless the viewer organises the task."""
    task, pool = assessors.own_pool(session, viewer, slug, number)
    given = session.scalars(select(Assignment).where(Assignment.pool_id == pool.id)).all()
    labels = log.in_force(session, pool.id)
    topics = _pool_topics(session, pool)
    return AssessorsPage(
        task.name,
        slug,
        number,
        pool.state,
        pool.adaptive,
        pool.seed,
        sum(documents for _, documents in topics.values()),
        _assessors(session, task, pool, given, labels, topics),
        _topics(session, task, given, labels, topics),
        bool(pool.guidelines.strip() or pool.examples),
    )


def as_json(page: AssessorsPage) -> dict[str, Any]:
    """The page as JSON facts; of a link only whether there is one."""
    header, rows = assessor_table(page)
    topic_header, topic_rows = topic_table(page)
    return {
        "task": page.slug,
        "pool": page.number,
        "state": page.state,
        "adaptive": page.adaptive,
        "documents": page.documents,
        "assessors": [dict(zip(header, row, strict=True)) for row in rows],
        "topics": [dict(zip(topic_header, row, strict=True)) for row in topic_rows],
    }


def assessor_table(page: AssessorsPage) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """One row an assessor."""
    header = ("assessor", "origin", "machine", "role", "has_link", "topics", "documents", "judged", "skipped")
    rows = [
        (
            *(each.name, each.origin, each.origin_name, each.role, each.has_link),
            *(each.topics, each.documents, each.judged, each.skipped),
        )
        for each in page.assessors
    ]
    return header, rows


def topic_table(page: AssessorsPage) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """One row a topic."""
    header = ("topic", "documents", "assessors", "order", "judged", "judged_twice")
    rows = [
        (each.topic_id, each.documents, ", ".join(each.assessors), each.order, each.judged, each.twice)
        for each in page.topics
    ]
    return header, rows


def guidelines_form(session: Session, viewer: Viewer, slug: str, number: int) -> GuidelinesForm:
    """A pool's guidelines to be edited."""
    task, pool = assessors.own_pool(session, viewer, slug, number)
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    return GuidelinesForm(
        task.name,
        slug,
        number,
        pool.guidelines,
        tuple(pool.examples),
        judging.solved_examples(session, task, pool),
        grade_scales.scale(task),
        tuple((row.topic_id, row.title) for row in rows),
    )


def set_guidelines(session: Session, viewer: Viewer, slug: str, number: int, text: str) -> None:
    """Set what assessors read first, as Markdown; raises Invalid where it is too long."""
    _, pool = assessors.own_pool(session, viewer, slug, number)
    if len(text) > GUIDELINES_CHARACTERS:
        raise Invalid(f"Guidelines may have at most {GUIDELINES_CHARACTERS:,} characters.")
    pool.guidelines = text.replace("\r\n", "\n").strip()
    audit.record(session, viewer, "pool.guidelines", f"pool:{pool.id}")


def add_example(session: Session, viewer: Viewer, slug: str, number: int, example: Mapping[str, Any]) -> None:
    """Add a solved example: topic, docno (whose text is stored) or text, grade, why.

    Raises Invalid where a part is missing or does not fit.
    """
    task, pool = assessors.own_pool(session, viewer, slug, number)
    tidy = {name: str(example.get(name, "")).strip() for name in ("topic", "docno", "text", "why")}
    problems = []
    if len(pool.examples) >= MOST_EXAMPLES:
        problems.append(Problem(f"There are {MOST_EXAMPLES} examples already.", "Remove one first."))
    if example.get("grade") not in grade_scales.grades(task):
        problems.append(Problem("must be one of the task’s grades.", field="grade"))
    if bool(tidy["docno"]) == bool(tidy["text"]):
        remedy = "Give the id of a stored document, or a text of your own."
        problems.append(Problem("One of document id and text is needed, not both.", remedy, field="docno"))
    if tidy["docno"] and not collections.texts(session, task.collection_id, [tidy["docno"]]):
        rule = "must be a document whose text is stored here."
        problems.append(Problem(rule, "Or write its text.", field="docno", value=tidy["docno"][:80]))
    problems += [
        Problem(f"may have at most {EXAMPLE_CHARACTERS:,} characters.", field=name)
        for name, value in tidy.items()
        if len(value) > EXAMPLE_CHARACTERS
    ]
    if problems:
        raise Invalid("This example cannot be added.", problems)
    pool.examples = [*pool.examples, {**tidy, "grade": example["grade"]}]
    audit.record(session, viewer, "pool.example", f"pool:{pool.id}")


def remove_example(session: Session, viewer: Viewer, slug: str, number: int, place: int) -> None:
    """Remove the example at a place, counted from 1; where there is none nothing happens."""
    _, pool = assessors.own_pool(session, viewer, slug, number)
    pool.examples = [each for index, each in enumerate(pool.examples, 1) if index != place]
    audit.record(session, viewer, "pool.example", f"pool:{pool.id}", removed=place)


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
    judged = Counter(each.assessor_id for each in labels if each.grade is not None)
    skipped = Counter(each.assessor_id for each in labels if each.grade is None)
    sent = session.execute(
        select(Assessment.assessor_id, func.max(Assessment.sent_at))
        .where(Assessment.pool_id == pool.id)
        .group_by(Assessment.assessor_id)
    )
    last = {assessor_id: at for assessor_id, at in sent}
    documents: Counter[int] = Counter()
    for each in given:
        documents[each.assessor_id] += size(assignments.share_of(each), topics[each.topic_id][1])
    counts = Counter(each.assessor_id for each in given)
    return tuple(
        AssessorRow(
            *(each.id, each.name, each.origin, each.origin_name, each.role, each.token_sha256 is not None),
            *(each.created_at, each.revoked_at, counts[each.id], documents[each.id]),
            *(judged[each.id], skipped[each.id], last.get(each.id)),
        )
        for each in assessors.of_task(session, task.id)
    )


def _topics(
    session: Session,
    task: Task,
    given: Sequence[Assignment],
    labels: Sequence[Label],
    topics: Mapping[str, tuple[str, int]],
) -> tuple[TopicRow, ...]:
    people = {each.id: each for each in assessors.of_task(session, task.id)}
    who, orders = defaultdict(list), defaultdict(set)
    for each in given:
        who[each.topic_id].append(people[each.assessor_id].name)
        orders[each.topic_id].add(each.document_order)
    graded = Counter(
        (each.topic_id, each.docno)
        for each in labels
        if each.grade is not None and people[each.assessor_id].origin == assessors.HUMAN
    )
    judged = Counter(topic for topic, _ in graded)
    twice = Counter(topic for (topic, _), count in graded.items() if count > 1)
    return tuple(
        TopicRow(
            *(topic, title, documents, tuple(sorted(who[topic])), ", ".join(sorted(orders[topic]))),
            *(judged[topic], twice[topic]),
        )
        for topic, (title, documents) in topics.items()
    )
