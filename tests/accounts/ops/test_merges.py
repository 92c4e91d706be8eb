"""Two teams become one: what moves, what stands against it; details, names and captains."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import invitations, teams
from leaderboard.accounts.ops.invitations import Invitation, InvitationRequest
from leaderboard.accounts.ops.teams import TeamChanges
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import (
    Announcement,
    Audit,
    Entry,
    GroupedTeam,
    Member,
    Phase,
    Run,
    RunGroup,
    Task,
    Team,
    Upload,
)
from leaderboard.errors import Conflict, Forbidden, Invalid, LeaderboardError, NotFound, OverQuota
from leaderboard.runs.ops import limits
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.page import teams as pages
from tests.make import build, people
from tests.make.copies import built_once


class Teams:
    """Owls, led by Ann, and Bears, led by Bob, with a run called `first` each in task `t`."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database, self.folder = database, folder
        build.task(database, folder)
        self.ann, self.bob = people.account(database, "Ann"), people.account(database, "Bob")
        self.owls = people.team(database, "Owls", self.ann)
        self.bears = people.team(database, "Bears", self.bob)
        for place, name in enumerate(("Owls", "Bears")):
            build.run(database, folder, {"1": ["a", "b"][place:]}, f"{name}-1", team_name=name)
        # Each could be called so while the task was sealed.
        self.write(update(Run).values(name="first"))

    def viewer(self, account_id: int) -> Viewer:
        """An account as it is now."""
        return people.viewer(self.database, account_id)

    def do(self, act: Callable[..., object], account_id: int, *values: object) -> object:
        """Do an act of an account."""
        asker = self.viewer(account_id)
        with self.database.write() as session:
            return act(session, asker, *values)

    def write(self, *statements: object) -> None:
        """Change what is stored."""
        with self.database.write() as session:
            for statement in statements:
                session.execute(statement)  # type: ignore[call-overload]

    def merge(self) -> object:
        """Owls take Bears in."""
        with self.database.write() as session:
            return teams.merge(session, OPERATOR, "bears", "Owls")


@pytest.fixture
@built_once
def both(database: Database, tmp_path: Path) -> Teams:
    """Two teams with a run each."""
    return Teams(database, tmp_path)


def _names(session: Session, team_id: int) -> list[str]:
    return list(session.scalars(select(Run.name).where(Run.team_id == team_id).order_by(Run.id)))


@pytest.mark.dialect
def test_members_runs_and_limits_move(both: Teams) -> None:
    """All is the target's: runs under free names, one entry, what both used; the old page leads on."""
    both.write(
        update(Phase).values(runs_in_all=3),
        update(Upload).values(account_id=None),
        update(Task).values(final_runs=1),
    )
    with both.database.write() as session:
        at = now(session)
        for place, run in enumerate(session.scalars(select(Run).order_by(Run.id))):
            run.final_at = at + timedelta(seconds=place)
        session.add_all(RunGroup(task_id=1, name=name, kind="teams", declared_at=at) for name in "ab")
        session.flush()
        session.add(GroupedTeam(group_id=1, team_id=both.owls))
        session.add(GroupedTeam(group_id=2, team_id=both.bears))
    assert both.merge() == both.owls
    ann, bob = both.viewer(both.ann), both.viewer(both.bob)
    assert bob.team_ids == {both.owls}
    with both.database.read() as session:
        assert _names(session, both.owls) == ["first", "first (2)"]
        assert [run.final_at is not None for run in session.scalars(select(Run).order_by(Run.id))] == [1, 0]
        assert [entry.team_id for entry in session.scalars(select(Entry))] == [both.owls]
        assert session.scalars(select(GroupedTeam.group_id)).all() == [1]
        assert limits.admission_quota(session, ann, "t", both.owls).left_in_all == 1
        with pytest.raises(NotFound):
            limits.admission_quota(session, bob, "t", both.bears)
        roles = session.execute(select(Member.account_id, Member.role).where(Member.team_id == both.owls))
        assert {row.account_id: row.role for row in roles} == {both.ann: "captain", both.bob: "member"}
        for asker in (ANONYMOUS, bob):
            assert pages.team_page(session, asker, both.bears).id == both.owls
        assert session.scalars(select(Audit.detail).where(Audit.action == "team.merge")).all() == [
            {"merged": both.bears, "renamed": {"2": "first (2)"}}
        ]


