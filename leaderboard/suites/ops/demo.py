"""The demo's suite: ranking and answering quality over the topics of the first two tasks."""

from collections.abc import Callable

from sqlalchemy import select

from leaderboard import demo
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Suite, Task, Team
from leaderboard.demo import answers
from leaderboard.suites.ops import changes, sending
from leaderboard.suites.ops.changes import MemberDraft, SuiteDraft

SLUG = "python"
TITLE = "Python documentation: find and answer"
IS_TASK = False
STEPS = 1
"""Number of progress reports of `load`."""
RANKING, ANSWER = "rankings", "answers"
RUNS = ("weak-counts.lead", "lsi.lead", "bm25.query", "bm25-desc.by-rank", "fusion-rrf.mmr", "minilm.query")
"""Runs of answers, each made from the ranking that its name begins with: no ranking is in two suite runs."""
DESCRIPTION = """\
Each system ranks documents and answers from what it ranked. The topics of the answer task are also topics
of the ranking task, so a shared topic counts as one.
"""


def load(database: Database, step: Callable[[], None]) -> bool:
    """Make the suite of the demo's rankings and answers unless it is there; whether it was made."""
    with database.write() as session:
        if session.scalar(select(Suite.id).where(Suite.slug == SLUG)) is not None:
            return False
        draft = SuiteDraft(
            slug=SLUG,
            title=TITLE,
            description=DESCRIPTION,
            members=(MemberDraft(name=RANKING, task=demo.SLUG), MemberDraft(name=ANSWER, task=answers.SLUG)),
            shared_topics=True,
        )
        changes.create(session, OPERATOR, draft)
        team_id = session.scalars(select(Team.id).where(Team.name == demo.TEAM)).one()
        tasks = select(Task.slug, Run.name, Run.id).join(Run, Run.task_id == Task.id)
        rows = session.execute(tasks.where(Run.team_id == team_id)).all()
        runs = {(slug, name): run_id for slug, name, run_id in rows}
        for name in RUNS:
            ranking = name.partition(".")[0]
            chosen = {RANKING: runs[demo.SLUG, ranking], ANSWER: runs[answers.SLUG, name]}
            sending.put_together(session, OPERATOR, SLUG, team_id, ranking, chosen)
    step()
    return True
