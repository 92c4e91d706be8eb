"""Devices: browsers an account has signed in with before, told by a cookie of which the digest is kept.

A device signs nobody in. It only has its own count of wrong passwords and codes.
"""

from datetime import timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Token
from leaderboard.services.accounts import names, sessions

KIND = "device"
LIFETIME = timedelta(days=365)
MOST = 20
"""Devices an account may have; the ones longest unused are forgotten."""


def known(session: Session, name: str, token: str) -> str:
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


def remember(session: Session, account_id: int, token: str) -> str:
    """The token by which the account's device is known from now on: the given one where it is already."""
    at = now(session)
    renewed = session.scalars(
        update(Token)
        .where(
            Token.kind == KIND,
            Token.account_id == account_id,
            Token.token_sha256 == sessions.digest(token),
            Token.expires_at > at,
        )
        .values(expires_at=at + LIFETIME)
        .returning(Token.id)
    ).all()
    if renewed:
        return token
    made = sessions.new_token()
    session.add(
        Token(
            kind=KIND,
            token_sha256=sessions.digest(made),
            account_id=account_id,
            created_at=at,
            expires_at=at + LIFETIME,
        )
    )
    session.flush()
    _forget_oldest(session, account_id)
    return made


def forget_all(session: Session, account_id: int) -> None:
    """Know no device of the account any longer."""
    session.execute(delete(Token).where(Token.kind == KIND, Token.account_id == account_id))


def _forget_oldest(session: Session, account_id: int) -> None:
    kept = (
        select(Token.id)
        .where(Token.kind == KIND, Token.account_id == account_id)
        .order_by(Token.expires_at.desc(), Token.id.desc())
        .limit(MOST)
    )
    session.execute(
        delete(Token).where(
            Token.kind == KIND, Token.account_id == account_id, Token.id.not_in(kept.scalar_subquery())
        )
    )
