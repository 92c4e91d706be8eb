"""What assessors of pools say, and what adjudicators decide where they differ: events of one log."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, Assessor, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import Closed, Invalid, NotFound, Problem
from leaderboard.memory import keep_by
from leaderboard.services import judging
from leaderboard.services.judging import GivenLabel, Judge, JudgedLabels, judges_of
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools, previews
from leaderboard.services.tasks import setting_values
from leaderboard.services.tasks.setting_values import Grade
from leaderboard.tables.record import Place, Shown

EVENTS_A_MINUTE = 900
"""Of one assessor: far more than any person judges, enough for a day's work after a lost connection."""
PLACE = ("pool_id", "topic_id", "docno")
"""What an event is of."""
LONGEST = timedelta(days=60)
"""How old a judgment may be when it is sent."""


class SentLabel(NamedTuple):
    """A judgment as an assessor's browser sends it; moments are by that browser's clock."""

    key: str
    docno: str
    grade: int | None
    """None: skipped."""
    note: str = ""
    shown_at: datetime | None = None
    saved_at: datetime | None = None
    sent_at: datetime | None = None
    """When it was sent, so that a wrong clock does not matter."""
    undone: bool = False
    """Whether it was taken back since."""


@dataclass(frozen=True, slots=True)
class CheckedLabel:
    """A judgment that may be stored, and for what."""

    assessor_id: int
    pool_id: int
    topic_id: str
    sent: SentLabel


class Label(NamedTuple):
    """The label of one assessor for one document that is in force."""

    topic_id: str
    docno: str
    assessor_id: int
    grade: int | None
    """None: skipped."""
    note: str
    saved_at: datetime
    seconds: float | None
    key: str


def check(session: Session, token: str, number: int, topic_id: str, sent: SentLabel) -> CheckedLabel:
    """Whether the judgment may be stored; needs a reading session only.

    Raises NotFound for a dead link, a topic that is not the assessor's or a document that is not in the
    pool, Closed where the pool takes no judgments, Invalid for a bad key, grade or note.
    """
    row = session.execute(
        select(Assessor.id.label("assessor_id"), Pool, Task, PoolTopic.body)
        .select_from(Assessor)
        .join(Pool, (Pool.task_id == Assessor.task_id) & (Pool.number == number))
        .join(Task, Task.id == Pool.task_id)
        .join(Assignment, (Assignment.pool_id == Pool.id) & (Assignment.assessor_id == Assessor.id))
        .join(PoolTopic, (PoolTopic.pool_id == Pool.id) & (PoolTopic.topic_id == Assignment.topic_id))
        .where(judging.is_link(session, token), PoolTopic.topic_id == topic_id)
    ).one_or_none()
    if row is None:
        assessor_and_pool(session, token, number)
        raise NotFound(f"Topic {topic_id} is not among the topics you are asked to judge.")
    assessor_id, pool, task, body = row
    require_open(pool)
    if all(document.docno != sent.docno for document in previews.unpack(body)):
        raise NotFound(f"Document {sent.docno} is not in the pool of topic {topic_id}.")
    return CheckedLabel(assessor_id, pool.id, topic_id, _tidy(sent, setting_values.grades_of_scale(task)))


def assessor_and_pool(session: Session, token: str, number: int) -> tuple[Assessor, Pool]:
    """The assessor whose link it is, and the pool; raises NotFound where they have nothing to judge in it."""
    assessor = judging.by_token(session, token)
    pool = session.scalar(
        select(Pool)
        .join(Assignment, Assignment.pool_id == Pool.id)
        .where(Pool.task_id == assessor.task_id, Pool.number == number, Assignment.assessor_id == assessor.id)
        .limit(1)
    )
    if pool is None:
        raise NotFound(f"There is nothing for you to judge in pool {number}.")
    return assessor, pool


def require_open(pool: Pool) -> None:
    """Raise Closed unless the pool takes judgments."""
    if pool.state == "draft":
        raise Closed("Judging has not begun yet.")
    if pool.state == "closed":
        raise Closed("Judging is over: the organisers have closed this pool.")


def save(session: Session, checked: CheckedLabel) -> bool:
    """Store a judgment, or that it was taken back; whether it is new: what comes again is stored once.

    Nothing depends on the order in which judgments come: the one decided last is in force, and one that
    was taken back stays so even where it is sent again. Raises OverQuota, NotFound where the link was
    revoked meanwhile, Conflict where another judgment has the key.
    """
    judging.spend(session, "judge", checked.assessor_id, EVENTS_A_MINUTE)
    if session.scalar(select(Assessor.token_sha256).where(Assessor.id == checked.assessor_id)) is None:
        raise NotFound(judging.DEAD_LINK)
    same, another = (*PLACE, "grade"), "Another judgment was stored under this key."
    return judging.store_lines(session, _row(session, checked), same, another)