def test_invitations_and_announcements_follow(both: Teams) -> None:
    """A link to the team that is no more leads to the one that stays; what it was told can be read there."""
    asked = InvitationRequest(kind="team", team_id=both.bears, uses=2)
    token = str(both.do(invitations.invite, both.bob, asked))
    with both.database.write() as session:
        for kind, team_ids in (("teams", [both.bears]), ("teams", [99]), ("everybody", None)):
            to = {"kind": kind} if team_ids is None else {"kind": kind, "teams": team_ids}
            row = Announcement(
                task_id=1, title=str(to), body="", recipients=to, count=1, created_at=now(session)
            )
            session.add(row)
    both.merge()
    guest = people.account(both.database, "Gil")
    joined = both.do(invitations.redeem, guest, token)
    assert isinstance(joined, Invitation)
    assert (joined.team_id, joined.name) == (both.owls, "Owls")
    assert both.viewer(guest).team_ids == {both.owls}
    for account_id, count in ((both.ann, 2), (guest, 2), (people.account(both.database, "Eve"), 1)):
        with both.database.read() as session:
            task = session.get_one(Task, 1)
            assert len(announcements.visible(session, both.viewer(account_id), task)) == count


def test_a_team_alone_in_a_task_takes_its_entry_along(both: Teams) -> None:
    """Entries, pseudonyms and groups of tasks where the other team is not stay as they are."""
    build.task(both.database, both.folder, "u")
    build.run(both.database, both.folder, {"1": ["a"]}, "only", slug="u", team_name="Bears")
    both.write(update(Entry).where(Entry.task_id == 2).values(pseudonym="Lynx"))
    both.merge()
    with both.database.read() as session:
        rows = session.execute(select(Entry.task_id, Entry.team_id, Entry.pseudonym).order_by(Entry.task_id))
        assert [tuple(row) for row in rows] == [(1, both.owls, None), (2, both.owls, "Lynx")]


def test_pseudonyms_and_refusals_are_joined(both: Teams) -> None:
    """The pseudonym of the team that stays is kept, for ever where one of the two was; a refusal stays."""
    for team_id, name in ((both.owls, "Lynx"), (both.bears, "Ibis")):
        both.write(update(Entry).where(Entry.team_id == team_id).values(pseudonym=name))
    with both.database.write() as session:
        reveal = update(Entry).where(Entry.team_id == both.owls)
        session.execute(reveal.values(reveal_at=now(session)))
    both.write(update(Entry).where(Entry.team_id == both.bears).values(state="refused", why="No."))
    both.merge()
    with both.database.read() as session:
        entry = session.scalars(select(Entry)).one()
        assert (entry.pseudonym, entry.reveal_at, entry.state, entry.why) == ("Lynx", None, "refused", "No.")


def test_what_stands_against_a_merge(both: Teams) -> None:
    """Each obstacle is named, and nothing has moved after any of them."""
    undo = {
        "received": update(Upload).where(Upload.id == 2).values(state="accepted"),
        "masked": update(Entry).values(pseudonym=None),
        "closed": update(Phase).values(closes_at=None),
    }
    received = update(Upload).where(Upload.id == 2).values(state="received")
    masked = update(Entry).where(Entry.team_id == both.owls).values(pseudonym="Lynx")
    closed = update(Phase).values(closes_at=now_of(both.database))
    cases: list[tuple[type[LeaderboardError], str, object, Viewer, str, str]] = [
        (Conflict, "with itself", None, OPERATOR, "Owls", ""),
        (Forbidden, "operator", None, both.viewer(both.bob), "Bears", ""),
        (NotFound, "no team named Cats", None, OPERATOR, "Cats", ""),
        (Conflict, "waiting to be checked", received, OPERATOR, "Bears", "received"),
        (Conflict, "has a pseudonym", masked, OPERATOR, "Bears", "masked"),
        (Conflict, "Task t is over", closed, OPERATOR, "Bears", "closed"),
    ]
    faults = []
    for kind, words, before, asker, name, after in cases:
        if before is not None:
            both.write(before)
        try:
            with both.database.write() as session:
                teams.merge(session, asker, name, "Owls")
            faults.append(f"{words}: merged")
        except kind as error:
            faults += [] if words in error.message else [f"{words}: {error.message}"]
        if after:
            both.write(undo[after])
    assert faults == []
    assert both.merge() == both.owls
    with pytest.raises(NotFound, match="bears"):
        both.merge()


