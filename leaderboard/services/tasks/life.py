"""A task's life beyond its publication: cloned, archived and back, a draft again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from sqlalchemy import delete, insert, literal, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import (
    Edition,
    Phase,
    Qrels,
    QrelsRevision,
    Run,
    Snapshot,
    Task,
    TaskPicture,
    TaskRole,
    Topic,
    TopicSet,
)
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.services import audit, policy
from leaderboard.services.policy import ORGANISER, Viewer
from leaderboard.services.qrels import files as judgments
from leaderboard.services.qrels import judged_inputs, left_out, lines
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.qrels.lines import Origin
from leaderboard.services.revisions import publish
from leaderboard.services.revisions.publish import NewRevision
from leaderboard.services.tasks import changes, slugs

COPIED = tuple(
    column.key
    for column in Task.__table__.columns
    if column.key
    not in {"id", "slug", "name", "published_at", "archived_at", "names_at", "click_key", "created_at"}
)
OF_A_PHASE = tuple(
    column.key
    for column in Phase.__table__.columns
    if column.key not in {"id", "task_id", "topic_set_id", "opens_at", "closes_at", "reveal_at"}
)
OF_A_TOPIC = tuple(column.key for column in Topic.__table__.columns if column.key not in {"id", "task_id"})
OF_A_PICTURE = tuple(
    column.key for column in TaskPicture.__table__.columns if column.key not in {"id", "task_id"}
)
NEWEST, NONE = "newest", "none"


@dataclass(frozen=True, slots=True)
class TaskCopy:
    """What a clone is to be: under which slug and name, with which judgments."""

    slug: Annotated[str, Field(title="Slug", help="Its address.", read=str.strip)]
    name: Annotated[str, Field(title="Name", help="As people read it.")]
    revision: Annotated[
        str, Field(title="Judgments", help="The number of a revision, newest or none.", longest=40)
    ] = NEWEST


def clone(session: Session, viewer: Viewer, slug: str, wanted: TaskCopy) -> str:
    """The slug of a new draft with the task's topics, settings, pictures, judgments; not its runs and dates.

    Raises Invalid for a slug or a name that cannot be, Conflict for a slug that is taken, NotFound for a
    revision there is not.
    """
    task = policy.own_task(session, viewer, slug)
    policy.require_creator(viewer)
    _check(wanted)
    revision = _revision(session, task, wanted.revision)
    slugs.hold(session, wanted.slug)
    slugs.require_free(session, viewer, wanted.slug)
    copied = {key: getattr(task, key) for key in COPIED}
    made = Task(slug=wanted.slug, name=wanted.name.strip(), created_at=now(session), **copied)
    session.add(made)
    session.flush()
    if viewer.account_id is not None:
        session.add(TaskRole(task_id=made.id, account_id=viewer.account_id, role=ORGANISER))
    _copy_topics(session, task, made)
    _copy_phases(session, task, made, _copy_sets(session, task, made))
    _copy_pictures(session, task, made)
    session.flush()
    audit.record(session, viewer, "task.clone", f"task:{made.id}", slug=made.slug, of=task.id)
    if revision is not None:
        maker = replace(viewer, organises=viewer.organises | {made.id})
        _copy_judgments(session, maker, made.slug, revision)
    return made.slug


def archive(session: Session, viewer: Viewer, slug: str) -> None:
    """Take no more runs and stand apart in the list of tasks; everything stays readable."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.published_at is None:
        raise Conflict("A draft is not archived; publish it first, or discard it.")
    if task.archived_at is None:
        task.archived_at = now(session)
        changes.note(session, viewer, task, "archived", "no", "yes")


def restore(session: Session, viewer: Viewer, slug: str) -> None:
    """Bring a task back from the archive; it takes runs again as its dates say."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.archived_at is not None:
        task.archived_at = None
        changes.note(session, viewer, task, "archived", "yes", "no")


def unpublish(session: Session, viewer: Viewer, slug: str) -> None:
    """Make a published task without runs a draft again, which only those with a role in it know of.

    Slugs it had before are free again. Raises Conflict once there is a run or a snapshot.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.published_at is None:
        return
    if has_runs(session, task.id):
        raise Conflict(f"{task.name} has runs, so it cannot be a draft again; archive it instead.")
    if session.scalar(select(Snapshot.id).where(Snapshot.task_id == task.id).limit(1)) is not None:
        raise Conflict(f"A board of {task.name} was frozen under an address that lasts; archive it instead.")
    session.execute(delete(Edition).where(Edition.task_id == task.id))
    slugs.forget(session, task)
    task.published_at = task.archived_at = None
    audit.record(session, viewer, "task.unpublish", f"task:{task.id}", slug=slug)


