"""The log of what assessors decided: every event is stored once, in whatever order they come."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, Assessor, Assignment, Pool, PoolTopic, Task
from leaderboard.errors import Closed, Conflict, Invalid, NotFound, Problem
from leaderboard.services import throttles
from leaderboard.services.assessors import links
from leaderboard.services.pools import documents
from leaderboard.services.tasks import grade_scales

KEY_CHARACTERS = 64
NOTE_CHARACTERS = 2000
EVENTS_A_MINUTE = 900
"""Of one assessor: far more than any person judges, enough for a day's work after a lost connection."""
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
    throttles.spend(session, f"judge:{checked.assessor_id}", EVENTS_A_MINUTE, timedelta(minutes=1))
    if session.scalar(select(Assessor.token_sha256).where(Assessor.id == checked.assessor_id)) is None:
        raise NotFound(links.DEAD_LINK)
    stored = _of_key(session, checked)
    if stored is None:
        try:
            with session.begin_nested():
                session.add(_row(session, checked))
            return True
        except IntegrityError:
            # The same judgment came by another connection at this very moment.
            stored = _of_key(session, checked)
    if stored is None or not _is_same(stored, checked):
        raise Conflict("Another judgment was stored under this key.")
    if checked.sent.undone and not stored.undone:
        stored.undone = True
    return False


def undo_last(session: Session, token: str, number: int, topic_id: str) -> str | None:
    """Take back what the assessor decided last on a topic; its document, None where there is nothing."""
    assessor, pool = assessor_and_pool(session, token, number)
    require_open(pool)
    last = session.execute(
        select(Assessment.id, Assessment.docno)
        .where(
            Assessment.assessor_id == assessor.id,
            Assessment.pool_id == pool.id,
            Assessment.topic_id == topic_id,
            Assessment.undone.is_(False),
        )
        .order_by(Assessment.saved_at.desc(), Assessment.id.desc())
        .limit(1)
    ).one_or_none()
    if last is None:
        return None
    session.execute(update(Assessment).where(Assessment.id == last.id).values(undone=True))
    return str(last.docno)


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
    query = select(
        Assessment.topic_id,
        Assessment.docno,
        Assessment.assessor_id,
        Assessment.grade,
        Assessment.note,
        Assessment.saved_at,
        Assessment.seconds,
        Assessment.key,
    ).where(Assessment.pool_id == pool_id, Assessment.undone.is_(False))
    if topic_id is not None:
        query = query.where(Assessment.topic_id == topic_id)
    if assessor_ids is not None:
        query = query.where(Assessment.assessor_id.in_(assessor_ids))
    rows = session.execute(query.order_by(Assessment.saved_at, Assessment.id))
    last = {(row.topic_id, row.docno, row.assessor_id): Label._make(row) for row in rows}
    return tuple(last[key] for key in sorted(last))


def _of_key(session: Session, checked: CheckedLabel) -> Assessment | None:
    return session.scalar(
        select(Assessment).where(
            Assessment.assessor_id == checked.assessor_id, Assessment.key == checked.sent.key
        )
    )


def _is_same(stored: Assessment, checked: CheckedLabel) -> bool:
    place = (checked.pool_id, checked.topic_id, checked.sent.docno, checked.sent.grade)
    return (stored.pool_id, stored.topic_id, stored.docno, stored.grade) == place


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
    problems = []
    if not sent.key or len(sent.key) > KEY_CHARACTERS or not sent.key.isprintable():
        rule = f"must be 1 to {KEY_CHARACTERS} characters."
        problems.append(Problem(rule, "Make one at random for each judgment.", field="key"))
    if sent.grade is not None and sent.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}, or nothing to skip."
        problems.append(Problem(rule, "", field="grade", value=str(sent.grade)))
    if len(sent.note) > NOTE_CHARACTERS:
        rule = f"may have at most {NOTE_CHARACTERS:,} characters."
        problems.append(Problem(rule, "Shorten it.", field="note"))
    if problems:
        raise Invalid("This judgment cannot be stored.", problems)
    return sent._replace(note=sent.note.strip())
