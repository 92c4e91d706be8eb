"""Device logins after RFC 8628: a program without a browser gets a token by a short code.

The program begins and shows the short code; its owner, signed in with a browser anywhere, types the code and
answers; the program asks again and again until it has the token, which is made only then.

A device signs nobody in. It only has its own count of wrong passwords and codes.
"""

import secrets
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names, sessions, tokens
from leaderboard.accounts.ops.tokens import AGENT, DAYS, PERSONAL, NewToken, TokenRequest
from leaderboard.core import audit, throttles
from leaderboard.core.policy import Scope, Viewer, require_person
from leaderboard.db.engine import add_unless_taken, now
from leaderboard.db.tables import Account, ApiToken, DeviceRequest, Token
from leaderboard.errors import Busy, Conflict, Invalid, NotFound

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""RFC 8628 (6.1): no vowels, and no letters that look like another one or like a digit."""
CODE_LETTERS = 8
LIFETIME = timedelta(minutes=10)
INTERVAL = timedelta(seconds=5)
"""Polling interval of a program."""
BEGUN_AN_HOUR = 30
KINDS = (PERSONAL, AGENT)
GUESSES = 10
GUESSES_OF_A_NETWORK = 50
GUESS_WINDOW = timedelta(minutes=15)
UNKNOWN = "No device is waiting with this code. Compare it with the code on the device, or start over there."


@dataclass(frozen=True, slots=True)
class DeviceCodes:
    """The codes of a new device login: the program keeps the long one, the user types the short one."""

    device_code: str
    user_code: str
    interval_s: int
    expires_in_s: int


class LoginState(StrEnum):
    """State of a login for the polling program; all names except done are from RFC 8628."""

    WAITING = "authorization_pending"
    SLOW_DOWN = "slow_down"
    DENIED = "access_denied"
    EXPIRED = "expired_token"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """The answer to a program that asks; with a token once, when the state is done."""

    state: LoginState
    token: NewToken | None = None


def begin(
    session: Session, label: str, scopes: Collection[str], ip: str, kind: str = PERSONAL
) -> DeviceCodes:
    """Start a program's wait for a token; raises Invalid for invalid input, OverQuota after 30 per hour."""
    if kind not in KINDS:
        raise Invalid(f"A device can ask for a token of the kinds {', '.join(KINDS)}, not {kind[:40]!r}.")
    shown, chosen = tokens.read_label(label), tokens.read_scopes(scopes, kind)
    network = throttles.network(ip)
    throttles.spend(session, f"device begin {network}", BEGUN_AN_HOUR, timedelta(hours=1))
    at, code = now(session), sessions.new_token()
    session.execute(delete(DeviceRequest).where(DeviceRequest.expires_at < at))
    # Collisions among the 25,600,000,000 short codes are rare but possible.
    for _ in range(5):
        row = DeviceRequest(
            token_sha256=sessions.digest(code),
            user_code="".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS)),
            kind=kind,
            label=shown,
            scopes=[scope for scope in Scope if scope in chosen],
            ip=network,
            state="waiting",
            created_at=at,
            expires_at=at + LIFETIME,
        )
        if add_unless_taken(session, row):
            return DeviceCodes(
                code, written(row.user_code), int(INTERVAL.total_seconds()), int(LIFETIME.total_seconds())
            )
    raise Busy("No short code is available. Try again.")


def written(user_code: str) -> str:
    """A short code in its readable form.

    >>> written("BCDFGHJK")
    'BCDF-GHJK'
    """
    return f"{user_code[:4]}-{user_code[4:]}"


def count_guess(session: Session, viewer: Viewer) -> None:
    """Count one short code that was typed: commit this before it is looked up.

    Raises OverQuota after 10 in a quarter of an hour by one account, 50 from one network.
    """
    account_id = require_person(viewer)
    network = throttles.network(viewer.ip)
    throttles.spend(session, f"device code ip {network}", GUESSES_OF_A_NETWORK, GUESS_WINDOW)
    throttles.spend(session, f"device code account {account_id}", GUESSES, GUESS_WINDOW)


def waiting(session: Session, viewer: Viewer, code: str) -> DeviceRequest:
    """The device that waits under a short code; raises NotFound where none does."""
    require_person(viewer)
    return _waiting(session, code, hold=False)


def approve(
    session: Session, viewer: Viewer, code: str, token_request: TokenRequest, *, factor_needed: bool
) -> None:
    """Grant the device a token of the viewer; its label and kind, and no more scopes than it asked for.

    Raises NotFound where none waits, Conflict for scopes that it did not ask for, and as `tokens.make` does.
    """
    row = _waiting(session, code)
    request = replace(token_request, kind=row.kind)
    token = tokens.checked(session, viewer, request, factor_needed=factor_needed)
    if not set(token.scopes) <= set(row.scopes):
        raise Conflict("The device did not request this scope. Grant only scopes that it requested.")
    _answer(session, viewer, row, "approved")
    row.scopes = token.scopes
    row.task_id, row.team_id = token.task_id, token.team_id


