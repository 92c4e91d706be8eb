"""Organisers' actions on a task: dates, scored topics, and life cycle."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import delete, insert, literal, select
from sqlalchemy.orm import Session

from leaderboard import zones
from leaderboard.core import audit, policy
from leaderboard.core.actions import Action, File
from leaderboard.core.jobs import leases
from leaderboard.core.policy import ORGANISER, Viewer
from leaderboard.db import words
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
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.scoring.ops import board_measures, scored_topics, setting_values
from leaderboard.scoring.ops.board_measures import NewTopic, TopicFields, TopicText
from leaderboard.scoring.ops.qrels import files as judgments
from leaderboard.scoring.ops.qrels import left_out, lines
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.qrels.lines import Origin
from leaderboard.tasks.ops import drafts, phases

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
    """The requested slug, name and judgments of a clone."""

    slug: Annotated[str, Field(title="Slug", help="Part of the address.", read=str.strip)]
    name: Annotated[str, Field(title="Name", help="Name shown to readers.")]
    revision: Annotated[
        str, Field(title="Judgments", help="A revision number, newest or none.", longest=40)
    ] = NEWEST


def clone(session: Session, viewer: Viewer, slug: str, copy: TaskCopy) -> str:
    """Clone a task as a draft, without runs and dates; return its slug.

    Topics, settings, pictures and judgments are copied. Raises Invalid for an invalid slug or name, Conflict
    for a slug in use, NotFound for an unknown
    revision.
    """
    task = policy.own_task(session, viewer, slug)
    policy.require_creator(viewer)
    _check(copy)
    revision = _revision(session, task, copy.revision)
    drafts.hold_slug(session, copy.slug)
    drafts.require_free(session, viewer, copy.slug)
    copied = {key: getattr(task, key) for key in COPIED}
    draft = Task(slug=copy.slug, name=copy.name.strip(), created_at=now(session), **copied)
    session.add(draft)
    session.flush()
    if viewer.account_id is not None:
        session.add(TaskRole(task_id=draft.id, account_id=viewer.account_id, role=ORGANISER))
    _copy_topics(session, task, draft)
    _copy_phases(session, task, draft, _copy_sets(session, task, draft))
    _copy_pictures(session, task, draft)
    session.flush()
    audit.record(session, viewer, "task.clone", f"task:{draft.id}", slug=draft.slug, of=task.id)
    if revision is not None:
        maker = replace(viewer, organises=viewer.organises | {draft.id})
        _copy_judgments(session, maker, draft.slug, revision)
    return draft.slug


def archive(session: Session, viewer: Viewer, slug: str) -> None:
    """Archive a task: it accepts no more runs and is listed separately; everything stays readable."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.published_at is None:
        raise Conflict("A draft cannot be archived; publish or discard it.")
    if task.archived_at is None:
        task.archived_at = now(session)
        setting_values.note_change(session, viewer, task, "archived", "no", "yes")


def restore(session: Session, viewer: Viewer, slug: str) -> None:
    """Restore a task from the archive; it accepts runs again according to its dates."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.archived_at is not None:
        task.archived_at = None
        setting_values.note_change(session, viewer, task, "archived", "yes", "no")


def unpublish(session: Session, viewer: Viewer, slug: str) -> None:
    """Turn a published task without runs back into a draft, visible only to accounts with a role in it.

    Its former slugs are released. Raises Conflict once there is a run or a snapshot.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.published_at is None:
        return
    if has_runs(session, task.id):
        raise Conflict(f"{task.name} has runs, so it cannot be unpublished; archive it instead.")
    if session.scalar(select(Snapshot.id).where(Snapshot.task_id == task.id).limit(1)) is not None:
        raise Conflict(
            f"{task.name} has a board snapshot with a permanent address; archive the task instead."
        )
    session.execute(delete(Edition).where(Edition.task_id == task.id))
    drafts.forget_slug(session, task)
    task.published_at = task.archived_at = None
    audit.record(session, viewer, "task.unpublish", f"task:{task.id}", slug=slug)


