"""Signed-in browsers: rows that can be listed and ended, of which only the token's digest is kept."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import bindparam, delete, exists, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, SecondFactor, WebSession
from leaderboard.errors import NotFound
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