def deny(session: Session, viewer: Viewer, code: str) -> None:
    """Deny the device a token; raises NotFound where none waits."""
    _answer(session, viewer, _waiting(session, code), "denied")


def _answer(session: Session, viewer: Viewer, row: DeviceRequest, state: str) -> None:
    row.account_id, row.state = require_person(viewer), state
    verb = "approve" if state == "approved" else "deny"
    audit.record(session, viewer, f"device.{verb}", f"account:{row.account_id}", ip=row.ip)


def _waiting(session: Session, code: str, *, hold: bool = True) -> DeviceRequest:
    tidy = "".join(letter for letter in code.upper() if letter.isalpha())
    query = select(DeviceRequest).where(
        DeviceRequest.user_code == tidy,
        DeviceRequest.state == "waiting",
        DeviceRequest.expires_at > now(session),
    )
    # Locked, so that only one of two simultaneous answers counts.
    row = session.scalar(query.with_for_update() if hold else query)
    if row is None:
        raise NotFound(UNKNOWN)
    return row


def poll(session: Session, device_code: str) -> DeviceAnswer:
    """The state of a login, with the token once after approval; raises OverQuota like `make`."""
    row = session.scalar(
        select(DeviceRequest)
        .where(DeviceRequest.token_sha256 == sessions.digest(device_code))
        # Only one of two simultaneous polls gets the token.
        .with_for_update()
    )
    at = now(session)
    if row is None or row.expires_at <= at or row.state == "done":
        return DeviceAnswer(LoginState.EXPIRED)
    if row.state == "denied":
        return DeviceAnswer(LoginState.DENIED)
    if row.state == "approved":
        return _fetched(session, row)
    hurried = row.polled_at is not None and at - row.polled_at < INTERVAL
    row.polled_at = at
    return DeviceAnswer(LoginState.SLOW_DOWN if hurried else LoginState.WAITING)


def _fetched(session: Session, row: DeviceRequest) -> DeviceAnswer:
    owner = session.get_one(Account, row.account_id)
    if owner.disabled_at is not None:
        return DeviceAnswer(LoginState.DENIED)
    token = ApiToken(
        account_id=owner.id,
        label=row.label,
        kind=row.kind,
        scopes=list(row.scopes),
        task_id=row.task_id,
        team_id=row.team_id,
    )
    new_token = tokens.insert(session, Viewer(owner.id, ip=row.ip), token, DAYS)
    row.state, row.token_id = "done", new_token.id
    return DeviceAnswer(LoginState.DONE, new_token)


KIND = "device"
DEVICE_LIFETIME = timedelta(days=365)
MOST_DEVICES = 20
"""Devices an account may have; the ones longest unused are forgotten."""


def known_device(session: Session, name: str, token: str) -> str:
    """The digest of the token where it is a device of the account of that name, else empty."""
    if not token:
        return ""
    return (
        session.scalar(
            select(Token.token_sha256)
            .join(Account, Account.id == Token.account_id)
            .where(
                Token.kind == KIND,
                Token.token_sha256 == sessions.digest(token),
                Token.expires_at > now(session),
                Account.canonical == names.canonical(name),
            )
        )
        or ""
    )


def remember_device(session: Session, account_id: int, token: str) -> str:
    """The token that identifies the account's device from now on: the given one if it does so already."""
    at = now(session)
    renewed = session.scalars(
        update(Token)
        .where(
            Token.kind == KIND,
            Token.account_id == account_id,
            Token.token_sha256 == sessions.digest(token),
            Token.expires_at > at,
        )
        .values(expires_at=at + DEVICE_LIFETIME)
        .returning(Token.id)
    ).all()
    if renewed:
        return token
    device = sessions.new_token()
    session.add(
        Token(
            kind=KIND,
            token_sha256=sessions.digest(device),
            account_id=account_id,
            created_at=at,
            expires_at=at + DEVICE_LIFETIME,
        )
    )
    session.flush()
    _forget_oldest(session, account_id)
    return device


def forget_all(session: Session, account_id: int) -> None:
    """Know no device of the account any longer."""
    session.execute(delete(Token).where(Token.kind == KIND, Token.account_id == account_id))


def _forget_oldest(session: Session, account_id: int) -> None:
    kept = (
        select(Token.id)
        .where(Token.kind == KIND, Token.account_id == account_id)
        .order_by(Token.expires_at.desc(), Token.id.desc())
        .limit(MOST_DEVICES)
    )
    session.execute(
        delete(Token).where(
            Token.kind == KIND, Token.account_id == account_id, Token.id.not_in(kept.scalar_subquery())
        )
    )
