"""Announcements: whom they are for is counted before, they are sent once, and others do not read them."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Announcement, Entry, Mail, Run, Task, TaskRole
from leaderboard.errors import Conflict, Forbidden, Invalid, OverQuota
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncementBody
from leaderboard.tasks.page import news
from tests.make import people, worlds
from tests.make.copies import built_once
from tests.make.worlds import World

pytestmark = pytest.mark.dialect
DRAFT = AnnouncementBody("Deadline", "It *moves*.", announcements.EVERYBODY)
LINK = "http://localhost/tasks/robots/news"


@pytest.fixture
@built_once
def world(database: Database, tmp_path: Path) -> World:
    """A site where Owls have a run in `robots`, Bears have entered without one, and Nina helps."""
    made = worlds.build(database, tmp_path)
    with database.write() as session:
        task = session.scalars(select(Task.id).where(Task.slug == "robots")).one()
        session.add(Entry(task_id=task, team_id=made.bears, entered_by=made.carl, created_at=now(session)))
        session.add(TaskRole(task_id=task, account_id=made.nina, role="reader"))
    return made


def _people(database: Database, world: World, draft: AnnouncementBody) -> list[tuple[str, str]]:
    asker = people.viewer(database, world.olga)
    with database.read() as session:
        found = announcements.preview(session, asker, "robots", draft).people
    return [(person.name, person.why) for person in found]


def _send(database: Database, world: World, draft: AnnouncementBody, counted: int) -> int:
    asker = people.viewer(database, world.olga)
    with database.write() as session:
        return announcements.send(session, asker, "robots", draft, counted, LINK)


def _titles(database: Database, account_id: int | None) -> list[str]:
    asker = people.viewer(database, account_id) if account_id else ANONYMOUS
    with database.read() as session:
        return [row.title for row in news.news(session, asker, "robots").announcements]


def test_recipients_are_listed_before_it_is_sent(database: Database, world: World) -> None:
    """Everybody once, by name, and why; not those whose account is closed."""
    owls, bears = [("Anna", "Owls"), ("Berta", "Owls")], [("Carl", "Bears")]
    helpers = [("Nina", "reader"), ("Olga", "organiser")]
    chosen = frozenset({world.bears})
    wanted = {
        announcements.EVERYBODY: owls + bears + helpers,
        announcements.ENTERED: owls + bears,
        announcements.WITHOUT_RUN: bears,
        announcements.TEAMS: bears,
        announcements.ORGANISERS: helpers,
    }
    for kind, listed in wanted.items():
        assert _people(database, world, replace(DRAFT, recipients=kind, teams=chosen)) == listed, kind
    with database.write() as session:
        session.execute(update(Run).values(withdrawn_at=now(session)))
        session.execute(update(Account).where(Account.id == world.berta).values(disabled_at=now(session)))
    without = _people(database, world, replace(DRAFT, recipients=announcements.WITHOUT_RUN))
    assert without == [("Anna", "Owls"), ("Carl", "Bears")]


def test_only_whom_it_is_for_can_read_it(database: Database, world: World) -> None:
    """Those for everybody are public; of the others strangers, other teams and visitors see nothing."""
    readers = {
        announcements.EVERYBODY: {"anna", "carl", "nina", "olga", "otto", None},
        announcements.ENTERED: {"anna", "carl", "olga"},
        announcements.WITHOUT_RUN: {"carl", "olga"},
        announcements.TEAMS: {"anna", "olga"},
        announcements.ORGANISERS: {"nina", "olga"},
    }
    for kind in readers:
        draft = AnnouncementBody(kind, "", kind, (world.owls,))
        _send(database, world, draft, len(_people(database, world, draft)))
    for name in ("anna", "carl", "nina", "olga", "otto", None):
        seen = _titles(database, getattr(world, name) if name else None)
        assert set(seen) == {kind for kind, names in readers.items() if name in names}, name


def test_the_newest_that_a_reader_may_read_is_named_for_a_month(database: Database, world: World) -> None:
    """A newer one for others does not hide it, and is not named to them."""
    names = ("anna", "carl", "nina", "olga", "otto", None)
    wanted = {
        announcements.EVERYBODY: dict.fromkeys(names, "everybody"),
        announcements.TEAMS: {"anna": "teams", "olga": "teams"},
        announcements.WITHOUT_RUN: {"carl": "without_run", "olga": "without_run"},
        announcements.ORGANISERS: {"nina": "organisers", "olga": "organisers"},
        announcements.ENTERED: {"anna": "entered", "carl": "entered", "olga": "entered"},
    }
    named: dict[str | None, str | None] = dict.fromkeys(names)
    for kind, changed in wanted.items():
        draft = AnnouncementBody(kind, "", kind, (world.owls,))
        _send(database, world, draft, len(_people(database, world, draft)))
        named |= changed
        for name in names:
            asker = people.viewer(database, getattr(world, name)) if name else ANONYMOUS
            with database.read() as session:
                at = now(session)
                head = news.newest(session, asker, "robots", at)
                assert (head and head.title) == named[name], (kind, name)
                assert news.newest(session, asker, "robots", at + news.SHOWN) is None


def test_a_team_does_not_learn_who_else_it_went_to(database: Database, world: World) -> None:
    """Only organisers see teams, counts and letters, on the page and in its files."""
    draft = replace(DRAFT, recipients=announcements.TEAMS, teams=frozenset({world.owls, world.bears}))
    people.confirmed_address(database, world.anna, "anna@example.org")
    _send(database, world, draft, 3)
    for account_id, seen in ((world.carl, None), (world.olga, (3, "Bears, Owls", "1 waiting"))):
        asker = people.viewer(database, account_id)
        with database.read() as session:
            page = news.news(session, asker, "robots")
        (row,) = page.announcements
        assert ("Owls" in str(news.facts(page))) == (seen is not None)
        assert (row.people, row.teams, row.letters) == (seen or (None, "", ""))
        assert row.to == ("chosen teams" if seen else "you")


def test_letters_are_written_with_it(database: Database, world: World) -> None:
    """One to each who has a confirmed address, with the text as it was written and a link."""
    for account_id, name in ((world.anna, "anna"), (world.carl, "carl")):
        people.confirmed_address(database, account_id, f"{name}@example.org")
    sent = _send(database, world, replace(DRAFT, recipients=announcements.ENTERED), 3)
    with database.read() as session:
        letters = session.scalars(select(Mail).order_by(Mail.address)).all()
        assert [(letter.address, letter.announcement_id) for letter in letters] == [
            ("anna@example.org", sent),
            ("carl@example.org", sent),
        ]
        assert letters[0].subject == "Robots: Deadline"
        assert letters[0].body.startswith("It *moves*.\n")
        assert LINK in letters[0].body
        assert "Bears" not in letters[0].body


def test_it_goes_to_those_that_were_counted_and_once(database: Database, world: World) -> None:
    """Somebody who came since, or a second press of the button, stops it; nothing is stored then."""
    with pytest.raises(Conflict, match="now 5 people, not 4"):
        _send(database, world, DRAFT, 4)
    _send(database, world, DRAFT, 5)
    with pytest.raises(Conflict, match="not sent twice"):
        _send(database, world, DRAFT, 5)
    for number in range(announcements.A_DAY - 1):
        _send(database, world, replace(DRAFT, title=f"{number}"), 5)
    with pytest.raises(OverQuota):
        _send(database, world, replace(DRAFT, title="more"), 5)
    with database.read() as session:
        assert len(session.scalars(select(Announcement.id)).all()) == announcements.A_DAY


def test_bad_announcements_are_refused(database: Database, world: World) -> None:
    """Without title, too long, to nobody, to a team that is not in the task, by others than organisers."""
    wrong = [
        replace(DRAFT, title=" \n "),
        replace(DRAFT, title="x" * 201),
        replace(DRAFT, body="x" * 20_001),
        replace(DRAFT, recipients=announcements.TEAMS),
        replace(DRAFT, recipients=announcements.TEAMS, teams=(world.owls, 999)),
    ]
    for draft in wrong:
        with pytest.raises(Invalid) as refused:
            _people(database, world, draft)
        assert refused.value.problems, draft
    for account_id in (world.anna, world.otto, world.nina):
        asker = people.viewer(database, account_id)
        with database.write() as session, pytest.raises(Forbidden):
            announcements.send(session, asker, "robots", DRAFT, 5, LINK)
    with database.read() as session, pytest.raises(Forbidden):
        announcements.preview(session, policy.Viewer(world.anna), "robots", DRAFT)