def undo_last(session: Session, token: str, number: int, topic_id: str) -> str | None:
    """Take back what the assessor decided last on a topic; its document, None where there is nothing."""
    assessor, pool = assessor_and_pool(session, token, number)
    require_open(pool)
    of_topic = Assessment.pool_id == pool.id, Assessment.topic_id == topic_id
    last = judging.undo_last(session, Assessment, *of_topic, Assessment.assessor_id == assessor.id)
    return last.docno if last is not None else None


def in_force(
    session: Session,
    pool_id: int,
    *,
    topic_id: str | None = None,
    assessor_ids: Collection[int] | None = None,
) -> tuple[Label, ...]:
    """The labels in force of a pool, or of one topic or some assessors: of each assessor and document the
    one that was decided last and not taken back; by topic, document and assessor.

    A label whose grade is None says that the assessor skipped the document, or looked at it anew and did.
    """
    where = [Assessment.pool_id == pool_id]
    if topic_id is not None:
        where.append(Assessment.topic_id == topic_id)
    if assessor_ids is not None:
        where.append(Assessment.assessor_id.in_(assessor_ids))
    found = judging.in_force(session, Assessment, Label, lambda label: label[:3], *where)
    return tuple(sorted(found, key=lambda label: label[:3]))


def _row(session: Session, checked: CheckedLabel) -> Assessment:
    sent, at = checked.sent, now(session)
    saved_at, seconds = _moments(sent, at)
    return Assessment(
        pool_id=checked.pool_id,
        topic_id=checked.topic_id,
        docno=sent.docno,
        assessor_id=checked.assessor_id,
        grade=sent.grade,
        note=sent.note,
        shown_at=None if seconds is None else saved_at - timedelta(seconds=seconds),
        saved_at=saved_at,
        sent_at=at,
        seconds=seconds,
        key=sent.key,
        undone=sent.undone,
    )


def _moments(sent: SentLabel, at: datetime) -> tuple[datetime, float | None]:
    """When it was decided by the server's clock, and how long that took; `at` is the server's now."""
    seconds = None
    if sent.saved_at is not None and sent.shown_at is not None:
        seconds = min(max((sent.saved_at - sent.shown_at).total_seconds(), 0.0), LONGEST.total_seconds())
    if sent.saved_at is None:
        return at, seconds
    age = (sent.sent_at or at) - sent.saved_at
    return at - min(max(age, timedelta(0)), LONGEST), seconds


def _tidy(sent: SentLabel, grades: Collection[int]) -> SentLabel:
    problems = judging.key_problems(sent.key, "Make one at random for each judgment.")
    if sent.grade is not None and sent.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}, or nothing to skip."
        problems.append(Problem(rule, "", field="grade", value=str(sent.grade)))
    problems += judging.note_problems(sent.note)
    if problems:
        raise Invalid("This judgment cannot be stored.", problems)
    return sent._replace(note=sent.note.strip())


@dataclass(frozen=True, slots=True)
class Decision:
    """An adjudicator's grade of a document; key is chosen by the form, so that it is stored once."""

    topic: str
    docno: str
    grade: int
    note: str
    key: str


def decide(session: Session, viewer: Viewer, slug: str, number: int, made: Decision) -> bool:
    """Store the viewer's decision as an adjudicator's label; whether it is new: a key is stored once.

    Raises Invalid for a grade that the task does not have, a bad key or note, NotFound for a document
    that nobody judged, Closed for a pool that is still a draft.
    """
    task, pool = pools.own_pool(session, viewer, slug, number)
    _check_decision(task, pool, made)
    topic_id, docno = made.topic, made.docno
    judged = select(Assessment.id).where(
        Assessment.pool_id == pool.id, Assessment.topic_id == topic_id, Assessment.docno == docno
    )
    if session.scalar(judged.limit(1)) is None:
        raise NotFound(f"Nobody has judged document {docno!r} for topic {topic_id!r} in pool {number}.")
    adjudicator, at = judging.adjudicator_of(session, viewer, task), now(session)
    event = Assessment(
        pool_id=pool.id,
        topic_id=topic_id,
        docno=docno,
        assessor_id=adjudicator.id,
        grade=made.grade,
        note=made.note.strip(),
        saved_at=at,
        sent_at=at,
        key=made.key,
    )
    return judging.store_lines(session, event)


