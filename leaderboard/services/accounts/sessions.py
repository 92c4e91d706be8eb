"""Signed-in browsers: rows that can be listed and ended, of which only the token's digest is kept.

After OWASP's "Slow down online guessing attacks with device cookies": who guesses somebody's password
cannot keep that person out of a browser that has signed in before.
"""

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from datetime import timedelta

from pyotp import TOTP, random_base32
from sqlalchemy import bindparam, delete, exists, func, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import add_unless_taken, lock_row, now
from leaderboard.db.tables import Account, Identity, SecondFactor, Throttle, Token, WebSession
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, SignInNeeded
from leaderboard.services import audit, throttles
from leaderboard.services.policy import Viewer, require_account, viewer_of

LIFETIME = timedelta(days=30)
IDLE = timedelta(days=7)
STAMP_EVERY = timedelta(minutes=5)
"""How stale the last-seen stamp may grow before it is written again."""
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
    """What is stored in a token's place; a fast hash is enough for 256 random bits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def start(session: Session, account_id: int, ip: str, browser: str, replaces: str = "") -> str:
    """The token of a new session for the account; the session whose token is `replaces` ends."""
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
    """The viewer a token stands for; None where it is unknown, too old, idle, or its account disabled."""
    row = session.execute(_RESUMED, {"digest": digest(token)}).one_or_none()
    if row is None:
        return None
    session_id, created_at, seen_at, account_id, name, is_organiser, has_factor = row
    at = now(session)
    if at - created_at > LIFETIME or at - seen_at > IDLE:
        return None
    viewer = viewer_of(session, account_id, name, is_organiser, ip)
    return ResumedSession(viewer, session_id, at - seen_at > STAMP_EVERY, has_factor)


# Every request of somebody who is signed in begins with it: it is written once.
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
    """End every session of an account but the one of the token."""
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
        raise NotFound("You have no session of that number; it may have ended already.")


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
    found = session.get(Identity, (issuer, subject))
    if found is None:
        return None
    if session.get_one(Account, found.account_id).disabled_at is not None:
        raise Forbidden("This account is closed; ask the operator of this site.")
    return found.account_id


def keep_identity(session: Session, issuer: str, subject: str) -> str:
    """The token of an identity without an account, until its owner has said what name to make one by."""
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
        raise SignInNeeded("Signing in took too long; begin again.")
    issuer, subject = json.loads(scope)
    return issuer, subject


def adopt(session: Session, viewer: Viewer, token: str) -> None:
    """Make a kept identity that of the viewer's account, which was made for it."""
    issuer, subject = require_kept(session, token)
    session.execute(delete(Token).where(Token.token_sha256 == digest(token)))
    identity_link(session, viewer, issuer, subject)


def identity_link(session: Session, viewer: Viewer, issuer: str, subject: str) -> None:
    """Let an identity sign in to the viewer's account; raises Conflict where it is another account's.

    An account has one identity of an issuer: a second one takes the place of the first.
    """
    account_id = require_account(viewer)
    if account_of(session, issuer, subject) == account_id:
        return
    _drop(session, account_id, issuer)
    row = Identity(issuer=issuer, subject=subject, account_id=account_id, created_at=now(session))
    if not add_unless_taken(session, row):
        raise Conflict("This identity signs in to another account; remove it there first.")
    audit.record(session, viewer, "account.link_identity", f"account:{account_id}", issuer=issuer)


def unlink(session: Session, viewer: Viewer, issuer: str) -> None:
    """Let the issuer's identity sign in no more; raises Conflict where it is the only way in."""
    account_id = require_account(viewer)
    lock_row(session, Account, account_id)
    issuers = issuers_of(session, account_id)
    if issuer not in issuers:
        raise NotFound("Your account has no such identity.")
    if session.get_one(Account, account_id).password_hash is None and len(issuers) == 1:
        raise Conflict("This is the only way into your account; set a password first.")
    _drop(session, account_id, issuer)
    audit.record(session, viewer, "account.unlink_identity", f"account:{account_id}", issuer=issuer)


