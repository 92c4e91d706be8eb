"""Signing in: a password or a one-time link, then a code where the account has a second factor."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Token
from leaderboard.errors import NotFound, SignInNeeded
from leaderboard.services import audit
from leaderboard.services.accounts import accounts, devices, names, second_factors, sessions, tries
from leaderboard.services.accounts.accounts import AccountCredentials
from leaderboard.services.accounts.passwords import AccountPassword
from leaderboard.services.accounts.tries import AccountTry
from leaderboard.services.policy import Viewer

PENDING = "pending"
PENDING_MINUTES = 10
TOO_LATE = "Signing in took too long; begin again with name and password."


@dataclass(frozen=True, slots=True)
class AccountBrowser:
    """Where somebody signs in: address, the browser's own name, and the tokens it has from before."""

    ip: str
    agent: str = ""
    session: str = ""
    """Token of the session that a new one replaces."""
    device: str = ""


@dataclass(frozen=True, slots=True)
class NewSession:
    """Tokens of a new session and of the device it is on."""

    token: str
    device: str


@dataclass(frozen=True, slots=True)
class PendingSession:
    """Token of a session that waits for a code of the second factor."""

    token: str


def attempt(session: Session, name: str, browser: AccountBrowser) -> AccountCredentials:
    """Count one attempt to sign in and give what to check the password against.

    Raises OverQuota after too many: commit this before checking the password, so that attempts made at
    the same time all count.
    """
    tries.spend(session, _password_try(session, name, browser))
    row = session.execute(
        select(Account.id, Account.password_hash).where(
            Account.canonical == names.canonical(name), Account.disabled_at.is_(None)
        )
    ).one_or_none()
    return AccountCredentials(*row) if row else AccountCredentials(None, None)


def failed(session: Session, credentials: AccountCredentials, ip: str) -> None:
    """Record a wrong password; for a name that nobody has, that there was one."""
    whose = credentials.account_id or "unknown"
    audit.notice(session, Viewer(ip=ip), "account.sign_in_failed", f"account:{whose}", way="password")


def passed(
    session: Session,
    account_id: int,
    name: str,
    browser: AccountBrowser,
    rehashed: AccountPassword | None = None,
) -> NewSession | PendingSession:
    """What a right password gives; its attempt no longer counts."""
    tries.give_back(session, _password_try(session, name, browser))
    if rehashed is not None:
        accounts.store(session, account_id, rehashed)
    return proved(session, account_id, "password", browser)


def use_link(session: Session, token: str, browser: AccountBrowser) -> NewSession | PendingSession:
    """What a sign-in link gives; it works once. Raises NotFound where it no longer works."""
    accounts.link_owner(session, token)
    account_id = session.scalar(
        update(Token)
        .where(Token.kind == "sign_in", Token.token_sha256 == sessions.digest(token), Token.used_at.is_(None))
        .values(used_at=now(session))
        .returning(Token.account_id)
    )
    if account_id is None:
        raise NotFound("This sign-in link was used already or has run out; ask for a new one.")
    return proved(session, account_id, "link", browser)


def begin(session: Session, account_id: int, way: str, browser: AccountBrowser) -> NewSession:
    """A new session of the account, which proved who it is; it is recorded."""
    viewer = Viewer(account_id, ip=browser.ip)
    audit.record(session, viewer, "account.sign_in", f"account:{account_id}", way=way)
    token = sessions.start(session, account_id, browser.ip, browser.agent, browser.session)
    return NewSession(token, devices.remember(session, account_id, browser.device))


def pending_account(session: Session, token: str) -> int:
    """The id of the account that is to send a code; raises SignInNeeded where none is waited for."""
    account_id = session.scalar(
        select(Token.account_id)
        .join(Account, Account.id == Token.account_id)
        .where(
            Token.kind == PENDING,
            Token.token_sha256 == sessions.digest(token),
            Token.expires_at > now(session),
            Account.disabled_at.is_(None),
        )
    )
    if account_id is None:
        raise SignInNeeded(TOO_LATE)
    return account_id


def attempt_code(session: Session, token: str, browser: AccountBrowser) -> int:
    """Count one code sent for a pending session and give its account.

    Raises SignInNeeded where none is waited for, OverQuota after too many; commit this before `use_code`.
    """
    account_id = pending_account(session, token)
    tries.spend(session, _code_try(session, account_id, browser))
    return account_id


def use_code(session: Session, token: str, code: str, browser: AccountBrowser) -> NewSession:
    """The session that a right code gives; raises Invalid for a wrong or used one."""
    account_id = pending_account(session, token)
    used = second_factors.use(session, account_id, code)
    session.execute(delete(Token).where(Token.kind == PENDING, Token.token_sha256 == sessions.digest(token)))
    tries.give_back(session, _code_try(session, account_id, browser))
    return begin(session, account_id, used.way, browser)


def code_failed(session: Session, account_id: int, ip: str) -> None:
    """Record a wrong code."""
    subject = f"account:{account_id}"
    audit.notice(session, Viewer(ip=ip), "account.sign_in_failed", subject, way="code")


def proved(
    session: Session, account_id: int, way: str, browser: AccountBrowser
) -> NewSession | PendingSession:
    """What an account gets that proved who it is: a session, or one that waits for a code."""
    if not second_factors.is_on(session, account_id):
        return begin(session, account_id, way, browser)
    at, token = now(session), sessions.new_token()
    session.execute(delete(Token).where(Token.kind == PENDING, Token.expires_at < at))
    session.add(
        Token(
            kind=PENDING,
            token_sha256=sessions.digest(token),
            account_id=account_id,
            created_at=at,
            expires_at=at + timedelta(minutes=PENDING_MINUTES),
        )
    )
    return PendingSession(token)


def _password_try(session: Session, name: str, browser: AccountBrowser) -> AccountTry:
    device = devices.known(session, name, browser.device)
    return AccountTry("password", names.canonical(name), browser.ip, device)


def _code_try(session: Session, account_id: int, browser: AccountBrowser) -> AccountTry:
    name = session.get_one(Account, account_id).canonical
    return AccountTry("code", name, browser.ip, devices.known(session, name, browser.device))
