"""What organisers do with a task: its dates, the topics that count, and every action of its life."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard import zones
from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Task, Topic
from leaderboard.errors import Conflict, NotFound
from leaderboard.fields import Field
from leaderboard.services import audit, policy
from leaderboard.services.actions import Action
from leaderboard.services.jobs import failed
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import changes, create, dates, life, phases, scored_topics, topic_changes
from leaderboard.services.tasks.life import TaskCopy
from leaderboard.services.tasks.topic_changes import NewTopic, TopicText


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDates:
    """From when until when a task with one phase takes runs; null is no limit."""

    opens_at: Annotated[
        datetime | None,
        Field(
            title="Takes runs from (UTC)",
            help="Takes runs from then on; a day from its beginning. [no limit]",
            option="opens",
        ),
    ] = None
    closes_at: Annotated[
        datetime | None,
        Field(
            title="until (UTC)", help="Takes runs until then; a day to its end. [no limit]", option="closes"
        ),
    ] = None
    zone: Annotated[
        str, Field(title="Time zone", help="Zone of these dates: UTC, AoE or a name.", longest=40)
    ] = "UTC"
    reason: Annotated[
        str,
        Field(title="Reason, where the deadline moves", help="Why the deadline moves; participants read it."),
    ] = ""
    seen: Annotated[str, Field(title="Seen", is_carried=True)] = ""
    """The stamp of the dates as the organiser saw them; empty: none were looked at."""

    @property
    def span(self) -> str:
        """From when to when, in words."""
        return zones.span(self.opens_at, self.closes_at, self.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Why a topic is left out."""

    reason: Annotated[str, Field(title="Reason", help="Empty takes it back in.", least=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTopics:
    """Which topics count: those with judgments, or all as soon as they have some."""

    topics: Annotated[str, Field(title="Topics that count", choices={"judged": "those judged", "all": "all"})]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskArchiving:
    """Into the archive, or out of it."""

    back: Annotated[bool, Field(title="Bring it back", help="Bring it back.")] = False


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
    """Set from when to when the task's first phase takes runs; None is no limit.

    Raises Invalid where it would close before it opens, and for a deadline that is moved without a reason;
    Conflict where the dates do not have the stamp any more that was seen (empty: none was).
    """
    task = policy.own_task(session, viewer, slug)
    dates.require_order(*span)
    zones.require_zone(zone)
    lock_row(session, Task, task.id)
    phase = phases.of_task(session, task.id)[0]
    # Read before the lock came, it may have been changed by whoever held it.
    session.refresh(phase)
    before = dates.described(phase)
    if seen not in ("", changes.stamp(before)):
        said = changes.who_changed(session, viewer, task, {f"dates of {phase.name}"}, "dates")
        raise Conflict(f"{said} {changes.SAVE_AGAIN}")
    dates.require_reason(task, phase, span[1], reason)
    (phase.opens_at, phase.closes_at), phase.zone = span, zone
    opens, closes = (moment.isoformat() if moment else "" for moment in span)
    audit.record(session, viewer, "task.dates", f"task:{task.id}", opens=opens, closes=closes)
    changes.note_dates(session, viewer, task, phase, before, reason.strip())


def exclude_topic(session: Session, viewer: Viewer, slug: str, topic_id: str, reason: str) -> None:
    """Leave a topic of a draft out of all means, with the reason; an empty reason takes it back in."""
    task = policy.own_task(session, viewer, slug)
    if task.published_at is not None:
        raise Conflict("Topics can be excluded only before the task is published.")
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise NotFound(f"There is no topic {topic_id!r} in this task.")
    topic.excluded = reason.strip()
    audit.record(session, viewer, "topic.exclude", f"task:{task.id}", topic=topic_id, reason=topic.excluded)


def _score(session: Session, viewer: Viewer, slug: str, asked: ScoredTopics) -> None:
    acts = {"judged": scored_topics.score_judged, "all": scored_topics.score_all}
    acts[asked.topics](session, viewer, slug)


def _clone(session: Session, viewer: Viewer, slug: str, wanted: TaskCopy) -> TaskCopy:
    life.clone(session, viewer, slug, wanted)
    return wanted


def _archive(session: Session, viewer: Viewer, slug: str, asked: TaskArchiving) -> None:
    (life.restore if asked.back else life.archive)(session, viewer, slug)


_DESK: Any = {"page": "organise.show"}
_SETTINGS: Any = {"page": "settings.show"}
DESK = (
    Action(
        name="date_task",
        summary="Set when a task takes runs",
        more="For a task with one phase; phases have dates of their own. A blind or sealed task shows "
        "everything once it is closed.",
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
    Action(
        name="publish_task",
        summary="Show a draft to everybody",
        more="It takes runs from now on.",
        path="/tasks/<slug>/publish",
        form="/tasks/<slug>/organise/publish",
        act=create.publish,
        done=lambda *_: "published",
        **_DESK,
    ),
    Action(
        name="exclude_topic",
        summary="Leave a draft's topic out of the means",
        method="PUT",
        path="/tasks/<slug>/topics/<topic:topic_id>/exclusion",
        form="/tasks/<slug>/organise/exclusions",
        named={"topic_id": "topic"},
        record=Exclusion,
        act=lambda session, viewer, slug, topic_id, asked: exclude_topic(
            session, viewer, slug, topic_id, asked.reason
        ),
        done=lambda asked, _: "topic left out" if asked.reason.strip() else "topic counts again",
        **_DESK,
    ),
    Action(
        name="include_topic",
        summary="Let a draft's topic count again",
        method="DELETE",
        path="/tasks/<slug>/topics/<topic:topic_id>/exclusion",
        act=lambda session, viewer, slug, topic_id: exclude_topic(session, viewer, slug, topic_id, ""),
        done=lambda *_: "topic counts again",
    ),
    Action(
        name="score_topics",
        summary="Say whether topics without judgments count",
        more="`judged` leaves them out of means and rules; with `all` they count as soon as they have "
        "judgments.",
        method="PUT",
        path="/tasks/<slug>/scored-topics",
        form="/tasks/<slug>/organise/topics/<any(judged, all):topics>",
        record=ScoredTopics,
        act=_score,
        done=lambda asked, _: f"{asked.topics} topics count",
        **_DESK,
    ),
    Action(
        name="evaluate_again",
        summary="Queue a failed job of a task anew",
        path="/tasks/<slug>/jobs/<id:job_id>/again",
        form="/tasks/<slug>/organise/jobs/<id:job_id>",
        act=failed.evaluate_again,
        done=lambda *_: "queued",
        **_DESK,
    ),
)
LIFE = (
    Action(
        name="unpublish_task",
        summary="Make a task without runs a draft again",
        path="/tasks/<slug>/unpublish",
        form="/tasks/<slug>/unpublish",
        page="organise.show",
        act=life.unpublish,
        done=lambda *_: "a draft",
    ),
    Action(
        name="archive_task",
        summary="Put a task in the archive",
        more="It takes no more runs; everything stays readable.",
        path="/tasks/<slug>/archive",
        act=life.archive,
        done=lambda *_: "archived",
    ),
    Action(
        name="unarchive_task",
        summary="Take a task out of the archive",
        path="/tasks/<slug>/unarchive",
        act=life.restore,
        done=lambda *_: "back",
    ),
    Action(
        name="archive",
        summary="Take no more runs, stand apart in the list of tasks, stay readable",
        form="/tasks/<slug>/archive",
        record=TaskArchiving,
        act=_archive,
        done=lambda asked, _: "back" if asked.back else "archived",
        **_SETTINGS,
    ),
    Action(
        name="clone_task",
        summary="Make a draft with the same topics, settings and judgments",
        path="/tasks/<slug>/clone",
        form="/tasks/<slug>/clone",
        record=TaskCopy,
        act=_clone,
        done=lambda copy, _: f"{copy.slug} is a draft made of it",
        status=201,
        **_SETTINGS,
    ),
    Action(
        name="discard_task",
        summary="Delete a draft",
        more="A task that was published is archived instead.",
        method="DELETE",
        path="/tasks/<slug>",
        form="/tasks/<slug>/discard",
        act=life.discard,
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
        act=lambda session, viewer, slug, new: topic_changes.add(
            session, viewer, slug, new.topic.strip(), new
        ),
        done=lambda *_: "topic added",
        status=201,
        **_SETTINGS,
    ),
    Action(
        name="correct_topic",
        summary="Correct what a topic asks for",
        more="Its id stays.",
        method="PUT",
        path="/tasks/<slug>/topics/<topic:topic_id>",
        form="/tasks/<slug>/settings/topics/<topic:topic_id>",
        page="topics.show",
        record=TopicText,
        act=topic_changes.correct,
        done=lambda *_: "topic corrected",
    ),
)
