"""What is told to whom: every event once, with the change it tells of, and nothing to who may not know."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Member, Phase, Task, TaskRole, Webhook, WebhookDelivery
from leaderboard.settings import Settings
from leaderboard.tasks.ops import announcements, organise, phases
from leaderboard.tasks.ops.announcements import AnnouncementBody
from leaderboard.worker import Evaluator
from tests.make import build, people, phased
from tests.notify import make as hooks

CLOSES = datetime(2030, 1, 1, tzinfo=UTC)


class Cast:
    """A task of Olga's, and the teams of Ann and Bob, each with a webhook of all events."""

    def __init__(self, database: Database, folder: Path, **options: object) -> None:
        self.olga = people.account(database, "Olga", is_organiser=True)
        self.ann, self.bob = (people.account(database, name) for name in ("Ann", "Bob"))
        self.owls = people.team(database, "Owls", self.ann)
        self.bears = people.team(database, "Bears", self.bob)
        viewer = people.viewer(database, self.olga)
        build.task(database, folder, viewer=viewer, **options)  # type: ignore[arg-type]
        self.task = hooks.webhook(database, self.olga, slug="t").id
        self.of_owls = hooks.webhook(database, self.ann, team_id=self.owls).id
        self.of_bears = hooks.webhook(database, self.bob, team_id=self.bears).id

    def told(self, database: Database) -> tuple[list[str], list[str], list[str]]:
        """The events of the task's, Owls' and Bears' webhook since it was asked last."""
        events = tuple(
            [event for event, _ in hooks.told(database, number)]
            for number in (self.task, self.of_owls, self.of_bears)
        )
        with database.write() as session:
            session.execute(WebhookDelivery.__table__.delete())  # type: ignore[attr-defined]
        return events  # type: ignore[return-value]


@pytest.mark.dialect
def test_each_is_told_of_its_own(database: Database, tmp_path: Path) -> None:
    """Runs to their team and the task; what concerns the task to teams that have entered it."""
    cast = Cast(database, tmp_path)
    run_id = build.run(database, tmp_path, {"1": ["a"]}, "first", team_name="Owls")
    rejected = build.submit(
        database, build.run_file(tmp_path, {"99": ["a"]}, "bad"), team_name="Owls"
    ).upload_id
    shown = {"task": "t", "run": run_id, "upload": 1, "path": f"/runs/{run_id}"}
    refused = {"task": "t", "upload": rejected, "path": f"/uploads/{rejected}"}
    for webhook_id in (cast.task, cast.of_owls):
        told = hooks.told(database, webhook_id)
        assert told == [("run.accepted", shown), ("run.rejected", refused)]
    assert cast.told(database) == (["run.accepted", "run.rejected"], ["run.accepted", "run.rejected"], [])
    build.drain(database)
    assert cast.told(database) == (["run.scored"], ["run.scored"], [])
    build.revise(database, tmp_path, {**build.JUDGMENTS, "1": {"a": 1}})
    build.drain(database)
    assert cast.told(database) == (["edition.shown"], ["edition.shown"], [])
    with database.write() as session:
        organise.set_dates(session, OPERATOR, "t", (None, CLOSES))
        organise.set_dates(session, OPERATOR, "t", (None, CLOSES))
    assert cast.told(database) == (["task.dates_changed"], ["task.dates_changed"], [])
    with database.write() as session:
        phases.extend(session, OPERATOR, "t", 3, "The site was down.")
    assert cast.told(database)[:2] == (["task.dates_changed"], ["task.dates_changed"])


def test_announcements_go_to_whom_they_are_for(database: Database, tmp_path: Path) -> None:
    """Of five kinds the team is told of those that it may read; what they say is not in it."""
    cast = Cast(database, tmp_path)
    build.run(database, tmp_path, {"1": ["a"]}, "first", team_name="Owls")
    build.submit(database, build.run_file(tmp_path, {"99": ["a"]}, "bad"), team_name="Bears")
    cast.told(database)
    cases = (
        (announcements.EVERYBODY, (), (1, 1, 1)),
        (announcements.ENTERED, (), (1, 1, 1)),
        (announcements.WITHOUT_RUN, (), (1, 0, 1)),
        (announcements.TEAMS, (cast.owls,), (1, 1, 0)),
        (announcements.ORGANISERS, (), (1, 0, 0)),
    )
    for kind, teams, expected in cases:
        draft = AnnouncementBody(f"Secret {kind}", "Secret.", kind, teams)
        with database.write() as session:
            counted = announcements.preview(session, OPERATOR, "t", draft).count
            announcements.send(session, OPERATOR, "t", draft, counted, None)
        (_, facts), *_ = hooks.told(database, cast.task)
        assert set(facts) == {"task", "announcement", "path"}, kind
        assert tuple(map(len, cast.told(database))) == expected, kind


