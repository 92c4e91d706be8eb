"""Steps shared by the demo's tasks: add organisers, submit runs, score boards at once."""

import os
from pathlib import Path

from sqlalchemy import select

from leaderboard import demo
from leaderboard.accounts.ops import accounts, teams
from leaderboard.core import policy
from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Edition, Job, Task
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.scoring.ops import collections, finishing
from leaderboard.scoring.ops.evaluations import score
from leaderboard.settings import Settings
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.trec.read.lines import Limits


def organiser_of(database: Database, slug: str) -> Viewer | None:
    """The account that will organise a task of the demo, None where the task is there already."""
    with database.write() as session:
        if session.scalar(select(Task.id).where(Task.slug == slug)) is not None:
            return None
        name = accounts.first_organiser(session).name
        account_id = session.scalars(select(Account.id).where(Account.name == name)).one()
        return policy.viewer_of(session, account_id, name, True)


def ensure_collection(database: Database, viewer: Viewer) -> None:
    """The documents that the tasks share, unless the site has them."""
    with database.read() as session:
        if demo.COLLECTION in {row.name for row in collections.choices(session, viewer)}:
            return
    prepared = collections.prepare(demo.DOCUMENTS)
    with database.write() as session:
        collections.add(
            session, viewer, demo.COLLECTION, documents=prepared, link_template=demo.LINK_TEMPLATE or ""
        )


def make_task(database: Database, viewer: Viewer, draft: TaskDraft) -> None:
    """Create and publish a task."""
    prepared = drafts.prepare(draft)
    with database.write() as session:
        drafts.create(session, viewer, prepared)
        drafts.publish(session, OPERATOR, draft.slug)


def send(database: Database, slug: str, path: Path, run_request: RunRequest, team: str = demo.TEAM) -> None:
    """Send a file as a run of a team."""
    with database.write() as session:
        team_id = teams.ensure(session, OPERATOR, team)
    with database.read() as session:
        rules = limits.rules_for(session, OPERATOR, slug, team_id)
    prepared = prepare.prepare(path, path.name, rules, Limits())
    with database.write() as session:
        delivery = Delivery(
            sender=OPERATOR, slug=slug, team_id=team_id, file=prepared, run_request=run_request
        )
        uploads.submit(session, delivery)


def score_board(database: Database, slug: str) -> None:
    """Score a task's runs now, as an evaluator would later, so that its board can be a reference."""
    editions = select(Edition.id).join(Task).where(Task.slug == slug)
    which = (Job.kind == queue.EVALUATE, Job.edition_id.in_(editions))
    while True:
        with database.write() as session:
            job = queue.claim(session, f"demo:{os.getpid()}", Settings(), *which)
        if job is None:
            return
        assert job.edition_id is not None, "an evaluation belongs to an edition"
        with database.read() as session:
            plan = score.plan(session, job.subject_id, job.edition_id)
        scored = score.compute(database, job.subject_id, plan)
        with database.write() as session:
            finishing.finish(session, job, scored)