def discard(session: Session, viewer: Viewer, slug: str) -> None:
    """Delete a draft with its topics and judgments; raises Conflict for a published task or one with runs."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if task.published_at is not None:
        raise Conflict(f"{task.name} is published; only drafts can be discarded.")
    if has_runs(session, task.id):
        raise Conflict(f"{task.name} has runs, and runs are never deleted.")
    audit.record(session, viewer, "task.discard", f"task:{task.id}", slug=slug)
    session.execute(delete(Task).where(Task.id == task.id))


def has_runs(session: Session, task_id: int) -> bool:
    """Whether the task ever took a run, withdrawn ones too."""
    return session.scalar(select(Run.id).where(Run.task_id == task_id).limit(1)) is not None


def _check(copy: TaskCopy) -> None:
    problems = []
    if not drafts.is_slug(copy.slug):
        problems.append(Problem(drafts.RULE, "Choose another.", field="slug", value=copy.slug[:63]))
    if not 1 <= len(copy.name.strip()) <= 200:
        problems.append(Problem("must have 1 to 200 characters.", "", field="name", value=copy.name[:40]))
    if problems:
        raise Invalid("The task was not cloned.", problems)


def _revision(session: Session, task: Task, number: str) -> QrelsRevision | None:
    if number == NONE:
        return None
    if number == NEWEST:
        return judgments.newest(session, task.id)
    revision_number = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    revision = session.scalar(
        select(QrelsRevision)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task.id, Qrels.name == MAIN, QrelsRevision.number == revision_number)
    )
    if revision is None:
        raise NotFound(f"{task.name} has no qrels revision {number[:40]!r}.")
    return revision


def _copy_topics(session: Session, task: Task, draft: Task) -> None:
    columns = [getattr(Topic, key) for key in OF_A_TOPIC]
    rows = select(literal(draft.id), *columns).where(Topic.task_id == task.id).order_by(Topic.position)
    session.execute(insert(Topic).from_select(["task_id", *OF_A_TOPIC], rows))
    words.keep_topics(session, draft.id)


def _copy_pictures(session: Session, task: Task, draft: Task) -> None:
    columns = [getattr(TaskPicture, key) for key in OF_A_PICTURE]
    rows = select(literal(draft.id), *columns).where(TaskPicture.task_id == task.id)
    session.execute(insert(TaskPicture).from_select(["task_id", *OF_A_PICTURE], rows))


def _copy_sets(session: Session, task: Task, draft: Task) -> dict[int | None, int | None]:
    """Id of a topic set -> id of its copy."""
    copies: dict[int | None, int | None] = {None: None}
    for topic_set in session.scalars(select(TopicSet).where(TopicSet.task_id == task.id)).all():
        copy = TopicSet(task_id=draft.id, name=topic_set.name, topics=topic_set.topics, seed=topic_set.seed)
        session.add(copy)
        session.flush()
        copies[topic_set.id] = copy.id
    return copies


def _copy_phases(session: Session, task: Task, draft: Task, sets: Mapping[int | None, int | None]) -> None:
    phases = session.scalars(select(Phase).where(Phase.task_id == task.id).order_by(Phase.id)).all()
    for phase in phases:
        values = {key: getattr(phase, key) for key in OF_A_PHASE}
        session.add(Phase(task_id=draft.id, topic_set_id=sets[phase.topic_set_id], **values))


def _copy_judgments(session: Session, viewer: Viewer, slug: str, revision: QrelsRevision) -> None:
    """Copy the judgments of a revision, and related data, as first revisions of the clone."""
    companions = judgments.companions(session, revision).values()
    for each in (revision, *(session.get_one(QrelsRevision, other) for other in companions)):
        line = session.get_one(Qrels, each.qrels_id)
        new = NewRevision(
            prepared=lines.stored(session, each),
            note=each.note,
            by=Origin(line.origin, line.origin_name),
            distractors=lines.distractors_of(each) if each is revision else None,
            left_out=left_out.of_revision(each) if each is revision else None,
        )
        revisions.revise(session, viewer, slug, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDates:
    """The submission period of a task with one phase; null means no limit."""

    opens_at: Annotated[
        datetime | None,
        Field(
            title="Opens (UTC)",
            help="When submissions open; a date alone means its start. [no limit]",
            option="opens",
        ),
    ] = None
    closes_at: Annotated[
        datetime | None,
        Field(
            title="Closes (UTC)",
            help="When submissions close; a date alone means its end. [no limit]",
            option="closes",
        ),
    ] = None
    zone: Annotated[
        str, Field(title="Time zone", help="Time zone of these dates: UTC, AoE or a zone name.", longest=40)
    ] = "UTC"
    reason: Annotated[
        str,
        Field(
            title="Reason for moving the deadline",
            help="Required if the deadline moves; shown to participants.",
        ),
    ] = ""
    seen: Annotated[str, Field(title="Seen", is_carried=True)] = ""
    """The stamp of the dates as the organiser saw them; empty: not seen."""

    @property
    def span(self) -> str:
        """The period, as text."""
        return zones.span(self.opens_at, self.closes_at, self.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Why a topic is left out."""

    reason: Annotated[str, Field(title="Reason", help="Leave empty to include the topic again.", least=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTopics:
    """Topics that count: those with judgments, or all as soon as they have some."""

    topics: Annotated[
        str, Field(title="Topics that count", choices={"judged": "judged topics", "all": "all"})
    ]


def set_dates(
    session: Session,
    viewer: Viewer,
    slug: str,
    span: tuple[datetime | None, datetime | None],
    *,
    zone: str = "UTC",
    reason: str = "",
    seen: str = "",
) -> None:
    """Set the submission period of the task's first phase; None means no limit.

    Raises Invalid where it would close before it opens, and for a deadline that is moved without a reason;
    Conflict where the dates do not have the stamp any more that was seen (empty: none was).
    """
    task = policy.own_task(session, viewer, slug)
    setting_values.require_order(*span)
    zones.require_zone(zone)
    lock_row(session, Task, task.id)
    phase = phases.of_task(session, task.id)[0]
    # Read before it was locked, it may have been changed by an earlier holder of the lock.
    session.refresh(phase)
    before = setting_values.described_dates(phase)
    if seen not in ("", setting_values.stamp(before)):
        sentence = setting_values.who_changed(session, viewer, task, {f"dates of {phase.name}"}, "dates")
        raise Conflict(f"{sentence} {setting_values.SAVE_AGAIN}")
    setting_values.require_reason(task, phase, span[1], reason)
    (phase.opens_at, phase.closes_at), phase.zone = span, zone
    opens, closes = (moment.isoformat() if moment else "" for moment in span)
    audit.record(session, viewer, "task.dates", f"task:{task.id}", opens=opens, closes=closes)
    setting_values.note_dates(session, viewer, task, phase, before, reason.strip())


def exclude_topic(session: Session, viewer: Viewer, slug: str, topic_id: str, reason: str) -> None:
    """Leave a topic of a draft out of all means, with the reason; an empty reason includes it again."""
    task = policy.own_task(session, viewer, slug)
    if task.published_at is not None:
        raise Conflict("Topics can be excluded only before the task is published.")
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise NotFound(f"There is no topic {topic_id!r} in this task.")
    topic.excluded = reason.strip()
    audit.record(session, viewer, "topic.exclude", f"task:{task.id}", topic=topic_id, reason=topic.excluded)


def _score(session: Session, viewer: Viewer, slug: str, asked: ScoredTopics) -> int:
    acts = {"judged": scored_topics.score_judged, "all": scored_topics.score_all}
    return acts[asked.topics](session, viewer, slug)


def _clone(session: Session, viewer: Viewer, slug: str, copy: TaskCopy) -> TaskCopy:
    clone(session, viewer, slug, copy)
    return copy


def _topic(session: Session, viewer: Viewer, slug: str, topic_id: str) -> TopicText:
    topic = scored_topics.find_topic(session, policy.own_task(session, viewer, slug), topic_id)
    return TopicText(topic.title, topic.description, topic.narrative)


_DESK: Any = {"page": "organise.show"}
_SETTINGS: Any = {"page": "settings.show"}
PUBLISH = Action(
    name="publish_task",
    summary="Publish a draft",
    more="Everybody can see the task, and it accepts runs.",
    path="/tasks/<slug>/publish",
    form="/tasks/<slug>/organise/publish",
    act=drafts.publish,
    done=lambda *_: "published",
    **_DESK,
)
SCORE = Action(
    name="score_topics",
    summary="Set whether unjudged topics count",
    more="`judged` excludes them from means and rules; with `all` they count as soon as they have judgments.",
    method="PUT",
    path="/tasks/<slug>/scored-topics",
    form="/tasks/<slug>/organise/topics/<any(judged, all):topics>",
    record=ScoredTopics,
    act=_score,
    done=lambda asked, _: f"{asked.topics} topics count",
    **_DESK,
)
CLONE = Action(
    name="clone_task",
    summary="Clone a task: same topics, settings and judgments",
    path="/tasks/<slug>/clone",
    form="/tasks/<slug>/clone",
    record=TaskCopy,
    act=_clone,
    done=lambda copy, _: f"cloned as draft {copy.slug}",
    status=201,
    **_SETTINGS,
)
REPLACE_TOPICS = Action(
    name="replace_topics",
    summary="Replace all topics by those of a file",
    more="Only before the first run. `fields` maps the id and title fields if their names do not show it.",
    method="PUT",
    path="/tasks/<slug>/topics",
    form="/tasks/<slug>/settings/topics",
    record=TopicFields,
    file=File(
        field="topics",
        missing="Choose a topics file.",
        body="FILES",
        prepare=lambda given, reading: reading.read(given.files["topics"].path),
    ),
    act=lambda session, viewer, slug, file, _: board_measures.replace(session, viewer, slug, file),
    done=lambda _, new: f"{len(new.topics)} topics. {new}",
    **_SETTINGS,
)
DESK = (
    Action(
        name="date_task",
        summary="Set the dates of a task",
        more="For a task with one phase; otherwise each phase has its own dates. A blind or sealed task "
        "shows everything once it is closed.",
        method="PUT",
        path="/tasks/<slug>/dates",
        form="/tasks/<slug>/organise/dates",
        record=TaskDates,
        act=lambda session, viewer, slug, asked: set_dates(
            session,
            viewer,
            slug,
            (asked.opens_at, asked.closes_at),
            zone=asked.zone,
            reason=asked.reason,
            seen=asked.seen,
        ),
        done=lambda asked, _: f"dates set: {asked.span}",
        command="dates",
        **_DESK,
    ),
    PUBLISH,
    Action(
        name="exclude_topic",
        summary="Exclude a draft's topic from the means",
        method="PUT",
        path="/tasks/<slug>/topics/<topic:topic_id>/exclusion",
        form="/tasks/<slug>/organise/exclusions",
        named={"topic_id": "topic"},
        record=Exclusion,
        act=lambda session, viewer, slug, topic_id, asked: exclude_topic(
            session, viewer, slug, topic_id, asked.reason
        ),
        done=lambda asked, _: "topic excluded" if asked.reason.strip() else "topic included again",
        **_DESK,
    ),
    Action(
        name="include_topic",
        summary="Include a draft's topic again",
        method="DELETE",
        path="/tasks/<slug>/topics/<topic:topic_id>/exclusion",
        act=lambda session, viewer, slug, topic_id: exclude_topic(session, viewer, slug, topic_id, ""),
        done=lambda *_: "topic included again",
    ),
    SCORE,
    Action(
        name="evaluate_again",
        summary="Restart a failed job of a task",
        path="/tasks/<slug>/jobs/<id:job_id>/again",
        form="/tasks/<slug>/organise/jobs/<id:job_id>",
        act=leases.evaluate_again,
        done=lambda *_: "queued",
        **_DESK,
    ),
)
UNARCHIVE = Action(
    name="unarchive_task",
    summary="Restore an archived task",
    path="/tasks/<slug>/unarchive",
    form="/tasks/<slug>/unarchive",
    act=restore,
    done=lambda *_: "back",
)
LIFE = (
    Action(
        name="unpublish_task",
        summary="Unpublish a task without runs",
        path="/tasks/<slug>/unpublish",
        form="/tasks/<slug>/unpublish",
        page="organise.show",
        act=unpublish,
        done=lambda *_: "a draft",
    ),
    Action(
        name="archive_task",
        summary="Archive a task",
        more="The task accepts no more runs; everything stays readable.",
        path="/tasks/<slug>/archive",
        form="/tasks/<slug>/archive",
        act=archive,
        done=lambda *_: "archived",
    ),
    UNARCHIVE,
    CLONE,
    Action(
        name="discard_task",
        summary="Delete a draft",
        more="Archive a published task instead.",
        method="DELETE",
        path="/tasks/<slug>",
        form="/tasks/<slug>/discard",
        act=discard,
        done=lambda *_: "draft deleted",
        **_SETTINGS,
    ),
)
TOPICS = (
    Action(
        name="add_topic",
        summary="Add a topic",
        path="/tasks/<slug>/topics",
        form="/tasks/<slug>/settings/topics/new",
        record=NewTopic,
        act=lambda session, viewer, slug, new: board_measures.add_topics(
            session, viewer, slug, new.topic.strip(), new
        ),
        done=lambda *_: "topic added",
        status=201,
        **_SETTINGS,
    ),
    Action(
        name="correct_topic",
        summary="Correct a topic's text",
        more="Its id does not change.",
        method="PUT",
        path="/tasks/<slug>/topics/<topic:topic_id>",
        form="/tasks/<slug>/settings/topics/<topic:topic_id>",
        page="topics.show",
        record=TopicText,
        act=board_measures.correct,
        done=lambda *_: "topic corrected",
        command="topic",
        now=_topic,
    ),
    REPLACE_TOPICS,
)
