"""Grades that an adjudicator decides: stored like any label, and taken back like one."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessment, Assessor, Pool, Task
from leaderboard.errors import Closed, Conflict, Invalid, NotFound, Problem
from leaderboard.services import audit
from leaderboard.services.assessors import links
from leaderboard.services.assessors.log import KEY_CHARACTERS, NOTE_CHARACTERS
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import grade_scales


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
    task, pool = links.own_pool(session, viewer, slug, number)
    _check_decision(task, pool, made)
    topic_id, docno = made.topic_id, made.docno
    judged = select(Assessment.id).where(
        Assessment.pool_id == pool.id, Assessment.topic_id == topic_id, Assessment.docno == docno
    )
    if session.scalar(judged.limit(1)) is None:
        raise NotFound(f"Nobody has judged document {docno!r} for topic {topic_id!r} in pool {number}.")
    adjudicator = adjudicator_of(session, viewer, task)
    known = select(Assessment.id).where(Assessment.assessor_id == adjudicator.id, Assessment.key == made.key)
    if session.scalar(known) is not None:
        return False
    at = now(session)
    session.add(
        Assessment(
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
    )
    session.flush()
    return True


def undo(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[str, str]:
    """Take back the viewer's last decision in a pool; its topic and docno. Raises NotFound for none."""
    task, pool = links.own_pool(session, viewer, slug, number)
    adjudicator = adjudicator_of(session, viewer, task)
    last = session.scalar(
        select(Assessment)
        .where(
            Assessment.assessor_id == adjudicator.id,
            Assessment.pool_id == pool.id,
            Assessment.undone.is_(False),
        )
        .order_by(Assessment.saved_at.desc(), Assessment.id.desc())
        .limit(1)
    )
    if last is None:
        raise NotFound("You have decided on nothing in this pool that could be taken back.")
    last.undone = True
    session.flush()
    return last.topic_id, last.docno


def _check_decision(task: Task, pool: Pool, made: Decision) -> None:
    if pool.state == "draft":
        raise Closed("Judging has not begun yet, so there is nothing to decide.")
    problems = []
    grades = grade_scales.grades(task)
    if made.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}."
        problems.append(Problem(rule, field="grade", value=str(made.grade)))
    if not made.key.isprintable() or not 1 <= len(made.key) <= KEY_CHARACTERS:
        problems.append(Problem(f"must be 1 to {KEY_CHARACTERS} characters.", field="key"))
    if len(made.note) > NOTE_CHARACTERS:
        rule = f"may have at most {NOTE_CHARACTERS:,} characters."
        problems.append(Problem(rule, "Shorten it.", field="note"))
    if problems:
        raise Invalid("This decision cannot be stored.", problems)


def adjudicator_of(session: Session, viewer: Viewer, task: Task) -> Assessor:
    """The assessor whose labels are the viewer's decisions, made at the first one; it has no link."""
    name = f"{viewer.name or 'operator'} (adjudicator)"
    # Two first decisions at once would make two assessors of one name.
    lock_row(session, Task, task.id)
    adjudicator = links.of_name(session, task.id, name)
    if adjudicator is None:
        adjudicator = Assessor(task_id=task.id, name=name, role=links.ADJUDICATOR, created_at=now(session))
        session.add(adjudicator)
        session.flush()
        audit.record(session, viewer, "assessor.add", f"assessor:{adjudicator.id}", task=task.slug, name=name)
    if adjudicator.role != links.ADJUDICATOR:
        raise Conflict(f"{name} is an assessor of this task; decisions need a name of their own.")
    return adjudicator
