"""Accounts: making them, signing in by password or one-time link, changing the password."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Token
from leaderboard.errors import Conflict, Forbidden, NotFound
from leaderboard.services import audit, throttles
from leaderboard.services.accounts import names, sessions
from leaderboard.services.accounts.passwords import AccountPassword
from leaderboard.services.policy import OPERATOR, Viewer, require_account

FIRST_ORGANISER = "organiser"
LINK_HOURS = 24
SIGN_IN_TRIES = 10
SIGN_IN_WINDOW = timedelta(minutes=5)
SIGN_UPS = 20
SIGN_UP_WINDOW = timedelta(hours=1)
WRONG = "The name or the password is wrong."


@dataclass(frozen=True, slots=True)
class AccountCredentials:
    """What a sign-in is checked against; both None where the name is nobody's or the account is closed."""

    account_id: int | None
    password_hash: str | None


def create(
    session: Session,
    name: str,
    password: AccountPassword | None = None,
    is_organiser: bool = False,
    viewer: Viewer = OPERATOR,
) -> int:
    """The id of a new account; without a password it is entered by a one-time link.

    Raises Invalid for a name that cannot be shown and Conflict for one that is taken.
    """
    shown = names.displayed(name, "an account")
    account = Account(
        name=shown,
        canonical=names.canonical(shown),
        password_hash=password.text if password else None,
        is_organiser=is_organiser,
        created_at=now(session),
    )
    _insert(session, account, shown)
    audit.record(
        session, viewer, "account.create", f"account:{account.id}", name=shown, organiser=is_organiser
    )
    return account.id


def _insert(session: Session, account: Account, shown: str) -> None:
    try:
        with session.begin_nested():
            session.add(account)
    except IntegrityError:
        raise Conflict(f"The name {shown!r} is taken; choose another one.", name=shown) from None


def sign_up(session: Session, viewer: Viewer, name: str, password: AccountPassword) -> int:
    """The id of the account a visitor makes; at most 20 an hour from one network, else OverQuota."""
    throttles.spend(session, f"sign-up ip {throttles.network(viewer.ip)}", SIGN_UPS, SIGN_UP_WINDOW)
    return create(session, name, password, viewer=viewer)


def attempt(session: Session, name: str, ip: str) -> AccountCredentials:
    """Count one attempt to sign in and give what to check the password against.

    At most 10 failed attempts in 5 minutes for one name and for one network, else OverQuota: commit
    this before checking the password, so that attempts made at the same time all count.
    """
    for key in _attempt_keys(name, ip):
        throttles.spend(session, key, SIGN_IN_TRIES, SIGN_IN_WINDOW)
    row = session.execute(
        select(Account.id, Account.password_hash).where(
            Account.canonical == names.canonical(name), Account.disabled_at.is_(None)
        )
    ).one_or_none()
    return AccountCredentials(*row) if row else AccountCredentials(None, None)


def _attempt_keys(name: str, ip: str) -> tuple[str, str]:
    # Digests keep keys short whatever is typed, and typed passwords out of the database.
    return f"sign-in name {sessions.digest(names.canonical(name))}", f"sign-in ip {throttles.network(ip)}"


def signed_in(
    session: Session,
    account_id: int,
    name: str,
    ip: str,
    browser: str,
    replaces: str = "",
    rehashed: AccountPassword | None = None,
) -> str:
    """The token of a new session after the password proved right; its attempt no longer counts."""
    by_name, by_network = _attempt_keys(name, ip)
    throttles.clear(session, by_name)
    throttles.give_back(session, by_network)
    if rehashed is not None:
        _store(session, account_id, rehashed)
    return sessions.start(session, account_id, ip, browser, replaces)


def sign_in_link(session: Session, account_id: int, hours: int = LINK_HOURS) -> str:
    """The token of a new one-time sign-in link for the account; links made before it end."""
    at = now(session)
    session.execute(
        update(Token)
        .where(Token.kind == "sign_in", Token.account_id == account_id, Token.used_at.is_(None))
        .values(revoked_at=at)
    )
    token = sessions.new_token()
    session.add(
        Token(
            kind="sign_in",
            token_sha256=sessions.digest(token),
            account_id=account_id,
            created_at=at,
            expires_at=at + timedelta(hours=hours),
        )
    )
    return token


