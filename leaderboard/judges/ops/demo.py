"""The demo's third task: two judges, with the board of the second task as reference."""

from collections.abc import Callable

from leaderboard import demo
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.demo import answers, judges
from leaderboard.judges.ops import imported
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.runs.ops import demo as sending
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tasks.ops import phases
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.tasks.ops.phases import PhasePlan

IS_TASK = True
STEPS = 3 + len(judges.runs())
"""Number of progress reports by `load`."""


def load(database: Database, step: Callable[[], None]) -> bool:
    """Load the task if it is missing; return whether it was loaded. Calls step after each part.

    It is closed at once, because the reference stays hidden until then.
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
        run_request = RunRequest(name, description=judge.description)
        sending.send(database, judges.SLUG, judge.path, run_request, judges.TEAM)
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