def test_what_is_given_up_is_told_to_organisers(database: Database, tmp_path: Path) -> None:
    """By a failed job and by evaluators that died; not by an attempt that is followed by another one."""
    cast = Cast(database, tmp_path)
    build.run(database, tmp_path, {"1": ["a"]}, "first", team_name="Owls")
    cast.told(database)
    settings = Settings()
    _forget_webhooks(database)
    for attempt in range(queue.MOST_ATTEMPTS):
        with database.write() as session:
            assert queue.claim(session, f"gone:{attempt}", settings) is not None
            long_ago = {"lease_until": datetime(2020, 1, 1, tzinfo=UTC)}
            session.execute(update(Job).values(long_ago))
        assert cast.told(database) == ([], [], []), attempt
        Evaluator(database, settings).sweep()
        _forget_webhooks(database)
        with database.write() as session:
            session.execute(update(Job).values(run_after=datetime(2020, 1, 1, tzinfo=UTC)))
    told = hooks.told(database, cast.task)
    assert told == [("job.failed", {"task": "t", "job": 1, "run": 1, "path": "/tasks/t/organise"})]
    assert cast.told(database) == (["job.failed"], [], [])


def _forget_webhooks(database: Database) -> None:
    with database.write() as session:
        session.execute(update(Job).where(Job.kind == queue.WEBHOOK).values(state="done"))


def test_a_sealed_task_tells_teams_nothing_of_scores(database: Database, tmp_path: Path) -> None:
    """A team hears that its own run was scored, as its page says, and nothing of editions."""
    cast = Cast(database, tmp_path, visibility="sealed")
    for name in ("Owls", "Bears"):
        build.run(database, tmp_path, {"1": ["a"]}, f"of-{name}", team_name=name)
    build.drain(database)
    build.revise(database, tmp_path, {**build.JUDGMENTS, "1": {"a": 1}})
    build.drain(database)
    task, *teams = cast.told(database)
    assert teams == [["run.accepted", "run.scored"]] * 2
    assert task.count("edition.shown") == 1
    with database.read() as session:
        assert session.scalars(select(WebhookDelivery)).all() == []


@pytest.mark.trial
def test_two_worlds_tell_a_team_the_same(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sites that differ in what sealed phases hold tell a team's webhook the same, in the same order."""
    built, told = people.team, []

    def with_webhook(database: Database, name: str, captain: int) -> int:
        team_id = built(database, name, captain)
        if name == "Owls":
            hooks.webhook(database, captain, team_id=team_id)
        return team_id

    monkeypatch.setattr(phased.people, "team", with_webhook)
    for secret in ("a", "b"):
        world = phased.build(sqlite_template, tmp_path_factory.mktemp(secret), secret, datetime.now(UTC))
        told.append(hooks.told(world.database, 1))
        world.database.dispose()
    assert told[0] == told[1]
    assert {event for event, _ in told[0]} >= {"run.accepted", "run.scored"}


def test_who_has_left_is_told_nothing(database: Database, tmp_path: Path) -> None:
    """Nor is a draft's team, nor anybody while it is paused, nor of events that were not chosen."""
    cast = Cast(database, tmp_path)
    hooks.webhook(database, cast.ann, team_id=cast.owls, events=["run.rejected"])
    changes = (
        update(Member).where(Member.account_id == cast.ann).values(account_id=cast.bob),
        update(TaskRole).where(TaskRole.account_id == cast.olga).values(role="reader"),
    )
    build.run(database, tmp_path, {"1": ["a"]}, "first", team_name="Owls")
    assert cast.told(database) == (["run.accepted"], ["run.accepted"], [])
    for change in changes:
        with database.write() as session:
            session.execute(change)
    build.run(database, tmp_path, {"1": ["b"]}, "second", team_name="Owls")
    assert cast.told(database) == ([], [], [])
    with database.write() as session:
        session.execute(update(TaskRole).values(role="organiser"))
        session.execute(update(Task).values(published_at=None))
        organise.set_dates(session, OPERATOR, "t", (None, CLOSES))
    assert cast.told(database) == (["task.dates_changed"], [], [])
    with database.write() as session:
        session.execute(update(Webhook).values(paused_at=CLOSES))
        organise.set_dates(session, OPERATOR, "t", (None, CLOSES + timedelta(days=1)), reason="Late.")
    assert cast.told(database) == ([], [], [])


def test_what_is_undone_was_never_told(database: Database, tmp_path: Path) -> None:
    """An event goes with the transaction of what it tells of: rolled back with it."""
    cast = Cast(database, tmp_path)
    with pytest.raises(ZeroDivisionError), database.write() as session:
        organise.set_dates(session, OPERATOR, "t", (None, CLOSES))
        raise ZeroDivisionError
    assert cast.told(database) == ([], [], [])
    with database.read() as session:
        assert session.scalars(select(Phase.closes_at)).all() == [None]
        assert session.scalars(select(Job).where(Job.kind == queue.WEBHOOK)).all() == []
