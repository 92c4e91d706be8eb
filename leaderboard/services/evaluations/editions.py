"""What a board shows: editions are built by jobs and switched to at once when all of these are done."""

from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.evaluations import DAMAGED_TOO
from leaderboard.db.tables import Edition, Job, QrelsRevision, Run, Task, Topic, TopicSet
from leaderboard.services import kinds
from leaderboard.services.jobs import queue
from leaderboard.services.qrels import files
from leaderboard.services.webhooks import webhooks


def build(session: Session, task: Task, revision: QrelsRevision) -> Edition:
    """A new edition of the task's board under the revision, with one job for every run.

    The board keeps showing the edition before until the last job is done; the first edition of a
    task has nothing to keep and is shown from the start, its runs as queued.
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
        webhooks.edition_shown(session, edition)
    return edition


def knows(session: Session, task: Task, revision: QrelsRevision) -> bool:
    """Whether the newest edition has means over the task's sets of topics as they are now."""
    newest = select(Edition).where(Edition.task_id == task.id).order_by(Edition.number.desc()).limit(1)
    known = session.scalar(newest, execution_options=DAMAGED_TOO)
    # A damaged one is built anew.
    return known is None or (
        known.is_whole and known.topic_sets == topic_sets(session, task.id, revision.topics)
    )


def queue_run(session: Session, run: Run) -> int:
    """Queue a new run's evaluation for the shown edition and for one being built; how many jobs."""
    open_editions = session.scalars(
        select(Edition.id).where(Edition.task_id == run.task_id, Edition.state.in_(("current", "building")))
    ).all()
    for edition_id in open_editions:
        _queue(session, run.id, edition_id, queue.FRESH)
    return len(open_editions)


def settle(session: Session, edition_id: int) -> bool:
    """Show a building edition if none of its jobs is unfinished; whether it is shown now.

    The task's row is locked first, so that of two workers finishing the last two jobs at the
    same moment the second sees both done. A failed job blocks the switch.
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
    webhooks.edition_shown(session, edition)
    return True


def task_of(session: Session, edition_id: int) -> int:
    """The id of the task whose board the edition is."""
    return session.get_one(Edition, edition_id).task_id


def drop_jobs(session: Session, run_id: int) -> None:
    """Give up the unfinished jobs of a withdrawn run, and switch where they were the last obstacle."""
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
    """Each topic set as it counts under a revision: judged, of the task, and not excluded."""
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
