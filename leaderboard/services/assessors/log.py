"""What assessors of pools say, and what adjudicators decide where they differ: events of one log."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, Assessor, Assignment, Pool, PoolTopic, Task
from leaderboard.errors import Closed, Invalid, NotFound, Problem
from leaderboard.services.judging import links, log
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import documents, pools
from leaderboard.services.tasks import grade_scales

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
        .where(links.is_link(session, token), PoolTopic.topic_id == topic_id)
    ).one_or_none()
    if row is None:
        assessor_and_pool(session, token, number)
        raise NotFound(f"Topic {topic_id} is not among the topics you are asked to judge.")
    assessor_id, pool, task, body = row
    require_open(pool)
    if all(document.docno != sent.docno for document in documents.unpack(body)):
        raise NotFound(f"Document {sent.docno} is not in the pool of topic {topic_id}.")
    return CheckedLabel(assessor_id, pool.id, topic_id, _tidy(sent, grade_scales.grades(task)))


def assessor_and_pool(session: Session, token: str, number: int) -> tuple[Assessor, Pool]:
    """The assessor whose link it is, and the pool; raises NotFound where they have nothing to judge in it."""
    assessor = links.by_token(session, token)
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
    log.spend(session, "judge", checked.assessor_id, EVENTS_A_MINUTE)
    if session.scalar(select(Assessor.token_sha256).where(Assessor.id == checked.assessor_id)) is None:
        raise NotFound(links.DEAD_LINK)
    same, another = (*PLACE, "grade"), "Another judgment was stored under this key."
    return log.store(session, _row(session, checked), same, another)


def undo_last(session: Session, token: str, number: int, topic_id: str) -> str | None:
    """Take back what the assessor decided last on a topic; its document, None where there is nothing."""
    assessor, pool = assessor_and_pool(session, token, number)
    require_open(pool)
    of_topic = Assessment.pool_id == pool.id, Assessment.topic_id == topic_id
    last = log.undo_last(session, Assessment, *of_topic, Assessment.assessor_id == assessor.id)
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
    found = log.in_force(session, Assessment, Label, lambda label: label[:3], *where)
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
    problems = log.key_problems(sent.key, "Make one at random for each judgment.")
    if sent.grade is not None and sent.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}, or nothing to skip."
        problems.append(Problem(rule, "", field="grade", value=str(sent.grade)))
    problems += log.note_problems(sent.note)
    if problems:
        raise Invalid("This judgment cannot be stored.", problems)
    return sent._replace(note=sent.note.strip())


@dataclass(frozen=True, slots=True)
class Decision:
    """An adjudicator's grade of a document; key is chosen by the form, so that it is stored once."""

    topic_id: str
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
    topic_id, docno = made.topic_id, made.docno
    judged = select(Assessment.id).where(
        Assessment.pool_id == pool.id, Assessment.topic_id == topic_id, Assessment.docno == docno
    )
    if session.scalar(judged.limit(1)) is None:
        raise NotFound(f"Nobody has judged document {docno!r} for topic {topic_id!r} in pool {number}.")
    adjudicator, at = links.adjudicator_of(session, viewer, task), now(session)
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
    return log.store(session, event)


def undo(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[str, str]:
    """Take back the viewer's last decision in a pool; its topic and docno. Raises NotFound for none."""
    task, pool = pools.own_pool(session, viewer, slug, number)
    own = Assessment.assessor_id == links.adjudicator_of(session, viewer, task).id
    last = log.undo_last(session, Assessment, own, Assessment.pool_id == pool.id)
    if last is None:
        raise NotFound("You have decided on nothing in this pool that could be taken back.")
    return last.topic_id, last.docno


def _check_decision(task: Task, pool: Pool, made: Decision) -> None:
    if pool.state == "draft":
        raise Closed("Judging has not begun yet, so there is nothing to decide.")
    problems = []
    grades = grade_scales.grades(task)
    if made.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}."
        problems.append(Problem(rule, field="grade", value=str(made.grade)))
    problems += [*log.key_problems(made.key), *log.note_problems(made.note)]
    if problems:
        raise Invalid("This decision cannot be stored.", problems)
