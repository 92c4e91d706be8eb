"""Editions of a board: built by jobs, and switched to when all jobs are done."""

from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from leaderboard.core import events, kinds
from leaderboard.core.jobs import queue
from leaderboard.db.engine import lock_row, now
from leaderboard.db.evaluations import DAMAGED_TOO
from leaderboard.db.tables import Edition, Job, QrelsRevision, Run, Task, Topic, TopicSet
from leaderboard.scoring.ops.qrels import files


def build(session: Session, task: Task, revision: QrelsRevision) -> Edition:
    """Create a new edition of the task's board under the revision, with one job per run.

    The board shows the previous edition until the last job is done. The first edition of a task is shown
    from the start, with its runs as queued.
    """
    lock_row(session, Task, task.id)
    at = now(session)
    _supersede_building(session, task.id)
    last = session.scalar(select(func.max(Edition.number)).where(Edition.task_id == task.id)) or 0
    edition = Edition(
        task_id=task.id,
        number=last + 1,
        revision_id=revision.id,
        companions=files.companions(session, revision) or None,
        dialect=task.dialect,
        measures=kinds.of(task.kind).measures(session, task, revision),
        primary_measure=task.primary_measure,
        topic_sets=topic_sets(session, task.id, revision.topics),
        state="building" if last else "current",
        created_at=at,
        shown_from=None if last else at,
    )
    session.add(edition)
    session.flush()
    runs = select(Run.id).where(Run.task_id == task.id, Run.withdrawn_at.is_(None)).order_by(Run.id)
    priority = queue.AGAIN if last else queue.FRESH
    run_ids = session.scalars(runs).all()
    queue.enqueue_new(session, queue.EVALUATE, run_ids, priority=priority, edition_id=edition.id)
    if not settle(session, edition.id) and not last:
        for listener in events.LISTENERS:
            listener.edition_shown(session, edition)
    return edition


def knows(session: Session, task: Task, revision: QrelsRevision) -> bool:
    """Whether the newest edition has means over the task's current topic sets."""
    newest = select(Edition).where(Edition.task_id == task.id).order_by(Edition.number.desc()).limit(1)
    edition = session.scalar(newest, execution_options=DAMAGED_TOO)
    # A damaged one is built again.
    return edition is None or (
        edition.is_whole and edition.topic_sets == topic_sets(session, task.id, revision.topics)
    )


def queue_run(session: Session, run: Run) -> int:
    """Queue a new run for the shown edition and one in progress; returns the number of jobs."""
    open_editions = session.scalars(
        select(Edition.id).where(Edition.task_id == run.task_id, Edition.state.in_(("current", "building")))
    ).all()
    for edition_id in open_editions:
        _queue(session, run.id, edition_id, queue.FRESH)
    return len(open_editions)


def settle(session: Session, edition_id: int) -> bool:
    """Show an edition in progress if all its jobs are finished; returns whether it is shown.

    The task's row is locked first, so that if two workers finish the last two jobs at the same time, the
    second sees both as done. A failed job blocks the switch.
    """
    edition = session.get(Edition, edition_id)
    if edition is None or edition.state != "building":
        return False
    lock_row(session, Task, edition.task_id)
    session.flush()
    if queue.is_unfinished(session, edition_id):
        return False
    at = now(session)
    session.execute(
        update(Edition)
        .where(Edition.task_id == edition.task_id, Edition.state == "current")
        .values(state="past", shown_to=at)
    )
    edition.state, edition.shown_from = "current", at
    session.flush()
    for listener in events.LISTENERS:
        listener.edition_shown(session, edition)
    return True


def task_of(session: Session, edition_id: int) -> int:
    """The id of the task of an edition."""
    return session.get_one(Edition, edition_id).task_id


def drop_jobs(session: Session, run_id: int) -> None:
    """Cancel the unfinished jobs of a withdrawn run, and switch editions if nothing else is pending."""
    mine = (Job.kind == queue.EVALUATE, Job.subject_id == run_id, Job.state.in_(queue.UNFINISHED))
    editions = session.scalars(select(Job.edition_id).where(*mine).distinct()).all()
    session.execute(update(Job).where(*mine).values(state="superseded", lease_until=None))
    for edition_id in editions:
        if edition_id is not None:
            settle(session, edition_id)


def _queue(session: Session, run_id: int, edition_id: int, priority: int) -> None:
    queue.enqueue(session, queue.EVALUATE, run_id, priority=priority, edition_id=edition_id)


def _supersede_building(session: Session, task_id: int) -> None:
    older = select(Edition.id).where(Edition.task_id == task_id, Edition.state == "building")
    session.execute(
        update(Job)
        .where(Job.edition_id.in_(older), Job.state.in_(("queued", "failed")))
        .values(state="superseded")
    )
    session.execute(
        update(Edition).where(Edition.task_id == task_id, Edition.state == "building").values(state="past")
    )


def topic_sets(session: Session, task_id: int, judged: list[str]) -> dict[str, Any]:
    """The topics of each set that count under a revision: judged, in the task, not excluded."""
    rows = session.execute(select(Topic.topic_id, Topic.excluded).where(Topic.task_id == task_id))
    counted = {topic_id for topic_id, excluded in rows if not excluded}
    sets = session.scalars(select(TopicSet).where(TopicSet.task_id == task_id))
    return {
        topic_set.name: {
            "id": topic_set.id,
            "topics": [
                topic
                for topic in judged
                if topic in counted and (topic_set.topics is None or topic in topic_set.topics)
            ],
        }
        for topic_set in sets
    }
