"""Making a task: a draft is stored, its organiser looks at it and publishes or discards it."""

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import FormerSlug, Phase, Task, TaskRole, TopicSet
from leaderboard.errors import Conflict
from leaderboard.services import audit, collections, policy
from leaderboard.services.evaluations import editions
from leaderboard.services.phase_rules import ALL_TOPICS
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files as qrels
from leaderboard.services.qrels.lines import Origin
from leaderboard.services.revisions import publish as revisions
from leaderboard.services.revisions.publish import NewRevision
from leaderboard.services.tasks import (
    filed,
    phases,
    setting_values,
    slugs,
    templates,
    topic_changes,
    topic_sets,
)
from leaderboard.services.tasks.drafts import PreparedTask
from leaderboard.trec.topics import topics as trec_topics


@dataclass(frozen=True, slots=True)
class CreatedTask:
    """A stored draft."""

    id: int
    slug: str


def create(session: Session, viewer: Viewer, prepared: PreparedTask) -> CreatedTask:
    """Store the task as a draft that only its organisers see; the viewer becomes one.

    A slug that only others' drafts have is free. Raises Conflict where the slug or the collection's name is
    taken, NotFound for a collection that the viewer may not know of.
    """
    policy.require_creator(viewer)
    draft = prepared.draft
    slugs.hold(session, draft.slug)
    slugs.require_free(session, viewer, draft.slug)
    agreement = setting_values.tidy(draft.agreement).strip()
    task = Task(
        slug=draft.slug,
        name=draft.name.strip(),
        description=draft.description,
        links=setting_values.links(draft.links),
        agreement=agreement,
        agreement_version=1 if agreement else 0,
        collection_id=_collection(session, viewer, prepared),
        kind=draft.kind,
        visibility=draft.visibility,
        depth=draft.depth,
        level=draft.level,
        dialect=draft.dialect,
        measures=list(prepared.measures),
        primary_measure=prepared.primary,
        grade_names={str(grade): name for grade, name in draft.grade_names.items()},
        final_runs=templates.find(draft.template).final_runs if draft.template else None,
        created_at=now(session),
    )
    session.add(task)
    session.flush()
    if viewer.account_id is not None:
        session.add(TaskRole(task_id=task.id, account_id=viewer.account_id, role="organiser"))
    _add_phase(session, task, draft.template)
    _add_topics(session, task, prepared.topics.topics)
    session.flush()
    phases.require_possible(session, task)
    maker = replace(viewer, organises=viewer.organises | {task.id})
    audit.record(session, viewer, "task.create", f"task:{task.id}", slug=task.slug)
    if prepared.qrels is not None:
        by = Origin(draft.origin, draft.origin_name)
        first = NewRevision(prepared=prepared.qrels, note=draft.note, by=by)
        revisions.revise(session, maker, task.slug, first)
    return CreatedTask(task.id, task.slug)


def publish(session: Session, viewer: Viewer, slug: str) -> None:
    """Show the task to everybody and take runs from now on; publishing twice changes nothing.

    Raises Conflict where another organiser's task has been published under the slug.
    """
    task = policy.own_task(session, viewer, slug)
    # A revision that comes in this moment finds the task published, or is found here.
    lock_row(session, Task, task.id)
    if task.published_at is not None:
        return
    slugs.hold(session, slug)
    if policy.known_tasks(session, policy.ANONYMOUS, slug) or session.get(FormerSlug, slug) is not None:
        raise Conflict(f"A task {slug!r} was published meanwhile; make this one anew under another slug.")
    task.published_at = now(session)
    session.flush()
    revision = qrels.newest(session, task.id)
    if revision is not None:
        editions.build(session, task, revision)
    filed.tell_all(session, task)
    audit.record(session, viewer, "task.publish", f"task:{task.id}", slug=slug)


def _collection(session: Session, viewer: Viewer, prepared: PreparedTask) -> int:
    draft = prepared.draft
    if draft.collection:
        return collections.named(session, viewer, draft.collection).id
    return collections.add(session, viewer, draft.slug, documents=prepared.documents).id


def _add_phase(session: Session, task: Task, template: str) -> None:
    limits = templates.limits_of(template, task.visibility)
    session.add(
        Phase(task_id=task.id, name="main", runs_per_day=limits.runs_per_day, runs_in_all=limits.runs_in_all)
    )


def _add_topics(session: Session, task: Task, topics: tuple[trec_topics.Topic, ...]) -> None:
    topic_changes.insert_all(session, task, topics)
    session.add(TopicSet(task_id=task.id, name=ALL_TOPICS, topics=None))
    if task.visibility == "blind":
        topic_sets.draw(session, task)