@pytest.mark.dialect
def test_merges_of_both_into_each_other_at_once_merge_once(both: Teams) -> None:
    """In one moment each is merged into the other: one team is left, with all runs."""

    def joined(pair: tuple[str, str]) -> bool:
        try:
            with both.database.write() as session:
                teams.merge(session, OPERATOR, *pair)
        except LeaderboardError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(joined, (("Owls", "Bears"), ("Bears", "Owls"))))
    assert sorted(done) == [False, True]
    with both.database.read() as session:
        left = session.scalars(select(Team.id).where(Team.merged_into_id.is_(None))).one()
        assert len(_names(session, left)) == 2


def test_details_names_and_captains(both: Teams) -> None:
    """Members describe, the captain renames and hands over; every refusal names its rule."""
    details = TeamChanges(" Nest ", "Norway", "https://example.org/owls?x=1")
    both.do(teams.describe, both.ann, both.owls, details)
    refused = (
        "http://example.org",
        "javascript:alert(1)",
        "https://me:pw@example.org",
        "https://a b",
        "x" * 201,
    )
    faults = []
    for page in refused:
        try:
            both.do(teams.describe, both.ann, both.owls, TeamChanges(home_page=page))
            faults.append(page)
        except Invalid:
            pass
    assert faults == []
    both.do(teams.rename, both.ann, both.owls, "Snowy Owls")
    for name, kind in (("bears", Conflict), ("", Invalid)):
        with pytest.raises(kind):
            both.do(teams.rename, both.ann, both.owls, name)
    both.do(teams.rename, both.ann, both.owls, "Snowy owls")
    people.join(both.database, both.owls, both.ann, both.bob)
    for act, values in ((teams.rename, ("Mine",)), (teams.hand_over, (both.ann,))):
        with pytest.raises(Forbidden):
            both.do(act, both.bob, both.owls, *values)
    both.do(teams.hand_over, both.ann, both.owls, both.bob)
    with both.database.read() as session:
        team = session.get_one(Team, both.owls)
        assert (team.name, team.affiliation, team.country) == ("Snowy owls", "Nest", "Norway")
        page = pages.team_page(session, both.viewer(both.bob), both.owls)
        assert (page.is_captain, page.size) == (True, 2)
        renamed = session.scalars(select(Audit.detail).where(Audit.action == "team.rename")).all()
        assert renamed[0] == {"before": "Owls", "name": "Snowy Owls"}
    with pytest.raises(OverQuota):
        for _ in range(teams.TEAMS_PER_DAY + 1):
            both.do(teams.describe, both.bob, both.owls, details)


def test_a_page_tells_nothing_of_masked_held_back_or_withdrawn_runs(both: Teams) -> None:
    """To others a team has the runs they may see under its name, and without any there is no team."""

    def seen(asker: Viewer) -> list[str]:
        with both.database.read() as session:
            try:
                page = pages.team_page(session, asker, both.owls)
            except LeaderboardError:
                return ["nothing"]
        return [f"{run.slug}/{run.name}" for run in page.runs] + [row.name for row in page.members]

    build.task(both.database, both.folder, "u")
    build.run(both.database, both.folder, {"1": ["a"]}, "second", slug="u", team_name="Owls")
    stranger, own = both.viewer(both.bob), both.viewer(both.ann)
    assert seen(ANONYMOUS) == seen(stranger) == ["u/second", "t/first"]
    assert seen(own) == ["u/second", "t/first", "Ann"]
    owls, task = Entry.team_id == both.owls, Entry.task_id == 1
    both.write(update(Entry).where(owls, task).values(pseudonym="Lynx"))
    both.write(update(Task).where(Task.slug == "t").values(naming="team"))
    assert seen(stranger) == ["u/second"]
    organiser = Viewer(account_id=99, organises=frozenset({1}))
    assert seen(organiser) == ["u/second", "t/first", "Ann"]
    both.write(update(Task).where(Task.slug == "u").values(visibility="sealed"))
    assert seen(stranger) == seen(ANONYMOUS) == ["nothing"]
    assert seen(own) == ["u/second", "t/first", "Ann"]
    both.write(update(Entry).values(pseudonym=None))
    both.write(update(Task).values(naming="names"))
    both.write(update(Run).where(Run.id == 1).values(withdrawn_at=now_of(both.database)))
    assert seen(stranger) == ["nothing"]
    both.write(update(Task).values(published_at=None))
    assert seen(stranger) == ["nothing"]


def now_of(database: Database) -> object:
    """The database's time."""
    with database.read() as session:
        return now(session)
