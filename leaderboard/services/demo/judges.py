"""The demo's third task: two judges, whose reference is the board of the second one."""

from collections.abc import Callable

from leaderboard import demo
from leaderboard.db.engine import Database, now
from leaderboard.demo import answers, judges
from leaderboard.services import revisions
from leaderboard.services.demo import sending
from leaderboard.services.judges import imported
from leaderboard.services.policy import OPERATOR
from leaderboard.services.revisions import NewRevision
from leaderboard.services.runs.limits import RunRequest
from leaderboard.services.tasks import phases
from leaderboard.services.tasks.drafts import TaskDraft
from leaderboard.services.tasks.phases import PhasePlan

STEPS = 3 + len(judges.runs())
"""How often `load` reports progress."""


def load(database: Database, step: Callable[[], None]) -> bool:
    """Load the task unless it is there; whether it was loaded. Calls step after each part.

    It is closed at once: until then nobody would see what the reference says.
    """
    organiser = sending.organiser_of(database, judges.SLUG)
    if organiser is None:
        return False
    draft = TaskDraft(
        slug=judges.SLUG,
        name=judges.NAME,
        description=judges.description(),
        topics=answers.TOPICS,
        collection=demo.COLLECTION,
        kind="judges",
        visibility="sealed",
    )
    sending.make_task(database, organiser, draft)
    step()
    _refer(database)
    step()
    for name, judge in judges.runs().items():
        wishes = RunRequest(name, description=judge.description)
        sending.send(database, judges.SLUG, judge.path, wishes, judges.TEAM)
        step()
    sending.score_board(database, judges.SLUG)
    with database.write() as session:
        plan = PhasePlan(name=judges.PHASE, closes_at=now(session))
        phases.change(session, OPERATOR, judges.SLUG, judges.PHASE, plan, judges.CLOSED)
    step()
    return True


def _refer(database: Database) -> None:
    with database.read() as session:
        prepared = imported.from_task(session, OPERATOR, judges.SLUG, answers.SLUG)
    with database.write() as session:
        new = NewRevision(prepared=prepared, note=f"The board of {answers.NAME}")
        revisions.revise(session, OPERATOR, judges.SLUG, new)
