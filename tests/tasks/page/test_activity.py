"""What organisers see going on in their task."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Run, Upload
from leaderboard.errors import Forbidden
from leaderboard.tasks.page import activity
from tests.make import people, worlds

pytestmark = pytest.mark.dialect


def test_what_goes_on_is_counted(database: Database, tmp_path: Path) -> None:
    """Days without a file are there too; teams without a run come first, withdrawn runs are none."""
    world = worlds.build(database, tmp_path)
    worlds.send(database, tmp_path, world.carl, "robots", world.bears, worlds.BAD_RUN, "bad")
    worlds.send(database, tmp_path, world.anna, "other", world.owls)
    with database.write() as session:
        past = now(session) - timedelta(days=2)
        session.execute(update(Upload).where(Upload.id == world.accepted).values(created_at=past))
        session.execute(update(Job).where(Job.id == world.job).values(created_at=past))
    asker = people.viewer(database, world.olga)
    with database.read() as session:
        page = activity.activity(session, asker, "robots")
        today = now(session).date()
    assert [(day.accepted, day.rejected) for day in page.days] == [(1, 0), (0, 0), (0, 2)]
    assert page.days[-1].day == today
    assert [(row.team, row.members, row.runs, row.accepted, row.rejected) for row in page.teams] == [
        ("Bears", 1, 0, 0, 1),
        ("Owls", 2, 1, 1, 1),
    ]
    assert [row.team for row in page.without_run] == ["Bears"]
    assert page.rules
    assert {(row.files, row.teams) for row in page.rules} == {(2, 2)}
    (job,) = page.jobs
    assert (job.kind, job.state, job.jobs) == ("run scoring", "failed", 1)
    assert 2 * 86_400 <= job.oldest_s < 2 * 86_400 + 600
    assert activity.FILES.table(page, "teams").facts()[0]["team"] == "Bears"
    with database.write() as session:
        session.execute(update(Run).values(withdrawn_at=now(session)))
    with database.read() as session:
        assert len(activity.activity(session, asker, "robots").without_run) == 2


def test_only_organisers_see_it(database: Database, tmp_path: Path) -> None:
    """A member of a team and another task's organiser are refused."""
    world = worlds.build(database, tmp_path)
    for account_id in (world.anna, world.otto):
        asker = people.viewer(database, account_id)
        with database.read() as session, pytest.raises(Forbidden):
            activity.activity(session, asker, "robots")
