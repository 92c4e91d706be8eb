"""Pseudonyms of a task's teams: drawn once, kept, taken back; who reads which name when."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.accounts.ops.names import skeleton
from leaderboard.core import shown_names
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Audit, Entry, Phase, Task
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound
from leaderboard.tasks.ops.pseudonyms import pseudonyms, reviews
from leaderboard.tasks.ops.pseudonyms.pseudonyms import TITLES, Naming, order, words
from leaderboard.tasks.ops.pseudonyms.reviews import ReviewBody
from leaderboard.tasks.page import naming
from tests.make import build, people

SURE = Naming(until="team", is_sure=True)


def _names(database: Database, viewer: Viewer = ANONYMOUS) -> dict[int, str]:
    """Team id -> what a viewer reads."""
    with database.read() as session:
        task = session.scalars(select(Task)).one()
        return {key: team.name for key, team in shown_names.shown_teams(session, viewer, task).items()}


def _give(database: Database, request: Naming = SURE) -> int:
    with database.write() as session:
        return pseudonyms.give(session, OPERATOR, "t", request)


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Database:
    """A task with runs of three teams, one of them Ann's."""
    people.team(database, "Owls", people.account(database, "Ann"))
    build.task(database, tmp_path, measures=("AP",))
    for team, docnos in (("Owls", ["a"]), ("Bears", ["b", "a"]), ("Wolves", ["c"])):
        build.run(database, tmp_path, {"1": docnos}, f"run-of-{team}", team_name=team)
    return database


def test_there_are_names_enough_and_no_two_look_alike() -> None:
    """At least 300 animals and plants in plain letters, and no word in both lists."""
    known = [name for kind in TITLES for name in words(kind)]
    assert len(words("animals")) + len(words("plants")) >= 300
    assert all(name.isascii() and name.isalnum() and name[0].isupper() for name in known)
    assert len({skeleton(name) for name in known}) == len(known)


def test_a_seed_draws_the_same_names_and_another_one_others() -> None:
    """The draw can be repeated from the seed, and depends on nothing else."""
    one, other = (order(words("animals"), seed) for seed in ("1", "2"))
    assert one == order(tuple(reversed(words("animals"))), "1")
    assert sorted(one) == sorted(other) == sorted(words("animals"))
    assert sum(left == right for left, right in zip(one, other, strict=True)) < 10


@pytest.mark.dialect
def test_every_team_gets_a_name_and_so_do_those_that_come_later(site: Database, tmp_path: Path) -> None:
    """Names are kept when the rule changes; a team that enters gets the next one, and none is a team's."""
    birds = build.team(site, "Oystercatcher")
    assert _give(site) == 3
    first = _names(site)
    assert set(first.values()) <= set(words("animals"))
    build.run(site, tmp_path, {"1": ["d"]}, "late", team_name="Oystercatcher")
    _give(site, Naming(kind="numbers", until="close"))
    after = _names(site)
    assert {key: after[key] for key in first} == first
    assert len(set(after.values())) == 4
    assert after[birds] in set(words("animals")) - {"Oystercatcher"}
    with site.read() as session:
        task = session.scalars(select(Task)).one()
        drawn = order(words("animals"), task.pseudonym_seed)[:5]
        assert set(after.values()) <= set(drawn)
        acts = session.scalars(select(Audit.action).where(Audit.subject == f"task:{task.id}")).all()
        assert acts[-2:] == ["task.pseudonyms"] * 2


def test_more_teams_than_names(site: Database) -> None:
    """A short list is gone through again, with a number behind the names."""
    _give(site, Naming(kind="animals", is_sure=True))
    with site.write() as session:
        task = session.scalars(select(Task)).one()
        entries = list(session.scalars(select(Entry).order_by(Entry.id)))
        drawn = order(words("animals"), task.pseudonym_seed)
        entries[0].pseudonym, entries[1].pseudonym = drawn[1], None
        pseudonyms.enter(session, task.id)
        assert entries[1].pseudonym == drawn[0]


def test_runs_that_were_shown_ask_for_a_yes(site: Database) -> None:
    """Names that were read are not forgotten: giving pseudonyms and drawing again want to be sure."""
    for act in (
        lambda session: pseudonyms.give(session, OPERATOR, "t", Naming()),
        lambda session: pseudonyms.draw_again(session, OPERATOR, "t", "plants", is_sure=True),
        lambda session: pseudonyms.take_back(session, OPERATOR, "t"),
    ):
        with pytest.raises(Conflict), site.write() as session:
            act(session)
    _give(site)
    before = _names(site)
    with pytest.raises(Conflict, match="these pseudonyms"), site.write() as session:
        pseudonyms.draw_again(session, OPERATOR, "t", "plants")
    with site.write() as session:
        pseudonyms.draw_again(session, OPERATOR, "t", "plants", is_sure=True)
    assert not set(before.values()) & set(_names(site).values())
    with site.write() as session:
        pseudonyms.take_back(session, OPERATOR, "t")
    assert sorted(_names(site).values()) == ["Bears", "Owls", "Wolves"]


@pytest.mark.parametrize(
    "request_", [Naming(until="date"), Naming(until="date", names_at=datetime(2020, 1, 1, tzinfo=UTC))]
)
def test_what_cannot_be_read_changes_nothing(site: Database, request_: Naming) -> None:
    """An unknown list or rule, and a date that is missing or past."""
    with pytest.raises(Invalid):
        _give(site, request_)
    assert sorted(_names(site).values()) == ["Bears", "Owls", "Wolves"]


