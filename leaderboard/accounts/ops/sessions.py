"""Sign-in: browser sessions, provider identities, and limits on password attempts.

Browsers are rows that can be listed and ended; only digests of their tokens are stored.

After OWASP's "Slow down online guessing attacks with device cookies": guessing a password cannot lock its
owner out of a browser that has signed in before.
"""

import hashlib
import json
import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import bindparam, delete, exists, func, select, update
from sqlalchemy.orm import Session

from leaderboard.core import audit, throttles
from leaderboard.core.policy import Viewer, require_account, viewer_of
from leaderboard.db.engine import add_unless_taken, lock_row, now
from leaderboard.db.tables import Account, Identity, SecondFactor, Throttle, Token, WebSession
from leaderboard.errors import Conflict, Forbidden, NotFound, SignInNeeded

LIFETIME = timedelta(days=30)
IDLE = timedelta(days=7)
STAMP_EVERY = timedelta(minutes=5)
"""Maximum age of the last-seen time stamp before it is written again."""
MOST = 20
"""Sessions an account may have; the oldest end when there would be more."""
BROWSER_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ResumedSession:
    """A live session's viewer."""

    viewer: Viewer
    session_id: int
    stamp_due: bool
    has_second_factor: bool


def new_token() -> str:
    """256 random bits as text for a URL or cookie."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """The digest stored instead of a token; a fast hash is enough for 256 random bits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def start(session: Session, account_id: int, ip: str, browser: str, replaces: str = "") -> str:
    """Create a session for the account and return its token; ends the session with token `replaces`."""
    at = now(session)
    session.execute(delete(WebSession).where(WebSession.created_at < at - LIFETIME))
    end(session, replaces)
    token = new_token()
    session.add(
        WebSession(
            token_sha256=digest(token),
            account_id=account_id,
            created_at=at,
            seen_at=at,
            ip=ip,
            agent=browser[:BROWSER_CHARACTERS],
        )
    )
    session.flush()
    _end_oldest(session, account_id)
    return token


def _end_oldest(session: Session, account_id: int) -> None:
    kept = (
        select(WebSession.id)
        .where(WebSession.account_id == account_id)
        .order_by(WebSession.id.desc())
        .limit(MOST)
        .scalar_subquery()
    )
    session.execute(delete(WebSession).where(WebSession.account_id == account_id, WebSession.id.not_in(kept)))


def resume(session: Session, token: str, ip: str = "") -> ResumedSession | None:
    """The viewer a token represents; None where it is unknown, too old, idle, or its account disabled."""
    row = session.execute(_RESUMED, {"digest": digest(token)}).one_or_none()
    if row is None:
        return None
    session_id, created_at, seen_at, account_id, name, is_organiser, has_factor = row
    at = now(session)
    if at - created_at > LIFETIME or at - seen_at > IDLE:
        return None
    viewer = viewer_of(session, account_id, name, is_organiser, ip)
    return ResumedSession(viewer, session_id, at - seen_at > STAMP_EVERY, has_factor)


# Built once, because every signed-in request starts with it.
_RESUMED = (
    select(
        WebSession.id,
        WebSession.created_at,
        WebSession.seen_at,
        Account.id,
        Account.name,
        Account.is_organiser,
        exists().where(SecondFactor.account_id == Account.id, SecondFactor.confirmed_at.is_not(None)),
    )
    .join(Account, Account.id == WebSession.account_id)
    .where(WebSession.token_sha256 == bindparam("digest"), Account.disabled_at.is_(None))
)


def stamp(session: Session, session_id: int) -> None:
    """Note that the session was used just now."""
    session.execute(update(WebSession).where(WebSession.id == session_id).values(seen_at=now(session)))


def end(session: Session, token: str) -> None:
    """End the session of a token, if there is one."""
    session.execute(delete(WebSession).where(WebSession.token_sha256 == digest(token)))


def end_all(session: Session, account_id: int) -> None:
    """End every session of an account."""
    session.execute(delete(WebSession).where(WebSession.account_id == account_id))


def end_others(session: Session, account_id: int, token: str) -> None:
    """End every session of an account except the token's."""
    session.execute(
        delete(WebSession).where(
            WebSession.account_id == account_id, WebSession.token_sha256 != digest(token)
        )
    )


def revoke(session: Session, viewer: Viewer, session_id: int) -> None:
    """End one of the viewer's own sessions; raises NotFound for anyone else's."""
    ended = session.scalars(
        delete(WebSession)
        .where(WebSession.id == session_id, WebSession.account_id == require_account(viewer))
        .returning(WebSession.id)
    ).all()
    if not ended:
        raise NotFound("You have no session with this number. It may have ended already.")


NEWCOMER = "openid"
NEWCOMER_MINUTES = 10
ANSWERS = 30
WINDOW = timedelta(minutes=5)


def count_answer(session: Session, viewer: Viewer) -> None:
    """Count one answer of a provider that is to be checked: commit it before, since that asks the provider.

    Raises OverQuota after 30 in five minutes from one network.
    """
    throttles.spend(session, f"openid ip {throttles.network(viewer.ip)}", ANSWERS, WINDOW)


def account_of(session: Session, issuer: str, subject: str) -> int | None:
    """The account of an identity, None where it has none; raises Forbidden for a closed one."""
    identity = session.get(Identity, (issuer, subject))
    if identity is None:
        return None
    if session.get_one(Account, identity.account_id).disabled_at is not None:
        raise Forbidden("This account is closed. Ask the operator of this site.")
    return identity.account_id