def link_owner(session: Session, token: str) -> str:
    """The name of the account a sign-in link is for; NotFound where the link no longer works."""
    name = session.scalar(
        select(Account.name)
        .join(Token, Token.account_id == Account.id)
        .where(
            Token.kind == "sign_in",
            Token.token_sha256 == sessions.digest(token),
            Token.used_at.is_(None),
            Token.revoked_at.is_(None),
            Token.expires_at > now(session),
            Account.disabled_at.is_(None),
        )
    )
    if name is None:
        raise NotFound("This sign-in link was used already or has run out; ask for a new one.")
    return name


def use_link(session: Session, viewer: Viewer, token: str, browser: str, replaces: str = "") -> str:
    """The token of a new session for the account a sign-in link is for; a link works once.

    Raises NotFound where the link no longer works.
    """
    link_owner(session, token)
    account_id = session.scalar(
        update(Token)
        .where(Token.token_sha256 == sessions.digest(token), Token.used_at.is_(None))
        .values(used_at=now(session))
        .returning(Token.account_id)
    )
    if account_id is None:
        raise NotFound("This sign-in link was used already or has run out; ask for a new one.")
    audit.record(session, viewer, "account.use_link", f"account:{account_id}")
    return sessions.start(session, account_id, viewer.ip, browser, replaces)


def first_organiser(session: Session) -> tuple[str, str]:
    """The name of the first organiser's account, made where there is none, and a fresh sign-in token."""
    found = session.scalar(
        select(Account)
        .where(Account.is_organiser, Account.disabled_at.is_(None))
        .order_by(Account.id)
        .limit(1)
    )
    if found is not None:
        return found.name, sign_in_link(session, found.id)
    name = _free_name(session, FIRST_ORGANISER)
    return name, sign_in_link(session, create(session, name, is_organiser=True))


def _free_name(session: Session, wanted: str) -> str:
    taken = set(session.scalars(select(Account.canonical).where(Account.canonical.startswith(wanted))))
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted} {number}"
    return name


def own_credentials(session: Session, viewer: Viewer) -> AccountCredentials:
    """What the viewer's current password is checked against; counts as an attempt to sign in."""
    require_account(viewer)
    return attempt(session, viewer.name, viewer.ip)


def change_password(
    session: Session, viewer: Viewer, checked: AccountCredentials, password: AccountPassword, browser: str
) -> str:
    """The token of the one session left after the viewer's password became another; all others end.

    checked is what the current password matched. Raises Conflict where it changed meanwhile.
    """
    account_id = require_account(viewer)
    account = session.get_one(Account, account_id, with_for_update=True)
    if account.password_hash != checked.password_hash:
        raise Conflict("The password was changed elsewhere meanwhile; try again.")
    account.password_hash = password.text
    for key in _attempt_keys(viewer.name, viewer.ip):
        throttles.give_back(session, key)
    sessions.end_all(session, account_id)
    audit.record(session, viewer, "account.change_password", f"account:{account_id}")
    return sessions.start(session, account_id, viewer.ip, browser)


def set_password(session: Session, viewer: Viewer, name: str, password: AccountPassword) -> None:
    """Give an account a new password and end its sessions; for the operator only."""
    if not viewer.is_operator:
        raise Forbidden("Only the operator of this site may do this.")
    account = find(session, name)
    _store(session, account, password)
    sessions.end_all(session, account)
    audit.record(session, viewer, "account.set_password", f"account:{account}")


def find(session: Session, name: str) -> int:
    """The id of the account of that name; NotFound where there is none."""
    account_id = session.scalar(select(Account.id).where(Account.canonical == names.canonical(name)))
    if account_id is None:
        raise NotFound(f"There is no account {name!r}.", account=name)
    return account_id


def _store(session: Session, account_id: int, password: AccountPassword) -> None:
    session.execute(update(Account).where(Account.id == account_id).values(password_hash=password.text))
