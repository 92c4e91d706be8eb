"""The topics that count: a task may have more topics than were judged, and says which it scores."""

from collections.abc import Callable

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Qrels, QrelsRevision, Task, Topic, TopicSet
from leaderboard.errors import Conflict
from leaderboard.services import audit, policy
from leaderboard.services.evaluations import editions
from leaderboard.services.phase_rules import PUBLIC_TOPICS
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.qrels import files
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.tasks import topic_sets

NOT_JUDGED = "Not judged."
"""The reason of topics left out by `score_judged`. Everybody may read it: the organiser publishes by it
which topics are scored, which other reasons, such as that nothing is relevant, would not."""


def scored(session: Session, task: Task) -> tuple[str, ...]:
    """The topics that rules count: those that a sender may know to be scored, in the task's order.

    Of an open task the judged ones that are not left out, or all of these before there are judgments.
    While judgments are held back all topics but those that everybody may know to be left out: a warning
    would tell of the others.
    """
    rows = session.execute(
        select(Topic.topic_id, Topic.excluded).where(Topic.task_id == task.id).order_by(Topic.position)
    ).all()
    if not policy.is_shown(session, task):
        return tuple(row.topic_id for row in rows if row.excluded != NOT_JUDGED)
    counted = tuple(row.topic_id for row in rows if not row.excluded)
    judged = set(_judged(session, task.id))
    return tuple(topic for topic in counted if topic in judged) or counted


def why_left_out(excluded: str, sight: Sight) -> str:
    """Why a topic is in no mean, as far as the viewer may know; empty where it counts."""
    return excluded if sight.details or excluded == NOT_JUDGED else ""


def score_judged(session: Session, viewer: Viewer, slug: str) -> int:
    """Leave the topics without judgments out of means and rules, in a draft or later; how many they are.

    No mean changes by that. Topics left out before that have judgments by now count again, on a new
    edition of the board. Raises Conflict where nothing is judged.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    topics = _topics(session, task)
    judged = set(_judged(session, task.id))
    if not judged & {topic.topic_id for topic in topics}:
        raise Conflict("No topic of this task has judgments yet; add these first.")
    left_out = _leave_out(session, task, topics, lambda topic: topic.topic_id not in judged)
    audit.record(session, viewer, "task.score_judged", f"task:{task.id}", left_out=left_out)
    return left_out


def score_all(session: Session, viewer: Viewer, slug: str) -> None:
    """Take back what `score_judged` did: every topic counts as soon as it has judgments."""
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    _leave_out(session, task, _topics(session, task), lambda _: False)
    audit.record(session, viewer, "task.score_all", f"task:{task.id}")


def _leave_out(session: Session, task: Task, topics: list[Topic], is_out: Callable[[Topic], bool]) -> int:
    """Leave the topics out that are to be, take the others back; how many are out."""
    had = [topic.topic_id for topic in topics if topic.excluded != NOT_JUDGED]
    returning = set()
    for topic in topics:
        if is_out(topic):
            topic.excluded = topic.excluded or NOT_JUDGED
        elif topic.excluded == NOT_JUDGED:
            topic.excluded = ""
            returning.add(topic.topic_id)
    left = [topic.topic_id for topic in topics if topic.excluded != NOT_JUDGED]
    session.flush()
    if task.published_at is None:
        _draw_again(session, task, had, left)
    revision = files.newest(session, task.id)
    if task.published_at is not None and revision is not None and returning & set(revision.topics):
        editions.build(session, task, revision)
    return len(topics) - len(left)


def _draw_again(session: Session, task: Task, had: list[str], left: list[str]) -> None:
    """Draw the public half of a blind draft among the topics that are left, unless it was chosen by hand."""
    public = session.scalar(
        select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name == PUBLIC_TOPICS)
    )
    seed = public.seed or task.slug if public is not None else ""
    if public is not None and public.topics == topic_sets.half(seed, had):
        public.topics = topic_sets.half(seed, left)


def _judged(session: Session, task_id: int) -> list[str]:
    """The topics that the board's newest judgments speak of, without these judgments."""
    newest = select(QrelsRevision.topics).join(Qrels, Qrels.id == QrelsRevision.qrels_id)
    of_board = newest.where(Qrels.task_id == task_id, Qrels.name == MAIN)
    return session.scalar(of_board.order_by(QrelsRevision.number.desc()).limit(1)) or []


def _topics(session: Session, task: Task) -> list[Topic]:
    return list(session.scalars(select(Topic).where(Topic.task_id == task.id).order_by(Topic.position)))
