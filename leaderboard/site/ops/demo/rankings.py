"""The demo's first task: real documents, runs and judgments."""

from collections.abc import Callable

from sqlalchemy import select

from leaderboard import demo
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.runs.ops import demo as sending
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops.qrels import files
from leaderboard.tasks.ops.drafts import TaskDraft

IS_TASK = True
STEPS = 2 + len(demo.RUNS) + len(demo.revisions())
"""Number of progress reports of `load`."""


def load(database: Database, step: Callable[[], None]) -> bool:
    """Load the task unless it is there; whether it was loaded. Calls step after each part.

    The first revision is published with the runs, the second is added at once, so that the
    evaluators score every run and then again, and the board switches before the reader's eyes.
    """
    organiser = sending.organiser_of(database, demo.SLUG)
    if organiser is None:
        return False
    first, *later = demo.revisions()
    sending.ensure_collection(database, organiser)
    step()
    sending.make_task(database, organiser, _draft(first))
    step()
    for name, path in demo.runs().items():
        sending.send(database, demo.SLUG, path, RunRequest(name))
        step()
    for revision in later:
        _revise(database, revision)
        step()
    _pool(database)
    step()
    return True


def _draft(first: demo.Revision) -> TaskDraft:
    return TaskDraft(
        slug=demo.SLUG,
        name=demo.NAME,
        description=demo.description(),
        topics=demo.TOPICS,
        qrels=first.path,
        qrels_name=first.path.name,
        note=first.note,
        collection=demo.COLLECTION,
        depth=demo.DEPTH,
        level=demo.LEVEL,
        measures=demo.MEASURES,
        primary=demo.PRIMARY,
        origin="machine",
        origin_name=demo.JUDGE,
        grade_names=demo.GRADES,
    )


def _revise(database: Database, revision: demo.Revision) -> None:
    prepared = files.prepare(revision.path, revision.path.name)
    with database.write() as session:
        new = NewRevision(prepared=prepared, note=revision.note)
        revisions.revise(session, OPERATOR, demo.SLUG, new)


def _pool(database: Database) -> None:
    """The pool of the newest judgments, closed: every document of it is judged."""
    with database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == demo.SLUG)).one()
        pooled = [
            run.run_id
            for run in previews.candidates(session, OPERATOR, task)
            if run.name not in demo.UNPOOLED
        ]
        plan = PoolPlan(
            {"name": "depth", "depth": demo.POOL_DEPTH}, runs=previews.CHOSEN, chosen=tuple(pooled)
        )
        preview = previews.preview(session, OPERATOR, demo.SLUG, plan)
    with database.write() as session:
        number = pools.add(session, OPERATOR, preview, demo.revisions()[-1].note)
        for state in (pools.OPEN, pools.CLOSED):
            pools.change(session, OPERATOR, demo.SLUG, number, state)
