"""Loading the demo task: real documents, runs and judgments, by the road any user takes."""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select

from leaderboard import demo
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Task
from leaderboard.services import collections, policy
from leaderboard.services.accounts import accounts, teams
from leaderboard.services.policy import OPERATOR, Viewer
from leaderboard.services.pools import plans, pools, previews
from leaderboard.services.pools.plans import Plan
from leaderboard.services.qrels import files
from leaderboard.services.revisions import publish
from leaderboard.services.revisions.publish import NewRevision
from leaderboard.services.runs import admission, prepare, uploads
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.uploads import Delivery
from leaderboard.services.tasks import create, drafts
from leaderboard.services.tasks.drafts import TaskDraft
from leaderboard.trec.read.lines import Limits

STEPS = 2 + len(demo.RUNS) + len(demo.revisions())
"""How often `load` reports progress."""


def load(database: Database, step: Callable[[], None]) -> bool:
    """Load the demo task unless it is there; whether it was loaded. Calls step after each part.

    The first revision is published with the runs, the second is added at once, so that the
    evaluators score every run and then again, and the board switches before the reader's eyes.
    """
    organiser = _organiser(database)
    if organiser is None:
        return False
    first, *later = demo.revisions()
    _collection(database, organiser)
    step()
    _task(database, organiser, first)
    step()
    for name, path in demo.runs().items():
        _run(database, name, path)
        step()
    for revision in later:
        _revise(database, revision)
        step()
    _pool(database)
    step()
    return True


def _organiser(database: Database) -> Viewer | None:
    """The account that will organise the task, None where the task is there already."""
    with database.write() as session:
        if session.scalar(select(Task.id).where(Task.slug == demo.SLUG)) is not None:
            return None
        name = accounts.first_organiser(session).name
        account_id = session.scalars(select(Account.id).where(Account.name == name)).one()
        return policy.viewer_of(session, account_id, name, True)


def _collection(database: Database, viewer: Viewer) -> None:
    prepared = collections.prepare(demo.DOCUMENTS)
    with database.write() as session:
        if demo.COLLECTION not in {row.name for row in collections.choices(session, viewer)}:
            collections.add(
                session, viewer, demo.COLLECTION, documents=prepared, link_template=demo.LINK_TEMPLATE or ""
            )


def _task(database: Database, viewer: Viewer, first: demo.Revision) -> None:
    prepared = drafts.prepare(
        TaskDraft(
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
    )
    with database.write() as session:
        create.create(session, viewer, prepared)
        create.publish(session, OPERATOR, demo.SLUG)


def _run(database: Database, name: str, path: Path) -> None:
    with database.write() as session:
        team_id = teams.ensure(session, OPERATOR, demo.TEAM)
    with database.read() as session:
        rules = admission.rules_for(session, OPERATOR, demo.SLUG, team_id)
    prepared = prepare.prepare(path, path.name, rules, Limits())
    with database.write() as session:
        delivery = Delivery(
            sender=OPERATOR, slug=demo.SLUG, team_id=team_id, file=prepared, wishes=RunRequest(name)
        )
        uploads.submit(session, delivery)


def _revise(database: Database, revision: demo.Revision) -> None:
    prepared = files.prepare(revision.path, revision.path.name)
    with database.write() as session:
        new = NewRevision(prepared=prepared, note=revision.note)
        publish.revise(session, OPERATOR, demo.SLUG, new)


def _pool(database: Database) -> None:
    """The pool that the newest judgments are of, closed: every document of it is judged."""
    with database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == demo.SLUG)).one()
        pooled = [
            run.run_id for run in plans.candidates(session, OPERATOR, task) if run.name not in demo.UNPOOLED
        ]
        plan = Plan({"name": "depth", "depth": demo.POOL_DEPTH}, plans.CHOSEN, tuple(pooled))
        made = previews.preview(session, OPERATOR, demo.SLUG, plan)
    with database.write() as session:
        number = pools.add(session, OPERATOR, made, demo.revisions()[-1].note)
        for state in (pools.OPEN, pools.CLOSED):
            pools.change(session, OPERATOR, demo.SLUG, number, state)