def issuers_of(session: Session, account_id: int) -> frozenset[str]:
    """The issuers by which the account can sign in."""
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
    """One try to prove who one is: kind is what is guessed, name whose it is, ip where from.

    device is the digest of a device of that account, empty for a stranger.
    """

    kind: str
    name: str
    ip: str
    device: str = ""

    @property
    def _whose(self) -> str:
        # Digests keep keys short whatever is typed, and typed passwords out of the database.
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


def spend(session: Session, tried: AccountTry) -> None:
    """Count one try; raises OverQuota, with the fact retry_after_s, where there were too many.

    A known device has 10 in 5 minutes, and nobody else's count. A stranger has 10 in 5 minutes for one
    name and 30 for all names of a network; after 50 a day at one name from everywhere, there is a pause
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
        throttles.spend(session, tried._pace, 1, pause(spent))


def give_back(session: Session, tried: AccountTry) -> None:
    """Take a try back: it was right."""
    if tried.device:
        throttles.clear(session, _device(tried))
        return
    throttles.clear(session, tried._pair)
    throttles.give_back(session, tried._network)
    throttles.give_back(session, tried._whose)


def pause(spent: int) -> timedelta:
    """How long to wait after so many tries at one account in a day.

    >>> [pause(spent).total_seconds() for spent in (51, 55, 80, 200)]
    [1.0, 2.0, 64.0, 900.0]
    """
    doublings = max(0, spent - FREE_TRIES) // DOUBLES_EVERY
    return min(timedelta(seconds=2 ** min(doublings, 10)), LONGEST_PAUSE)


def _device(tried: AccountTry) -> str:
    return f"{tried.kind} device {tried.device}"


def _spent(session: Session, key: str) -> int:
    recent = Throttle.window_start > now(session) - DAY
    return session.scalar(select(func.max(Throttle.count)).where(Throttle.key == key, recent)) or 0


RECOVERY = "recovery"
RECOVERY_CODES = 10
RECOVERY_BYTES = 15
"""So many random bits that a fast digest of them is enough."""
DRIFT = 1
"""Codes of 30 seconds before and after are taken too: clocks differ."""
WRONG_CODE = "This code is wrong or was used already; wait for the next one and try again."


@dataclass(frozen=True, slots=True)
class UsedCode:
    """A code that proved right, and is used up now."""

    way: str
    """code, or recovery for one of the recovery codes."""
    recovery_codes_left: int


def is_on(session: Session, account_id: int) -> bool:
    """Whether the account has a second factor that was set up to the end."""
    confirmed = select(SecondFactor.account_id).where(
        SecondFactor.account_id == account_id, SecondFactor.confirmed_at.is_not(None)
    )
    return session.scalar(confirmed) is not None


def begin(session: Session, viewer: Viewer) -> None:
    """Make a new secret for the viewer, which counts once a code of it is confirmed.

    Raises Conflict where the viewer has a second factor.
    """
    account_id = require_account(viewer)
    _require_off(session, account_id)
    session.execute(delete(SecondFactor).where(SecondFactor.account_id == account_id))
    session.add(SecondFactor(account_id=account_id, secret=random_base32(), created_at=now(session)))


def confirm(session: Session, viewer: Viewer, code: str) -> tuple[str, ...]:
    """Turn the second factor on and give its recovery codes, which can be read only now.

    Raises Conflict where setting up was not begun or is done, Invalid for a wrong code.
    """
    account_id = require_account(viewer)
    _require_off(session, account_id)
    if session.get(SecondFactor, account_id) is None:
        raise Conflict("Begin to set up a second factor first.")
    if not _use_step(session, account_id, code):
        raise Invalid(WRONG_CODE)
    confirmed = update(SecondFactor).where(SecondFactor.account_id == account_id)
    session.execute(confirmed.values(confirmed_at=now(session)))
    audit.record(session, viewer, "account.add_second_factor", f"account:{account_id}")
    return _new_recovery_codes(session, account_id)


def renew_recovery_codes(session: Session, viewer: Viewer) -> tuple[str, ...]:
    """New recovery codes in place of all before; raises Conflict without a second factor."""
    account_id = require_account(viewer)
    if not is_on(session, account_id):
        raise Conflict("There is no second factor to recover.")
    audit.record(session, viewer, "account.renew_recovery_codes", f"account:{account_id}")
    return _new_recovery_codes(session, account_id)


def use(session: Session, account_id: int, code: str) -> UsedCode:
    """Use up a code of the authenticator or a recovery code; raises Invalid for a wrong or used one."""
    tidy = "".join(code.split()).replace("-", "").lower()
    if is_on(session, account_id):
        if _use_step(session, account_id, tidy):
            return UsedCode("code", recovery_codes_left(session, account_id))
        if _use_recovery_code(session, account_id, tidy):
            return UsedCode(RECOVERY, recovery_codes_left(session, account_id))
    raise Invalid(WRONG_CODE)


def remove_second_factor(session: Session, viewer: Viewer, account_id: int) -> None:
    """Turn an account's second factor off; the caller has made sure that the viewer may."""
    session.execute(delete(SecondFactor).where(SecondFactor.account_id == account_id))
    session.execute(delete(Token).where(Token.kind == RECOVERY, Token.account_id == account_id))
    audit.record(session, viewer, "account.remove_second_factor", f"account:{account_id}")


