"""Accounts that leave: what they take along, what goes, what stays."""

import json
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from leaderboard.accounts.ops import accounts, closing, sessions
from leaderboard.accounts.ops.accounts import AccountCredentials
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import (
    Account,
    Audit,
    Identity,
    Mail,
    Member,
    Run,
    SecondFactor,
    TaskRole,
    Token,
    Webhook,
    WebSession,
    metadata,
)
from leaderboard.errors import Conflict, NotFound
from tests.make import people, worlds
from tests.make.copies import built_once
from tests.make.people import HASH, viewer
from tests.make.worlds import World

pytestmark = pytest.mark.dialect


@pytest.fixture
@built_once
def world(database: Database, tmp_path: Path) -> World:
    """Anna leads Owls, in which Berta is too; Olga organises two tasks, Otto one."""
    return worlds.build(database, tmp_path)


def _delete(database: Database, account_id: int) -> None:
    asker = viewer(database, account_id)
    with database.write() as session:
        closing.delete_account(session, asker, AccountCredentials(account_id, HASH.text))


def _give_all(database: Database, account_id: int) -> None:
    """An address, a letter, an identity, a second factor, a session, a link."""
    people.second_factor(database, account_id)
    with database.write() as session:
        at = now(session)
        session.execute(update(Account).where(Account.id == account_id).values(email="anna@example.org"))
        letter = {"address": "anna@example.org", "subject": "Hello", "body": "", "state": "sent"}
        session.add(Mail(account_id=account_id, created_at=at, next_at=at, **letter))
        identity = {"issuer": "https://id.example.org", "subject": "anna"}
        session.add(Identity(account_id=account_id, created_at=at, **identity))
        secrets = {"secret": "whsec_new", "old_secret": "whsec_old"}
        hook = {"team_id": 1, "address": "https://example.org", "events": ["run.scored"], **secrets}
        session.add(Webhook(account_id=account_id, created_at=at, **hook))
        sessions.start(session, account_id, "192.0.2.1", "Browser")
        accounts.sign_in_link(session, account_id)


def test_a_deleted_account_leaves_its_number(database: Database, world: World) -> None:
    """Name, address and all ways in are gone, the runs stay, the next member leads, the name is free."""
    _give_all(database, world.anna)
    link = people.invitation(database, world.anna, team_id=world.owls)
    _delete(database, world.anna)
    with database.read() as session:
        gone = session.get_one(Account, world.anna)
        assert (gone.name, gone.email, gone.password_hash) == (f"Deleted account {world.anna}", "", None)
        assert gone.deleted_at is not None
        for table in (WebSession, Token, SecondFactor, Identity, Mail, TaskRole, Member, Webhook):
            held = session.scalars(select(table).where(table.account_id == world.anna)).all()
            assert not held, table.__tablename__
        assert session.get_one(Member, (world.owls, world.berta)).role == "captain"
        assert session.get_one(Run, world.run).team_id == world.owls
        told = [json.dumps(row.detail) for row in session.scalars(select(Audit))]
        assert not [detail for detail in told if "Anna" in detail or "example.org" in detail]
        with pytest.raises(NotFound):
            accounts.find(session, "Anna")
    with pytest.raises(NotFound):
        people.redeem(database, world.nina, link)
    for act in (closing.close, closing.reopen, closing.sign_out):
        with pytest.raises(NotFound), database.write() as session:
            act(session, OPERATOR, world.anna)
    assert people.account(database, "Anna") != world.anna
    people.account(database, f"deleted {world.anna}")


def test_the_last_member_may_go(database: Database, world: World) -> None:
    """The team and its runs stay without a member."""
    _delete(database, world.anna)
    _delete(database, world.berta)
    with database.read() as session:
        assert not session.scalars(select(Member).where(Member.team_id == world.owls)).all()
        assert session.get_one(Run, world.run).team_id == world.owls


def test_the_last_organiser_stays(database: Database, world: World) -> None:
    """Nobody deletes the only organiser of a task, draft or not, nor the only one of the site."""
    with pytest.raises(Conflict, match="only organiser of Robots, Draft"):
        _delete(database, world.olga)
    with database.write() as session:
        rows = [{"task_id": task, "account_id": world.otto, "role": "organiser"} for task in (1, 2)]
        session.execute(insert(TaskRole), rows)
    _delete(database, world.olga)
    with database.write() as session:
        session.execute(
            update(TaskRole).values(account_id=world.nina).where(TaskRole.account_id == world.otto)
        )
    with pytest.raises(Conflict, match="only organiser account"):
        _delete(database, world.otto)


def test_a_password_changed_meanwhile_deletes_nothing(database: Database, world: World) -> None:
    """What was checked is what the account has at that moment."""
    asker = viewer(database, world.nina)
    with pytest.raises(Conflict, match="in the meantime"), database.write() as session:
        closing.delete_account(session, asker, AccountCredentials(world.nina, "another"))


def test_an_export_has_every_table_and_no_secret(database: Database, world: World) -> None:
    """Each table that can name an account is in it; digests, hashes and what belongs to others are not."""
    _give_all(database, world.anna)
    asker = viewer(database, world.anna)
    with database.read() as session:
        facts = closing.export_of(session, asker)
        secrets = set(session.scalars(select(Token.token_sha256)))
        secrets |= set(session.scalars(select(SecondFactor.secret)))
        secrets |= {*session.scalars(select(Webhook.secret)), *session.scalars(select(Webhook.old_secret))}
    naming = {
        table.name
        for table in metadata.sorted_tables
        if any(key.target_fullname == "account.id" for key in table.foreign_keys)
    }
    assert set(facts) == naming | {"account", "teams", "acts"}
    text = json.dumps(facts)
    assert not [secret for secret in {*secrets, HASH.text} if secret in text]
    assert "anna@example.org" in text
    assert facts["teams"] == [
        {"id": world.owls, "name": "Owls", "runs": [{"id": world.run, "name": "first", "task": "Robots"}]}
    ]
    assert {row["file_name"] for row in facts["upload"]} == {"first.txt", "second.txt"}
    assert {"team.create", "account.make_link"} <= {row["action"] for row in facts["acts"]}
    assert "Berta" not in text
