"""Links for screens: one shows the judging room of a pool to whoever opens it, and nothing else."""

from datetime import datetime, timedelta

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Pool, Task, Token
from leaderboard.errors import NotFound
from leaderboard.services import audit
from leaderboard.services.accounts import sessions
from leaderboard.services.assessors import links
from leaderboard.services.policy import Viewer

KIND = "screen"
DAYS = 3
"""A workshop; who forgets to end a link forgets it for so long."""
DEAD_LINK = "This link for a screen does not work, or no longer; ask the organisers for a new one."


def make(session: Session, viewer: Viewer, slug: str, number: int) -> str:
    """The token of a new link to the room of a pool, in place of the one before; raises as `own_pool`."""
    _, pool = links.own_pool(session, viewer, slug, number)
    _revoke(session, pool)
    token, at = sessions.new_token(), now(session)
    session.add(
        Token(
            kind=KIND,
            token_sha256=sessions.digest(token),
            account_id=viewer.account_id,
            scope=_scope(pool),
            created_at=at,
            expires_at=at + timedelta(days=DAYS),
        )
    )
    audit.record(session, viewer, "screen.make", f"pool:{pool.id}", task=slug)
    return token


def end(session: Session, viewer: Viewer, slug: str, number: int) -> None:
    """Let the link to the room of a pool work no longer, where there is one; raises as `own_pool`."""
    _, pool = links.own_pool(session, viewer, slug, number)
    _revoke(session, pool)
    audit.record(session, viewer, "screen.end", f"pool:{pool.id}", task=slug)


def works_until(session: Session, pool: Pool, at: datetime) -> datetime | None:
    """When the link to the room of a pool ends; None where none works at that moment."""
    found = session.scalar(_working(at).where(Token.scope == _scope(pool)))
    return found.expires_at if found is not None else None


def opened(session: Session, token: str) -> tuple[Task, Pool]:
    """Task and pool whose room a link shows; raises NotFound where it does not work.

    A task that was taken back to a draft is shown to nobody.
    """
    link = session.scalar(_working(now(session)).where(Token.token_sha256 == sessions.digest(token)))
    pool = session.get(Pool, int(link.scope.partition(" ")[0])) if link is not None else None
    if link is not None and pool is not None and link.scope == _scope(pool):
        task = session.get_one(Task, pool.task_id)
        if task.published_at is not None:
            return task, pool
    raise NotFound(DEAD_LINK)


def _scope(pool: Pool) -> str:
    """What a link is for: an id may come again once a pool was discarded, the moment does not."""
    return f"{pool.id} {pool.created_at.isoformat()}"


def _working(at: datetime) -> Select[Token]:
    return select(Token).where(Token.kind == KIND, Token.revoked_at.is_(None), Token.expires_at > at)


def _revoke(session: Session, pool: Pool) -> None:
    former = Token.kind == KIND, Token.scope == _scope(pool), Token.revoked_at.is_(None)
    session.execute(update(Token).where(*former).values(revoked_at=now(session)))
