"""Whole sites that benchmarks measure, each one SQLite file: a small one, a large one and the demo.

Judged by a machine, with a sample of its judgments judged by a person, so that every kind of page is there.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update

from benchmarks.pages import Site, fill
from leaderboard.accounts.ops import accounts, sessions, teams
from leaderboard.core.policy import OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Judgment, Member, Qrels, QrelsRevision, Run, Task, Topic
from leaderboard.judging.ops import combined
from leaderboard.judging.ops.pools import pools
from leaderboard.settings import Settings
from leaderboard.site.ops.demo import loading
from leaderboard.worker import Evaluator
from tests.make import judged

SMALL = Site(6, 3, 60, 90, 60, texts=True)
LARGE = Site(143, 50, 1000, 1500, 300, texts=True)
SIZES = {"small": SMALL, "large": LARGE}
SHARE = 0.1
"""Of the machine's judgments, judged by a person."""


def demo_site(database: Database) -> None:
    """The demo's first task, scored under its newest revision."""
    schema.upgrade(database)
    loading.load(database, lambda: None, loading.RANKINGS)
    Evaluator(database, Settings()).drain()


def made(folder: Path, name: str) -> Path:
    """The database of a site in the folder: there already, or made now."""
    file = folder / f"{name}.sqlite3"
    if not file.exists():
        unfinished = file.with_suffix(".unfinished")
        for left in folder.glob(f"{unfinished.name}*"):  # By a call that was stopped.
            left.unlink()
        database = Database(f"sqlite:///{unfinished}")
        if name == "demo":
            demo_site(database)
        else:
            fill(database, folder, SIZES[name])
        _add_member(database)
        _add_sample(database)
        database.dispose()
        unfinished.rename(file)
    return file


def _add_member(database: Database) -> None:
    """Put the first organiser's account, who may do no more than others here, into the first team."""
    with database.write() as session:
        account_id = accounts.find(session, accounts.first_organiser(session).name)
        teams.add_member(session, session.scalars(select(func.min(Run.team_id))).one(), account_id)
        # What organisers filed would wait for the team's word before its page shows it.
        session.execute(update(Run).values(filed=False))


def _add_sample(database: Database) -> None:
    """Let a person judge some of what the machine did, one grade lower where a docno has an odd length.

    The grades mean nothing: what is measured is the page that compares the two.
    """
    with database.write() as session:
        session.execute(
            update(Qrels).where(Qrels.origin != "machine").values(origin="machine", origin_name="made up")
        )
        slug = session.scalars(select(Task.slug)).one()
        number = combined.draw_sample(session, OPERATOR, slug, SHARE, seed=1)
        pools.change(session, OPERATOR, slug, number, pools.OPEN, highest_grade=3, without_texts=True)
        combined.show_sample(session, OPERATOR, slug, number, True)
    with database.read() as session:
        newest = session.scalars(select(func.max(Judgment.revision_id))).one()
        grades = {
            (row.topic_id, row.docno): row.grade
            for row in session.scalars(select(Judgment).where(Judgment.revision_id == newest))
        }
        documents = pools.documents_of(session, OPERATOR, slug, number)
    person = judged.assessor(database, "Ada", slug)
    for topic, rows in documents.items():
        waiting = [row.docno for row in rows if row.grade is None]
        lower = {docno: max(0, grades[topic, docno] - len(docno) % 2) for docno in waiting}
        judged.judge(database, person, topic, lower)


def objects(database: Database, place: int = 0) -> dict[str, Any]:
    """The objects of the addresses, in the task at that place; any runs in its middle will do."""
    with database.read() as session:
        task = session.scalars(select(Task).order_by(Task.id)).all()[place]
        runs = session.scalars(select(Run.id).where(Run.task_id == task.id).order_by(Run.id)).all()
        topics = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)).all()
        revisions = select(QrelsRevision).join(Qrels).where(Qrels.task_id == task.id)
        newest = session.scalars(revisions.order_by(QrelsRevision.id.desc()).limit(1)).one()
        judged = select(Judgment.docno).where(
            Judgment.revision_id == newest.id, Judgment.topic_id == topics[2], Judgment.grade >= task.level
        )
        middle = len(runs) // 2
        name = session.scalars(select(Run.name).where(Run.id == runs[middle])).one()
        return {
            "slug": task.slug,
            "team": session.scalars(select(func.min(Run.team_id)).where(Run.task_id == task.id)).one(),
            **dict(zip(("run", "second", "third"), runs[middle:], strict=False)),
            "name": name,
            "topic": topics[2],
            "other_topic": topics[0],
            "docno": session.scalars(judged.limit(1)).one(),
            "revision": newest.number,
        }


def cookie_of_member(database: Database) -> str:
    """A new session of the first account that is in a team."""
    with database.write() as session:
        account_id = session.scalars(select(func.min(Member.account_id))).one()
        return sessions.start(session, account_id, "127.0.0.1", "benchmark")
