"""Accounts that visitors make for themselves, by the sign-up page or an invitation."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.accounts.ops import accounts, passwords, teams
from leaderboard.accounts.ops.accounts import NewAccount, NewSession
from leaderboard.core.policy import Viewer, viewer_of
from leaderboard.errors import Conflict
from leaderboard.web import actions
from leaderboard.web.session import browser, client_ip, viewer, writing


def new_account() -> NewAccount:
    """The form of a new account; raises Invalid with every problem, of a missing field too."""
    return fields.read(NewAccount, {"name": "", "password": "", **actions.sent(NewAccount)})


def found_team(session: Session, captain: Viewer, team: str) -> None:
    """Create a team that was counted; raises Conflict, for the field of the team, if the name is taken."""
    try:
        teams.create(session, captain, team)
    except Conflict as error:
        raise Conflict(error.message, field="team") from None


def found_first_team(session: Session, account_id: int, name: str, team: str) -> None:
    """The same for an account that was just made, whose making was counted."""
    captain = viewer_of(session, account_id, name, False, client_ip())
    teams.count_creation(session, captain, team)
    found_team(session, captain, team)


def make_account(
    name: str, password: str | None, admit: Callable[[Session, int], None] = lambda session, account_id: None
) -> NewSession:
    """The first session of a new account; `admit` lets it in somewhere in the same transaction.

    Without a password it is one that signs in by a provider.
    """
    asker, asking = viewer(), browser()
    if password is not None:
        passwords.require_strong(password, name)
    with writing() as session:
        accounts.count_sign_up(session, asker, name)
    secret = passwords.hashed(password, name) if password is not None else None
    with writing() as session:
        account_id = accounts.create(session, name, secret, viewer=asker)
        admit(session, account_id)
        return accounts.begin_session(session, account_id, "sign-up", asking)