def recovery_codes_left(session: Session, account_id: int) -> int:
    """How many recovery codes are unused."""
    unused = select(func.count(Token.id)).where(
        Token.kind == RECOVERY, Token.account_id == account_id, Token.used_at.is_(None)
    )
    return session.scalar(unused) or 0


def second_factor_link(secret: str, name: str, issuer: str) -> str:
    """The otpauth link that an authenticator takes, as a link or as a QR code."""
    return TOTP(secret).provisioning_uri(name=name, issuer_name=issuer)


def _require_off(session: Session, account_id: int) -> None:
    if is_on(session, account_id):
        raise Conflict("This account has a second factor already; turn it off first.")


def _use_step(session: Session, account_id: int, code: str) -> bool:
    """Whether the code is one of this moment that is newer than the last one used; it is used now."""
    found = session.get(SecondFactor, account_id, populate_existing=True)
    if found is None:
        return False
    totp = TOTP(found.secret)
    current = totp.timecode(now(session))
    given = "".join(code.split()).encode("utf-8", "surrogatepass")
    for step in range(current - DRIFT, current + DRIFT + 1):
        if hmac.compare_digest(totp.generate_otp(step).encode(), given):
            return _advance(session, account_id, step)
    return False


def _advance(session: Session, account_id: int, step: int) -> bool:
    advanced = session.scalars(
        update(SecondFactor)
        .where(SecondFactor.account_id == account_id, SecondFactor.last_step < step)
        .values(last_step=step)
        .returning(SecondFactor.account_id)
    ).all()
    return bool(advanced)


def _use_recovery_code(session: Session, account_id: int, code: str) -> bool:
    used = session.scalars(
        update(Token)
        .where(
            Token.kind == RECOVERY,
            Token.account_id == account_id,
            Token.token_sha256 == _digest(account_id, code),
            Token.used_at.is_(None),
        )
        .values(used_at=now(session))
        .returning(Token.id)
    ).all()
    return bool(used)


def _new_recovery_codes(session: Session, account_id: int) -> tuple[str, ...]:
    session.execute(delete(Token).where(Token.kind == RECOVERY, Token.account_id == account_id))
    at, codes = now(session), []
    for _ in range(RECOVERY_CODES):
        code = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
        digest = _digest(account_id, code)
        session.add(Token(kind=RECOVERY, token_sha256=digest, account_id=account_id, created_at=at))
        codes.append("-".join(code[start : start + 4] for start in range(0, len(code), 4)))
    return tuple(codes)


def _digest(account_id: int, code: str) -> str:
    return digest(f"{RECOVERY} {account_id} {code}")