def discard(session: Session, viewer: Viewer, slug: str) -> None:
    """Delete a draft with its topics and judgments; raises Conflict for a published task or one with runs."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.published_at is not None:
        raise Conflict(f"{task.name} is published; only drafts can be discarded.")
    if has_runs(session, task.id):
        raise Conflict(f"{task.name} has runs; nothing of them is ever deleted.")
    audit.record(session, viewer, "task.discard", f"task:{task.id}", slug=slug)
    session.execute(delete(Task).where(Task.id == task.id))


def has_runs(session: Session, task_id: int) -> bool:
    """Whether the task ever took a run, withdrawn ones too."""
    return session.scalar(select(Run.id).where(Run.task_id == task_id).limit(1)) is not None


def _check(wanted: TaskCopy) -> None:
    problems = []
    if not slugs.is_slug(wanted.slug):
        problems.append(Problem(slugs.RULE, "Choose another.", field="slug", value=wanted.slug[:63]))
    if not 1 <= len(wanted.name.strip()) <= 200:
        problems.append(Problem("must have 1 to 200 characters.", "", field="name", value=wanted.name[:40]))
    if problems:
        raise Invalid("The task cannot be cloned like this.", problems)


def _revision(session: Session, task: Task, number: str) -> QrelsRevision | None:
    if number == NONE:
        return None
    if number == NEWEST:
        return judgments.newest(session, task.id)
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    found = session.scalar(
        select(QrelsRevision)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task.id, Qrels.name == MAIN, QrelsRevision.number == wanted)
    )
    if found is None:
        raise NotFound(f"{task.name} has no qrels revision {number[:40]!r}.")
    return found


def _copy_topics(session: Session, task: Task, made: Task) -> None:
    wanted = [getattr(Topic, key) for key in OF_A_TOPIC]
    rows = select(literal(made.id), *wanted).where(Topic.task_id == task.id).order_by(Topic.position)
    session.execute(insert(Topic).from_select(["task_id", *OF_A_TOPIC], rows))


def _copy_pictures(session: Session, task: Task, made: Task) -> None:
    wanted = [getattr(TaskPicture, key) for key in OF_A_PICTURE]
    rows = select(literal(made.id), *wanted).where(TaskPicture.task_id == task.id)
    session.execute(insert(TaskPicture).from_select(["task_id", *OF_A_PICTURE], rows))


def _copy_sets(session: Session, task: Task, made: Task) -> dict[int | None, int | None]:
    """Id of a topic set -> id of its copy."""
    copies: dict[int | None, int | None] = {None: None}
    for one in session.scalars(select(TopicSet).where(TopicSet.task_id == task.id)).all():
        copy = TopicSet(task_id=made.id, name=one.name, topics=one.topics, seed=one.seed)
        session.add(copy)
        session.flush()
        copies[one.id] = copy.id
    return copies


def _copy_phases(session: Session, task: Task, made: Task, sets: Mapping[int | None, int | None]) -> None:
    phases = session.scalars(select(Phase).where(Phase.task_id == task.id).order_by(Phase.id)).all()
    for phase in phases:
        values = {key: getattr(phase, key) for key in OF_A_PHASE}
        session.add(Phase(task_id=made.id, topic_set_id=sets[phase.topic_set_id], **values))


def _copy_judgments(session: Session, viewer: Viewer, slug: str, revision: QrelsRevision) -> None:
    """The judgments of a revision, and what stands beside them, as first revisions of the clone."""
    beside = judged_inputs.companions(session, revision).values()
    for each in (revision, *(session.get_one(QrelsRevision, other) for other in beside)):
        line = session.get_one(Qrels, each.qrels_id)
        new = NewRevision(
            prepared=lines.stored(session, each),
            note=each.note,
            by=Origin(line.origin, line.origin_name),
            distractors=lines.distractors_of(each) if each is revision else None,
            left_out=left_out.of_revision(each) if each is revision else None,
        )
        publish.revise(session, viewer, slug, new)
