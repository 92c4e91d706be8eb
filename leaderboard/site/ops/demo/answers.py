"""The demo's second task: answers with citations, nuggets, and labels of two machines."""

from collections.abc import Callable
from typing import cast

from leaderboard import demo
from leaderboard.answers.ops.nuggets import reading
from leaderboard.answers.ops.nuggets.reading import PartFile
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.demo import answers
from leaderboard.demo.answers import AnswerRevision
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.runs.ops import demo as sending
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.trec.nuggets.packing import MadeBy, Part

IS_TASK = True
STEPS = 2 + len(answers.RUNS) + len(answers.revisions())
"""Number of progress reports of `load`."""


def load(database: Database, step: Callable[[], None]) -> bool:
    """Load the task unless it is there; whether it was loaded. Calls step after each part.

    It is scored under its newest revision at once: the board is the reference of the next task.
    """
    organiser = sending.organiser_of(database, answers.SLUG)
    if organiser is None:
        return False
    sending.ensure_collection(database, organiser)
    draft = TaskDraft(
        slug=answers.SLUG,
        name=answers.NAME,
        description=answers.description(),
        topics=answers.TOPICS,
        collection=demo.COLLECTION,
        kind="answers",
    )
    sending.make_task(database, organiser, draft)
    step()
    for name, path in answers.runs().items():
        kind = "unofficial" if name in answers.UNRANKED else "official"
        run_request = RunRequest(name, kind=kind, facts=answers.STATED.get(name, {}))
        sending.send(database, answers.SLUG, path, run_request)
        step()
    for revision in answers.revisions():
        _revise(database, revision)
        step()
    sending.score_board(database, answers.SLUG)
    step()
    return True


def _revise(database: Database, revision: AnswerRevision) -> None:
    files = {cast(Part, part): PartFile(path, path.name) for part, path in revision.files.items()}
    made_by = {cast(Part, part): MadeBy("machine", name) for part, name in revision.machines.items()}
    with database.read() as session:
        prepared = reading.prepare(session, OPERATOR, answers.SLUG, files, made_by)
    with database.write() as session:
        new = NewRevision(prepared=prepared, note=revision.note)
        revisions.revise(session, OPERATOR, answers.SLUG, new)