@pytest.mark.dialect
def test_names_show_when_the_rule_says_so(site: Database) -> None:
    """At the date, at the close, or when a team says so; its members and organisers read them always."""
    with site.read() as session:
        at = now(session)
    _give(site, Naming(until="date", names_at=at + timedelta(days=1), is_sure=True))
    ann = people.viewer(site, 1)
    assert "Owls" not in _names(site).values()
    assert "Owls" in _names(site, ann).values()
    assert "Bears" not in _names(site, ann).values()
    assert "Bears" in _names(site, OPERATOR).values()
    with site.write() as session:
        session.execute(update(Task).values(names_at=at - timedelta(days=1)))
    assert "Bears" in _names(site).values()
    with pytest.raises(Conflict, match="already shows names"), site.write() as session:
        pseudonyms.take_back(session, OPERATOR, "t")
    _give(site, Naming(until="close"))
    assert "Bears" not in _names(site).values()
    with site.write() as session:
        session.execute(update(Phase).values(closes_at=at - timedelta(days=1)))
    assert "Bears" in _names(site).values()


def test_a_team_shows_its_own_name_and_nobody_elses(site: Database) -> None:
    """The button is for members, and for tasks that leave it to teams."""
    _give(site)
    ann = people.viewer(site, 1)
    owls, bears, _ = sorted(_names(site))
    with pytest.raises(Forbidden), site.write() as session:
        pseudonyms.show_name(session, ann, "t", bears)
    with site.write() as session:
        pseudonyms.show_name(session, ann, "t", owls)
    assert _names(site)[owls] == "Owls"
    assert _names(site)[bears] != "Bears"
    _give(site, Naming(until="close"))
    with pytest.raises(Conflict), site.write() as session:
        pseudonyms.show_name(session, ann, "t", owls)


def test_a_team_without_a_pseudonym_is_not_named_either(site: Database) -> None:
    """Where a task shows no names, one that somehow has no pseudonym is a team, not its name."""
    _give(site)
    with site.write() as session:
        session.execute(update(Entry).values(pseudonym=None))
    assert set(_names(site).values()) == {"a team"}


def test_masked_runs_are_numbered_in_order_of_arrival(site: Database, tmp_path: Path) -> None:
    """A number stays with its run, also when another one is withdrawn."""
    build.run(site, tmp_path, {"1": ["d"]}, "second", team_name="Bears")
    _give(site)
    bears = build.team(site, "Bears")
    word = _names(site)[bears]
    with site.read() as session:
        names = shown_names.shown_names(session, ANONYMOUS, session.scalars(select(Task)).one())
    assert [names.runs[run_id] for run_id in (2, 4)] == [f"{word}-1", f"{word}-2"]
    taken = build.run_file(tmp_path, {"1": ["a"]}, f"{word}-2")
    refused = build.submit(site, taken, team_name="Wolves")
    assert refused.state == "rejected"
    free = build.run_file(tmp_path, {"1": ["a", "b"]}, "second")
    assert build.submit(site, free, team_name="Wolves").state == "accepted"


def test_the_map_is_for_organisers(site: Database) -> None:
    """It names every team beside its pseudonym."""
    _give(site)
    with site.read() as session, pytest.raises(Forbidden):
        naming.naming_page(session, people.viewer(site, 1), "t")
    with site.read() as session:
        page = naming.naming_page(session, OPERATOR, "t")
    rows = {row["team"]: row["pseudonym"] for row in naming.table(page).facts()}
    assert rows == {name: _names(site)[key] for key, name in _names(site, OPERATOR).items()}
    assert (page.runs, page.is_over) == (3, False)


@pytest.mark.dialect
def test_reviewers_see_a_teams_runs_and_not_the_team(site: Database) -> None:
    """A link works until it is ended or runs out, shows own runs by pseudonym, and is for members to make."""
    build.drain(site)
    ann = people.viewer(site, 1)
    owls, bears, _ = sorted(_names(site))
    with pytest.raises(Conflict, match="no pseudonym"), site.write() as session:
        reviews.make(session, ann, "t", owls, ReviewBody())
    _give(site)
    with pytest.raises(Forbidden), site.write() as session:
        reviews.make(session, ann, "t", bears, ReviewBody())
    with site.write() as session:
        token = reviews.make(session, ann, "t", owls, ReviewBody(days=7, note="the SIGIR paper"))
    with site.read() as session:
        page = naming.review_page(session, token)
        own = naming.own_teams_page(session, ann, "t")
    assert [run.name for run in page.runs] == [f"{page.pseudonym}-1"]
    assert page.runs[0].scores["AP"] is not None
    assert "Owls" not in repr(page)
    assert [link.note for link in own.teams[0].links] == ["the SIGIR paper"]
    with site.write() as session, pytest.raises(NotFound):
        reviews.end(session, ann, "t", owls, 99)
    with site.write() as session:
        reviews.end(session, ann, "t", owls, own.teams[0].links[0].id)
    for dead in (token, "nonsense"):
        with site.read() as session, pytest.raises(NotFound, match="is invalid or has expired"):
            naming.review_page(session, dead)


def test_a_sealed_tasks_link_shows_no_score(site: Database) -> None:
    """A link opens nothing that the task holds back."""
    build.drain(site)
    _give(site)
    with site.write() as session:
        session.execute(update(Task).values(visibility="sealed"))
        token = reviews.make(session, people.viewer(site, 1), "t", min(_names(site)), ReviewBody())
    with site.read() as session:
        page = naming.review_page(session, token)
    assert [(run.rank, run.scores) for run in page.runs] == [(None, {"AP": None})]
    assert [column.key for column in naming.review_table(page).columns] == ["run", "run_id", "kind"]