def keep_identity(session: Session, issuer: str, subject: str) -> str:
    """The token of an identity without an account, until its owner has chosen an account name."""
    at, token = now(session), new_token()
    session.execute(delete(Token).where(Token.kind == NEWCOMER, Token.expires_at < at))
    session.add(
        Token(
            kind=NEWCOMER,
            token_sha256=digest(token),
            scope=json.dumps([issuer, subject]),
            created_at=at,
            expires_at=at + timedelta(minutes=NEWCOMER_MINUTES),
        )
    )
    return token


def require_kept(session: Session, token: str) -> tuple[str, str]:
    """Issuer and subject of what `keep_identity` kept; raises SignInNeeded where it is too late."""
    scope = session.scalar(
        select(Token.scope).where(
            Token.kind == NEWCOMER, Token.token_sha256 == digest(token), Token.expires_at > now(session)
        )
    )
    if scope is None:
        raise SignInNeeded("Signing in took too long. Start over.")
    issuer, subject = json.loads(scope)
    return issuer, subject


def adopt_identity(session: Session, viewer: Viewer, token: str) -> None:
    """Make a kept identity that of the viewer's account, which was made for it."""
    issuer, subject = require_kept(session, token)
    session.execute(delete(Token).where(Token.token_sha256 == digest(token)))
    identity_link(session, viewer, issuer, subject)


def identity_link(session: Session, viewer: Viewer, issuer: str, subject: str) -> None:
    """Let an identity sign in to the viewer's account; raises Conflict where it is another account's.

    An account has one identity of an issuer: a second one replaces the first.
    """
    account_id = require_account(viewer)
    if account_of(session, issuer, subject) == account_id:
        return
    _drop(session, account_id, issuer)
    row = Identity(issuer=issuer, subject=subject, account_id=account_id, created_at=now(session))
    if not add_unless_taken(session, row):
        raise Conflict("This identity is linked to another account. Remove it there first.")
    audit.record(session, viewer, "account.link_identity", f"account:{account_id}", issuer=issuer)


def unlink_identity(session: Session, viewer: Viewer, issuer: str) -> None:
    """Stop the issuer's identity from signing in; raises Conflict where it is the only way in."""
    account_id = require_account(viewer)
    lock_row(session, Account, account_id)
    issuers = issuers_of(session, account_id)
    if issuer not in issuers:
        raise NotFound("This identity is not linked to your account.")
    if session.get_one(Account, account_id).password_hash is None and len(issuers) == 1:
        raise Conflict("This is your only way to sign in. Set a password first.")
    _drop(session, account_id, issuer)
    audit.record(session, viewer, "account.unlink_identity", f"account:{account_id}", issuer=issuer)


def issuers_of(session: Session, account_id: int) -> frozenset[str]:
    """The issuers with which the account can sign in."""
    return frozenset(session.scalars(select(Identity.issuer).where(Identity.account_id == account_id)))


def _drop(session: Session, account_id: int, issuer: str) -> None:
    session.execute(delete(Identity).where(Identity.account_id == account_id, Identity.issuer == issuer))


TRIES = 10
NETWORK_TRIES = 30
FREE_TRIES = 50
"""Failed tries a day at one account from all strange networks together, before pauses begin."""
DAY = timedelta(days=1)
DOUBLES_EVERY = 5
LONGEST_PAUSE = timedelta(minutes=15)
UNLIMITED = 2**31


@dataclass(frozen=True, slots=True)
class AccountTry:
    """One authentication attempt: kind of secret, account name and network address.

    device is the digest of a device of that account, empty for a stranger.
    """

    kind: str
    name: str
    ip: str
    device: str = ""

    @property
    def _whose(self) -> str:
        # Digests keep keys short for any input, and mistyped passwords out of the database.
        return f"{self.kind} name {digest(self.name)}"

    @property
    def _network(self) -> str:
        return f"{self.kind} ip {throttles.network(self.ip)}"

    @property
    def _pair(self) -> str:
        return f"{self._whose} ip {throttles.network(self.ip)}"

    @property
    def _pace(self) -> str:
        return f"{self._whose} pace"


def spend_try(session: Session, tried: AccountTry) -> None:
    """Count one attempt; raises OverQuota with the fact retry_after_s after too many.

    A known device has 10 in 5 minutes, and nobody else's count. A stranger has 10 in 5 minutes for one
    name and 30 for all names of a network; after 50 per day at one name from everywhere, there is a pause
    after each, from a second up to 15 minutes.
    """
    if tried.device:
        throttles.spend(session, _device(tried), TRIES, WINDOW)
        return
    throttles.spend(session, tried._pair, TRIES, WINDOW)
    throttles.spend(session, tried._network, NETWORK_TRIES, WINDOW)
    throttles.spend(session, tried._whose, UNLIMITED, DAY)
    spent = _spent(session, tried._whose)
    if spent > FREE_TRIES:
        throttles.spend(session, tried._pace, 1, pause_after(spent))


def give_back_try(session: Session, tried: AccountTry) -> None:
    """Undo a counted attempt: it was right."""
    if tried.device:
        throttles.clear(session, _device(tried))
        return
    throttles.clear(session, tried._pair)
    throttles.give_back(session, tried._network)
    throttles.give_back(session, tried._whose)


def pause_after(spent: int) -> timedelta:
    """The pause after this number of attempts at one account in a day.

    >>> [pause_after(spent).total_seconds() for spent in (51, 55, 80, 200)]
    [1.0, 2.0, 64.0, 900.0]
    """
    doublings = max(0, spent - FREE_TRIES) // DOUBLES_EVERY
    return min(timedelta(seconds=2 ** min(doublings, 10)), LONGEST_PAUSE)


def _device(tried: AccountTry) -> str:
    return f"{tried.kind} device {tried.device}"


def _spent(session: Session, key: str) -> int:
    recent = Throttle.window_start > now(session) - DAY
    return session.scalar(select(func.max(Throttle.count)).where(Throttle.key == key, recent)) or 0
