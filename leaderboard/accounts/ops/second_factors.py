"""Second factors: one-time codes of an authenticator (TOTP, RFC 6238), and recovery codes for its loss."""

import base64
import hmac
import secrets
from dataclasses import dataclass

from pyotp import TOTP, random_base32
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import sessions
from leaderboard.core import audit
from leaderboard.core.policy import Viewer, require_account
from leaderboard.db.engine import now
from leaderboard.db.tables import SecondFactor, Token
from leaderboard.errors import Conflict, Invalid

RECOVERY = "recovery"
RECOVERY_CODES = 10
RECOVERY_BYTES = 15
"""Enough random bits that a fast digest of them is safe."""
DRIFT = 1
"""Codes of 30 seconds before and after are accepted too: clocks differ."""
WRONG_CODE = "This code is wrong or has already been used. Wait for the next code and try again."


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

    Raises Conflict where setup was not started or is done, Invalid for a wrong code.
    """
    account_id = require_account(viewer)
    _require_off(session, account_id)
    if session.get(SecondFactor, account_id) is None:
        raise Conflict("First start to set up two-factor authentication.")
    if not _use_step(session, account_id, code):
        raise Invalid(WRONG_CODE, field="code")
    confirmed = update(SecondFactor).where(SecondFactor.account_id == account_id)
    session.execute(confirmed.values(confirmed_at=now(session)))
    audit.record(session, viewer, "account.add_second_factor", f"account:{account_id}")
    return _new_recovery_codes(session, account_id)


def renew_recovery_codes(session: Session, viewer: Viewer) -> tuple[str, ...]:
    """New recovery codes in place of all before; raises Conflict without a second factor."""
    account_id = require_account(viewer)
    if not is_on(session, account_id):
        raise Conflict("Two-factor authentication is not on, so there are no recovery codes.")
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
    raise Invalid(WRONG_CODE, field="code")


def remove(session: Session, viewer: Viewer, account_id: int) -> None:
    """Turn an account's second factor off; the caller has made sure that the viewer may."""
    session.execute(delete(SecondFactor).where(SecondFactor.account_id == account_id))
    session.execute(delete(Token).where(Token.kind == RECOVERY, Token.account_id == account_id))
    audit.record(session, viewer, "account.remove_second_factor", f"account:{account_id}")


def recovery_codes_left(session: Session, account_id: int) -> int:
    """The number of unused recovery codes."""
    unused = select(func.count(Token.id)).where(
        Token.kind == RECOVERY, Token.account_id == account_id, Token.used_at.is_(None)
    )
    return session.scalar(unused) or 0


def link(secret: str, name: str, issuer: str) -> str:
    """The otpauth link for an authenticator, as a link or as a QR code."""
    return TOTP(secret).provisioning_uri(name=name, issuer_name=issuer)


def _require_off(session: Session, account_id: int) -> None:
    if is_on(session, account_id):
        raise Conflict("Two-factor authentication is already on. Turn it off first.")


def _use_step(session: Session, account_id: int, code: str) -> bool:
    """Whether the code is one of this moment that is newer than the last one used; it is used now."""
    factor = session.get(SecondFactor, account_id, populate_existing=True)
    if factor is None:
        return False
    totp = TOTP(factor.secret)
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
    return sessions.digest(f"{RECOVERY} {account_id} {code}")
