"""Accounts: making them, links to get into them, changing the password."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import device_logins, names, passwords, second_factors, sessions, tokens
from leaderboard.accounts.ops.passwords import AccountPassword
from leaderboard.accounts.ops.sessions import AccountTry
from leaderboard.accounts.ops.tokens import TokenRequest
from leaderboard.core import audit, throttles
from leaderboard.core.policy import OPERATOR, Scope, Viewer, require_account, require_operator
from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Account, Audit, Token
from leaderboard.errors import Conflict, NotFound, SignInNeeded
from leaderboard.fields import Field

FIRST_ORGANISER = "organiser"
FIRST_TOKEN = "set up at the first start"
LINK_HOURS = 24
SIGN_UPS = 20
SIGN_UP_WINDOW = timedelta(hours=1)
WRONG = "The name or password is wrong."
MADE_LINK = "account.make_link"
LINKS_TOLD = 5
"""The newest sign-in links that an account's owner reads of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """What the sign-in form asks for."""

    name: Annotated[
        str, Field(title="Name", longest=names.MAX_CHARACTERS, autocomplete="username", read=str.strip)
    ]
    password: Annotated[
        str,
        Field(
            title="Password",
            longest=passwords.MAX_CHARACTERS,
            autocomplete="current-password",
            is_secret=True,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
    """What the forms that make an account ask for; team: a new one with it as captain."""

    name: Annotated[
        str,
        Field(
            title="Name",
            longest=names.MAX_CHARACTERS,
            autocomplete="username",
            read=partial(names.displayed, what="an account"),
        ),
    ]
    password: Annotated[
        str,
        Field(
            title="Password",
            help=passwords.HINT,
            longest=passwords.MAX_CHARACTERS,
            autocomplete="new-password",
            is_secret=True,
            read=passwords.require_strong,
        ),
    ]
    team: Annotated[
        str,
        Field(
            title="Team",
            help="Runs belong to a team, even a team of one. Leave empty to join a team by invitation.",
            longest=names.MAX_CHARACTERS,
            autocomplete="organization",
            read=lambda text: names.displayed(text, "a team", "team") if text.strip() else "",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class MadeLink:
    """A sign-in link created for an account: time and creator, as text."""

    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class AccountCredentials:
    """Credentials to check a sign-in; both None if no account has the name or it is closed."""

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

    Raises Invalid for a name that cannot be shown, Conflict for one that is taken or looks like one that is.
    """
    shown = names.displayed(name, "an account")
    account = Account(
        name=shown,
        canonical=names.canonical(shown),
        skeleton=names.skeleton(shown),
        password_hash=password.text if password else None,
        is_organiser=is_organiser,
        created_at=now(session),
    )
    _insert(session, account, shown)
    # Not the name: audit log entries stay when the account is deleted.
    audit.record(session, viewer, "account.create", f"account:{account.id}", organiser=is_organiser)
    return account.id


def _insert(session: Session, account: Account, shown: str) -> None:
    try:
        with session.begin_nested():
            session.add(account)
    except IntegrityError:
        raise Conflict(
            f"The name {shown!r} is taken, or looks like one that is taken. Choose another name.",
            name=shown,
            field="name",
        ) from None


def count_sign_up(session: Session, viewer: Viewer, name: str) -> None:
    """Count one try to make an account: commit this before hashing the password and searching the name.

    So a name that is taken costs as much as one that is free. Raises Invalid for a name that cannot be
    shown, OverQuota after 20 per hour from one network.
    """
    names.displayed(name, "an account")
    throttles.spend(session, f"sign-up ip {throttles.network(viewer.ip)}", SIGN_UPS, SIGN_UP_WINDOW)


def sign_in_link(
    session: Session,
    account_id: int,
    hours: int = LINK_HOURS,
    viewer: Viewer = OPERATOR,
    by: str = "an operator of this site",
) -> str:
    """The token of a new one-time sign-in link for the account; links made before it end.

    The caller has made sure that the viewer may (see `reset_links`). by: who makes it, in the words that the
    account's owner reads.
    """
    end_links(session, account_id)
    at, token = now(session), sessions.new_token()
    session.add(
        Token(
            kind="sign_in",
            token_sha256=sessions.digest(token),
            account_id=account_id,
            created_at=at,
            expires_at=at + timedelta(hours=hours),
        )
    )
    audit.record(session, viewer, MADE_LINK, f"account:{account_id}", hours=hours, by=by)
    return token


def links_made(session: Session, account_id: int) -> tuple[MadeLink, ...]:
    """The newest sign-in links that were made for an account, for its owner."""
    query = select(Audit).where(Audit.action == MADE_LINK, Audit.subject == f"account:{account_id}")
    rows = session.scalars(query.order_by(Audit.id.desc()).limit(LINKS_TOLD))
    return tuple(MadeLink(row.at, row.detail.get("by", "an operator or organiser")) for row in rows)


def end_links(session: Session, account_id: int) -> None:
    """End the account's unused sign-in links; also when it gets rights that their maker did not know of."""
    unused = Token.account_id == account_id, Token.used_at.is_(None), Token.revoked_at.is_(None)
    session.execute(update(Token).where(Token.kind == "sign_in", *unused).values(revoked_at=now(session)))


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
        raise NotFound("This sign-in link has already been used or has expired. Ask for a new one.")
    return name


@dataclass(frozen=True, slots=True)
class FirstAccount:
    """The first organiser: its name, and a sign-in token while no organiser has a password, else empty."""

    name: str
    token: str


def first_organiser(session: Session) -> FirstAccount:
    """The first organiser's account, created if absent, with a new sign-in token.

    No token once an organiser has a password: otherwise anyone who reads the startup output could sign in.
    """
    organisers = session.scalars(
        select(Account).where(Account.is_organiser, Account.disabled_at.is_(None)).order_by(Account.id)
    ).all()
    for organiser in organisers:
        if organiser.password_hash is not None:
            return FirstAccount(organiser.name, "")
    if organisers:
        return FirstAccount(organisers[0].name, sign_in_link(session, organisers[0].id))
    name = _free_name(session, FIRST_ORGANISER)
    return FirstAccount(name, sign_in_link(session, create(session, name, is_organiser=True)))


def set_up_first(session: Session, name: str, password: AccountPassword, token: str = "") -> bool:
    """Make the first organiser of a site that has no account yet, with a token of all scopes if one is given.

    Whether it was made: a site that has accounts is left as it is. Raises as `create` and `tokens.make_for`.
    """
    lock_key(session, "first account")
    if not is_empty(session):
        return False
    account_id = create(session, name, password, is_organiser=True)
    if token:
        token_request = TokenRequest(label=FIRST_TOKEN, scopes=tuple(Scope), days=0)
        tokens.make_for(session, OPERATOR, account_id, token_request, token)
    return True


def is_empty(session: Session) -> bool:
    """Whether there is no account at all, closed ones included."""
    return session.scalar(select(Account.id).limit(1)) is None


def _free_name(session: Session, preferred: str) -> str:
    taken = {names.skeleton(name) for name in session.scalars(select(Account.name))}
    number, name = 1, preferred
    while names.skeleton(name) in taken:
        number += 1
        name = f"{preferred} {number}"
    return name


def own_credentials(session: Session, viewer: Viewer) -> AccountCredentials:
    """The viewer's password hash, to check the current password; counts an attempt, so commit first."""
    account_id = require_account(viewer)
    sessions.spend_try(session, _own_try(account_id, viewer))
    return AccountCredentials(account_id, session.get_one(Account, account_id).password_hash)


def proved(session: Session, viewer: Viewer) -> None:
    """Uncount the attempt of `own_credentials`: the password was right."""
    sessions.give_back_try(session, _own_try(require_account(viewer), viewer))


def _own_try(account_id: int, viewer: Viewer) -> AccountTry:
    # Signed-in users have their own count, so that strangers who guess cannot exhaust it.
    return AccountTry("password", viewer.name, viewer.ip, device=f"account {account_id}")


def change_password(
    session: Session, viewer: Viewer, checked: AccountCredentials, password: AccountPassword, browser: str
) -> str:
    """The token of the one session left after the viewer's password became another; all others end.

    checked is what the current password matched. Raises Conflict where it changed meanwhile.
    """
    account_id = require_account(viewer)
    account = session.get_one(Account, account_id, with_for_update=True)
    if account.password_hash != checked.password_hash:
        raise Conflict("The password was changed elsewhere in the meantime. Try again.")
    account.password_hash = password.text
    proved(session, viewer)
    sign_out_everywhere(session, account_id)
    audit.record(session, viewer, "account.change_password", f"account:{account_id}")
    return sessions.start(session, account_id, viewer.ip, browser)


def set_password(session: Session, viewer: Viewer, name: str, password: AccountPassword) -> None:
    """Give an account a new password and end its sessions; for the operator only."""
    require_operator(viewer)
    account = find(session, name)
    store(session, account, password)
    sign_out_everywhere(session, account)
    audit.record(session, viewer, "account.set_password", f"account:{account}")


def find(session: Session, name: str) -> int:
    """The id of the account with this name; raises NotFound if absent."""
    account_id = session.scalar(select(Account.id).where(Account.canonical == names.canonical(name)))
    if account_id is None:
        raise NotFound(f"There is no account {name!r}.", account=name, field="account")
    return account_id


def leave_everywhere(session: Session, viewer: Viewer) -> None:
    """End every session and token of the viewer and forget its devices."""
    account_id = require_account(viewer)
    sign_out_everywhere(session, account_id)
    audit.record(session, viewer, "account.sign_out_everywhere", f"account:{account_id}")


def sign_out_everywhere(session: Session, account_id: int) -> None:
    """End every session and token of an account and forget its devices."""
    tokens.end_all(session, account_id)
    sessions.end_all(session, account_id)
    device_logins.forget_all(session, account_id)


def store(session: Session, account_id: int, password: AccountPassword) -> None:
    """Keep the hash of a password of the account, which was checked by the caller."""
    session.execute(update(Account).where(Account.id == account_id).values(password_hash=password.text))


PENDING = "pending"
PENDING_MINUTES = 10
TOO_LATE = "Signing in took too long. Start over with your name and password."


@dataclass(frozen=True, slots=True)
class AccountBrowser:
    """The origin of a sign-in: network address, user agent, and earlier tokens of the browser."""

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


def sign_in_attempt(session: Session, name: str, browser: AccountBrowser) -> AccountCredentials:
    """Count one attempt to sign in and give what to check the password against.

    Raises OverQuota after too many: commit this before checking the password, so that attempts made at
    the same time all count.
    """
    sessions.spend_try(session, _password_try(session, name, browser))
    row = session.execute(
        select(Account.id, Account.password_hash).where(
            Account.canonical == names.canonical(name), Account.disabled_at.is_(None)
        )
    ).one_or_none()
    return AccountCredentials(*row) if row else AccountCredentials(None, None)


def sign_in_failed(session: Session, credentials: AccountCredentials, ip: str) -> None:
    """Record a wrong password; for an unknown name, only that there was an attempt."""
    whose = credentials.account_id or "unknown"
    audit.notice(session, Viewer(ip=ip), "account.sign_in_failed", f"account:{whose}", way="password")


def sign_in_passed(
    session: Session,
    account_id: int,
    name: str,
    browser: AccountBrowser,
    rehashed: AccountPassword | None = None,
) -> NewSession | PendingSession:
    """The session after a correct password; the attempt no longer counts."""
    sessions.give_back_try(session, _password_try(session, name, browser))
    if rehashed is not None:
        store(session, account_id, rehashed)
    return sign_in_proved(session, account_id, "password", browser)


def use_link(session: Session, token: str, browser: AccountBrowser) -> NewSession | PendingSession:
    """The session from a sign-in link, which works once; raises NotFound if it is no longer valid."""
    link_owner(session, token)
    account_id = session.scalar(
        update(Token)
        .where(Token.kind == "sign_in", Token.token_sha256 == sessions.digest(token), Token.used_at.is_(None))
        .values(used_at=now(session))
        .returning(Token.account_id)
    )
    if account_id is None:
        raise NotFound("This sign-in link has already been used or has expired. Ask for a new one.")
    return sign_in_proved(session, account_id, "link", browser)


def begin_session(session: Session, account_id: int, way: str, browser: AccountBrowser) -> NewSession:
    """A new session of the account, which proved who it is; it is recorded."""
    viewer = Viewer(account_id, ip=browser.ip)
    audit.record(session, viewer, "account.sign_in", f"account:{account_id}", way=way)
    token = sessions.start(session, account_id, browser.ip, browser.agent, browser.session)
    return NewSession(token, device_logins.remember_device(session, account_id, browser.device))


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
    sessions.spend_try(session, _code_try(session, account_id, browser))
    return account_id


def use_code(session: Session, token: str, code: str, browser: AccountBrowser) -> NewSession:
    """The session that a right code gives; raises Invalid for a wrong or used one."""
    account_id = pending_account(session, token)
    used = second_factors.use(session, account_id, code)
    session.execute(delete(Token).where(Token.kind == PENDING, Token.token_sha256 == sessions.digest(token)))
    sessions.give_back_try(session, _code_try(session, account_id, browser))
    return begin_session(session, account_id, used.way, browser)


def code_failed(session: Session, account_id: int, ip: str) -> None:
    """Record a wrong code."""
    subject = f"account:{account_id}"
    audit.notice(session, Viewer(ip=ip), "account.sign_in_failed", subject, way="code")


def sign_in_proved(
    session: Session, account_id: int, way: str, browser: AccountBrowser
) -> NewSession | PendingSession:
    """The session of an authenticated account, or a pending one that needs a second-factor code."""
    if not second_factors.is_on(session, account_id):
        return begin_session(session, account_id, way, browser)
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
    device = device_logins.known_device(session, name, browser.device)
    return AccountTry("password", names.canonical(name), browser.ip, device)


def _code_try(session: Session, account_id: int, browser: AccountBrowser) -> AccountTry:
    name = session.get_one(Account, account_id).canonical
    return AccountTry("code", name, browser.ip, device_logins.known_device(session, name, browser.device))


def reachable() -> ColumnElement[bool]:
    """Whether an account can receive mail: its address is confirmed and has not bounced."""
    return (
        (Account.email != "")
        & Account.email_confirmed_at.is_not(None)
        & Account.email_bounced_at.is_(None)
        & Account.disabled_at.is_(None)
    )
