"""What the page of a run says of its reproductions, in as many statements for many links as for one."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from benchmarks.pages import counted
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Entry, Run, Task
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.reproductions.page.mentions import RunMentions, mentions
from tests.make import build
from tests.reproductions import make as reproduced

MASKED, SEALED, OPEN = ("v", "w"), ("s",), ("x", "y")
FEW = {topic: reproduced.BASE_AGAIN[topic] for topic in ("1", "2")}


def _said(database: Database, run_id: int) -> tuple[RunMentions, int]:
    """What is said of a run to a visitor, and by how many statements besides those of its page."""
    with database.read() as session:
        run, task, access = policy.visible_run(session, ANONYMOUS, run_id)
        names = shown_names.shown_names(session, ANONYMOUS, task)
        with counted(database) as sent:
            said = mentions(session, ANONYMOUS, run, task, access, names)
        # PostgreSQL asks its server for the time.
        return said, sum("clock_timestamp" not in statement for statement in sent)


@pytest.mark.trial
def test_more_reproductions_take_no_more_statements(database: Database, tmp_path: Path) -> None:
    """One in a task that names teams at its close, then many: told where open, and of the others nothing."""
    made = reproduced.runs(database, tmp_path)
    for slug in (*MASKED, *SEALED, *OPEN):
        build.task(database, tmp_path, slug, measures=("AP",), topics=("1", "2"))
    runs = {
        slug: build.run(database, tmp_path, FEW, f"of-{slug}", team_name="Others", slug=slug)
        for slug in (*MASKED, *SEALED, *OPEN)
    }
    with database.write() as session:
        others = select(Run.team_id).where(Run.id == runs["v"]).scalar_subquery()
        session.execute(update(Entry).where(Entry.team_id == others).values(pseudonym="Otter"))
        session.execute(update(Task).where(Task.slug.in_(MASKED)).values(naming="close"))
        session.execute(update(Task).where(Task.slug.in_(SEALED)).values(visibility="sealed"))
    reproduced.say(database, runs["v"], OriginalRuns(made.new))
    said, of_one = _said(database, made.new)
    assert said.reproduced_by == ()
    for run_id in (runs["w"], runs["s"], runs["x"], runs["y"], made.new_again):
        reproduced.say(database, run_id, OriginalRuns(made.new))
    said, of_many = _said(database, made.new)
    assert {one.name: one.slug for one in said.reproduced_by} == {"of-x": "x", "of-y": "y", "new-again": "t"}
    assert of_many == of_one <= 5
