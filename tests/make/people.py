"""Plain builders of accounts, teams and viewers for tests."""

from datetime import datetime
from typing import Any

from argon2 import PasswordHasher
from pyotp import TOTP
from sqlalchemy import update

from leaderboard.accounts.ops import accounts, invitations, passwords, second_factors, teams
from leaderboard.accounts.ops.invitations import Invitation, InvitationRequest
from leaderboard.accounts.ops.passwords import AccountPassword
from leaderboard.core.policy import Viewer, viewer_of
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Entry, SecondFactor, Task
from tests.make.copies import built_once

PASSWORD = "correct-lantern-melts-42"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
HASH = AccountPassword(
    "$argon2id$v=19$m=8,t=1,p=1$L1X5R35nXmrMlTlhJIGdTw$Fsrojtp467jRE68eIZCdJILvsXMqwv7iQUuXU7WrKOk"
)
"""Hash of PASSWORD by CHEAP."""
NOBODYS = "$argon2id$v=19$m=8,t=1,p=1$Z3BwVHEgmFtfYwhP5smLpQ$6qlK/4K7t0FzoJirKvSOIhSouyP+z+8gETtFmMJ2OGU"
AT_FULL_COST = {name: getattr(passwords, name) for name in ("_HASHER", "_NOBODYS")}
"""What a site hashes passwords with; tests/accounts/ops/test_passwords.py does, too."""


def hash_cheaply() -> None:
    """Let this process take no time over passwords, of which tests check hundreds."""
    for name, cheap in (("_HASHER", CHEAP), ("_NOBODYS", NOBODYS)):
        setattr(passwords, name, cheap)


@built_once
def account(database: Database, name: str, *, is_organiser: bool = False) -> int:
    """The id of a new account whose password is PASSWORD."""
    with database.write() as session:
        return accounts.create(session, name, HASH, is_organiser)


def viewer(database: Database, account_id: int, ip: str = "192.0.2.1") -> Viewer:
    """The viewer an account is at this moment."""
    with database.read() as session:
        account = session.get_one(Account, account_id)
        return viewer_of(session, account_id, account.name, account.is_organiser, ip)


@built_once
def team(database: Database, name: str, captain: int) -> int:
    """The id of a new team led by an account."""
    asker = viewer(database, captain)
    with database.write() as session:
        return teams.create(session, asker, name)


@built_once
def join(database: Database, team_id: int, member: int, newcomer: int) -> None:
    """Take an account into a team by another member's invitation."""
    redeem(database, newcomer, invitation(database, member, team_id=team_id))


@built_once
def redeem(database: Database, account_id: int, token: str) -> Invitation:
    """What an account is in by an invitation."""
    joining = viewer(database, account_id)
    with database.write() as session:
        return invitations.redeem(session, joining, token)


@built_once
def invitation(database: Database, inviter: int, kind: str = invitations.TEAM, **what: Any) -> str:
    """The token of an account's invitation to its team, for one account where nothing else is said."""
    inviting = viewer(database, inviter)
    with database.write() as session:
        return invitations.invite(session, inviting, InvitationRequest(kind=kind, **what))


def second_factor(database: Database, account_id: int) -> tuple[str, ...]:
    """The recovery codes of a second factor an account has from now on; no code is used up."""
    asker = viewer(database, account_id)
    with database.write() as session:
        second_factors.begin(session, asker)
    code = code_of(database, account_id)
    with database.write() as session:
        codes = second_factors.confirm(session, asker, code)
        session.execute(update(SecondFactor).values(last_step=0))
    return codes


def code_of(database: Database, account_id: int) -> str:
    """The code that an account's authenticator shows now."""
    with database.read() as session:
        return TOTP(session.get_one(SecondFactor, account_id).secret).at(now(session))


@built_once
def confirmed_address(database: Database, account_id: int, address: str) -> None:
    """Give an account an address that it has confirmed."""
    with database.write() as session:
        given = update(Account).where(Account.id == account_id)
        session.execute(given.values(email=address, email_confirmed_at=now(session), email_bounced_at=None))


def mask(database: Database, team_id: int, pseudonym: str, until: datetime | None = None) -> None:
    """Let a team go by a pseudonym in every task it is in; the other teams show their names."""
    with database.write() as session:
        session.execute(update(Task).values(naming="team"))
        session.execute(update(Entry).values(reveal_at=Entry.created_at))
        own = update(Entry).where(Entry.team_id == team_id)
        session.execute(own.values(pseudonym=pseudonym, reveal_at=until))
