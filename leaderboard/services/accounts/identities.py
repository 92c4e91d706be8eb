"""Identities: accounts as providers of OpenID Connect know them, by issuer and subject, never by mail."""

import json
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import add_unless_taken, lock_row, now
from leaderboard.db.tables import Account, Identity, Token
from leaderboard.errors import Conflict, Forbidden, NotFound, SignInNeeded
from leaderboard.services import audit, throttles
from leaderboard.services.accounts import sessions
from leaderboard.services.policy import Viewer, require_account

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


def keep(session: Session, issuer: str, subject: str) -> str:
    """The token of an identity without an account, until its owner has said what name to make one by."""
    at, token = now(session), sessions.new_token()
    session.execute(delete(Token).where(Token.kind == NEWCOMER, Token.expires_at < at))
    session.add(
        Token(
            kind=NEWCOMER,
            token_sha256=sessions.digest(token),
            scope=json.dumps([issuer, subject]),
            created_at=at,
            expires_at=at + timedelta(minutes=NEWCOMER_MINUTES),
        )
    )
    return token


def require_kept(session: Session, token: str) -> tuple[str, str]:
    """Issuer and subject of what `keep` kept; raises SignInNeeded where it is too late."""
    scope = session.scalar(
        select(Token.scope).where(
            Token.kind == NEWCOMER,
            Token.token_sha256 == sessions.digest(token),
            Token.expires_at > now(session),
        )
    )
    if scope is None:
        raise SignInNeeded("Signing in took too long; begin again.")
    issuer, subject = json.loads(scope)
    return issuer, subject


def adopt(session: Session, viewer: Viewer, token: str) -> None:
    """Make a kept identity that of the viewer's account, which was made for it."""
    issuer, subject = require_kept(session, token)
    session.execute(delete(Token).where(Token.token_sha256 == sessions.digest(token)))
    link(session, viewer, issuer, subject)


def link(session: Session, viewer: Viewer, issuer: str, subject: str) -> None:
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
