"""Tasks of answers and of judges with all that their pages show, beside a site that has neither."""

import json
from datetime import timedelta
from pathlib import Path

from sqlalchemy import select, update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, Task
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tasks.ops import roles
from tests.judges import make as judging
from tests.make import build as builders
from tests.make.copies import built_once

TOPICS = ("1", "2")
KINDER = {**judging.HELD, "C": ("support", "failed", "not_support")}
"""What a judge says of the answers that judging.HELD is of."""


@built_once
def build(database: Database, folder: Path, organiser: str) -> None:
    """Tasks `ranked` and `said`, and of judges that are held against these `held` and `heard`, both over."""
    judging.ranked(database, folder, "ranked")
    judging.answered_task(database, folder, "said")
    judging.task(database, folder, "held")
    judging.refer_to(database, "ranked", "held")
    judging.label(
        database,
        folder,
        judging.CONFIDENT,
        slug="held",
        run_request=RunRequest("oak", facts={"llm": "gpt-5"}),
    )
    board = {run: (0.1 * place, 0.5, 0.2) for place, run in enumerate(judging.RANKINGS)}
    judging.judge(database, folder, board, "elm", slug="held", team_name="Other")
    judging.task(database, folder, "heard", topics=TOPICS)
    judging.refer_to(database, "said", "heard", "NuggetRecall(set=all)")
    lines = "".join(f"{json.dumps(line)}\n" for line in judging.held_nuggets(KINDER))
    judging.label(database, folder, lines, "birch", slug="heard")
    own = judging.archive(folder, "alder", **judging.own_parts())
    builders.submit(database, own, "heard", team_name="Other", run_request=RunRequest("alder"))
    builders.drain(database)
    with database.write() as session:
        of_judges = select(Task.id).where(Task.kind == "judges")
        over = now(session) - timedelta(days=1)
        session.execute(update(Phase).where(Phase.task_id.in_(of_judges)).values(closes_at=over))
        for slug in ("ranked", "said", "held", "heard"):
            roles.give(session, OPERATOR, slug, organiser, "organiser")
