"""Accounts that the operator closes, opens again or signs out."""

from collections.abc import Callable

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts, closing, invitations, sessions, teams
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Token
from leaderboard.errors import Conflict, Forbidden, NotFound
from tests.make.people import account, invitation, viewer

pytestmark = pytest.mark.dialect

ACTS: list[Callable[[Session, Viewer, int], None]] = [closing.close, closing.reopen, closing.sign_out]


def _start(database: Database, account_id: int) -> str:
    with database.write() as session:
        return sessions.start(session, account_id, "192.0.2.1", "Browser")


def _is_in(database: Database, token: str) -> bool:
    with database.read() as session:
        return sessions.resume(session, token) is not None


def test_a_closed_account_has_no_way_in(database: Database) -> None:
    """Sessions, sign-in links and invitations of the account end; another account keeps its own."""
    anna, bert = account(database, "Anna"), account(database, "Bert")
    with database.write() as session:
        link = accounts.sign_in_link(session, anna)
        team_id = teams.create(session, viewer(database, anna), "Owls")
    link_to_team = invitation(database, anna, team_id=team_id)
    tokens = [_start(database, anna), _start(database, anna), _start(database, bert)]
    with database.write() as session:
        closing.close(session, OPERATOR, anna)
    assert [_is_in(database, token) for token in tokens] == [False, False, True]
    with database.read() as session:
        with pytest.raises(NotFound):
            accounts.link_owner(session, link)
        with pytest.raises(NotFound):
            invitations.look_at(session, link_to_team)
        assert None not in session.scalars(select(Token.revoked_at)).all()


def test_a_closed_account_is_opened_again(database: Database) -> None:
    """A new link signs in again, and what ended stays ended."""
    anna = account(database, "Anna")
    token = _start(database, anna)
    with database.write() as session:
        closing.close(session, OPERATOR, anna)
    with pytest.raises(Conflict, match="already closed"), database.write() as session:
        closing.close(session, OPERATOR, anna)
    with database.write() as session:
        closing.reopen(session, OPERATOR, anna)
        link = accounts.sign_in_link(session, anna)
    with pytest.raises(Conflict, match="not closed"), database.write() as session:
        closing.reopen(session, OPERATOR, anna)
    assert not _is_in(database, token)
    with database.read() as session:
        assert accounts.link_owner(session, link) == "Anna"


def test_one_or_all_are_signed_out(database: Database) -> None:
    """All sessions of one account end, or all of the site; each is on record."""
    anna, bert = account(database, "Anna"), account(database, "Bert")
    tokens = [_start(database, anna), _start(database, bert)]
    with database.write() as session:
        closing.sign_out(session, OPERATOR, anna)
    assert [_is_in(database, token) for token in tokens] == [False, True]
    with database.write() as session:
        assert closing.sign_out_everybody(session, OPERATOR) == 1
    assert not _is_in(database, tokens[1])
    with database.read() as session:
        subjects = session.scalars(select(Audit.subject).where(Audit.action == "account.sign_out")).all()
    assert subjects == [f"account:{anna}", "account:all"]


@pytest.mark.parametrize("act", ACTS)
def test_only_the_operator_may(database: Database, act: Callable[[Session, Viewer, int], None]) -> None:
    """An organiser closes nobody, and signs nobody out."""
    asker = viewer(database, account(database, "Olga", is_organiser=True))
    anna = account(database, "Anna")
    with pytest.raises(Forbidden), database.write() as session:
        act(session, asker, anna)
    with pytest.raises(Forbidden), database.write() as session:
        closing.sign_out_everybody(session, asker)