def undo(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[str, str]:
    """Take back the viewer's last decision in a pool; its topic and docno. Raises NotFound for none."""
    task, pool = pools.own_pool(session, viewer, slug, number)
    own = Assessment.assessor_id == judging.adjudicator_of(session, viewer, task).id
    last = judging.undo_last(session, Assessment, own, Assessment.pool_id == pool.id)
    if last is None:
        raise NotFound("You have decided on nothing in this pool that could be taken back.")
    return last.topic_id, last.docno


def _check_decision(task: Task, pool: Pool, made: Decision) -> None:
    if pool.state == "draft":
        raise Closed("Judging has not begun yet, so there is nothing to decide.")
    problems = []
    grades = setting_values.grades_of_scale(task)
    if made.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}."
        problems.append(Problem(rule, field="grade", value=str(made.grade)))
    problems += [*judging.key_problems(made.key), *judging.note_problems(made.note)]
    if problems:
        raise Invalid("This decision cannot be stored.", problems)


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What every page of a pool says of it."""

    id: int
    task: str
    slug: str
    number: int
    state: str
    documents: int
    level: int
    scale: tuple[Grade, ...]
    grade_names: dict[int, str]
    topics: tuple["TopicOfPool", ...]
    """In the task's order."""

    @property
    def name(self) -> str:
        """What its tables are called."""
        return f"{self.slug}-pool-{self.number}"

    @property
    def documents_of(self) -> dict[str, int]:
        """Topic -> documents to be judged."""
        return {topic.topic_id: topic.documents for topic in self.topics}

    @property
    def is_binary(self) -> bool:
        """Whether there are two grades only."""
        return len(self.scale) <= 2


@dataclass(frozen=True, slots=True)
class TopicOfPool:
    """One topic of a pool."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: Annotated[str, Shown(shown=~Place.PAGE)]
    documents: int
    """To be judged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedPool(JudgedLabels):
    """A pool with everybody's labels, by topic, document and assessor."""

    facts: PoolFacts


def judged_pool(
    session: Session, viewer: Viewer, slug: str, number: int, topic_id: str | None = None
) -> tuple[Task, JudgedPool]:
    """A pool of a task that the viewer organises, with all labels or those of one topic.

    Raises SignInNeeded, Forbidden or NotFound.
    """
    task, pool = pools.seen_pool(session, viewer, slug, number)
    facts = pool_facts(session, task, pool)
    judges = judges_of(session, task)
    adjudicators = tuple(judge for judge in judges if judge.is_adjudicator)
    others = tuple(judge for judge in judges if not judge.is_adjudicator)
    labels = _kept_labels(session, pool, others, _state(session, pool, others))
    decisions = _labels(session, pool.id, adjudicators) if adjudicators else ()
    if topic_id is not None:
        labels = tuple(label for label in labels if label.topic_id == topic_id)
        decisions = tuple(label for label in decisions if label.topic_id == topic_id)
    return task, JudgedPool(judges=judges, labels=labels, decisions=decisions, facts=facts)


def _state(session: Session, pool: Pool, judges: tuple[Judge, ...]) -> tuple[Any, ...]:
    """What tells the labels of a pool at one time from those at any other.

    The log of a pool only grows: an event is never deleted, and it is changed in one way only, when it is
    taken back, which is for good. So whenever a label comes or goes, the number of events or of those taken
    back rises, and neither ever falls: as long as both are the same, so are the labels. The address of the
    database and the moment the pool was made tell pools apart that have the same id, in two databases or one
    after the other.
    """
    events, undone = session.execute(
        select(func.count(), func.count().filter(Assessment.undone.is_(True))).where(
            Assessment.pool_id == pool.id, Assessment.assessor_id.in_([judge.id for judge in judges])
        )
    ).one()
    return str(session.get_bind().engine.url), pool.id, pool.created_at, events, undone, judges


# The lock is for the threads of the web server. Labels are read after they are counted, so what is kept may
# be newer than its counts, never older.
@keep_by(lambda *given: given[-1])
def _kept_labels(
    session: Session, pool: Pool, judges: tuple[Judge, ...], state: tuple[Any, ...]
) -> tuple[GivenLabel, ...]:
    return _labels(session, pool.id, judges)


def _labels(session: Session, pool_id: int, judges: tuple[Judge, ...]) -> tuple[GivenLabel, ...]:
    by_id = {judge.id: judge for judge in judges}
    return tuple(
        GivenLabel(
            label.topic_id,
            label.docno,
            by_id[label.assessor_id],
            label.grade,
            label.saved_at,
            label.note,
            label.seconds,
        )
        for label in in_force(session, pool_id, assessor_ids=list(by_id))
    )


def pool_facts(session: Session, task: Task, pool: Pool) -> PoolFacts:
    """What every page of the pool says of it."""
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.documents, Topic.title, Topic.position)
        .outerjoin(Topic, (Topic.topic_id == PoolTopic.topic_id) & (Topic.task_id == task.id))
        .where(PoolTopic.pool_id == pool.id)
    ).all()
    ordered = sorted(rows, key=lambda row: (row.position is None, row.position or 0, row.topic_id.encode()))
    scale = setting_values.grade_scale(task)
    return PoolFacts(
        id=pool.id,
        task=task.name,
        slug=task.slug,
        number=pool.number,
        state=pool.state,
        documents=sum(row.documents for row in rows),
        level=task.level,
        scale=scale,
        grade_names={grade.value: grade.name for grade in scale if grade.name},
        topics=tuple(TopicOfPool(row.topic_id, row.title or "", row.documents) for row in ordered),
    )
