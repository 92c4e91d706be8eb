"""What the operator does about an account that was stolen or left: close it, open it again, sign it out."""

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Token, WebSession
from leaderboard.errors import Conflict, Forbidden
from leaderboard.services import audit
from leaderboard.services.accounts import accounts
from leaderboard.services.policy import Viewer

LINKS = ("sign_in", "invite")


def close(session: Session, viewer: Viewer, name: str) -> None:
    """Let nobody sign in to the account: its sessions, links and invitations end, its runs stay.

    Raises Forbidden unless the viewer is the operator, NotFound for a name nobody has, Conflict where the
    account is closed.
    """
    account = _account(session, viewer, name)
    if account.disabled_at is not None:
        raise Conflict(f"The account {account.name!r} is closed already.")
    account.disabled_at = at = now(session)
    accounts.sign_out_everywhere(session, account.id)
    unused = Token.account_id == account.id, Token.used_at.is_(None), Token.revoked_at.is_(None)
    session.execute(update(Token).where(Token.kind.in_(LINKS), *unused).values(revoked_at=at))
    audit.record(session, viewer, "account.close", f"account:{account.id}")


def reopen(session: Session, viewer: Viewer, name: str) -> None:
    """Let the account's password, or a new link, sign in again; raises Conflict where it is not closed."""
    account = _account(session, viewer, name)
    if account.disabled_at is None:
        raise Conflict(f"The account {account.name!r} is not closed.")
    account.disabled_at = None
    audit.record(session, viewer, "account.reopen", f"account:{account.id}")


def sign_out(session: Session, viewer: Viewer, name: str) -> None:
    """End every session of the account and forget its devices."""
    account = _account(session, viewer, name)
    accounts.sign_out_everywhere(session, account.id)
    audit.record(session, viewer, "account.sign_out", f"account:{account.id}")


def sign_out_everybody(session: Session, viewer: Viewer) -> int:
    """End every session of the site and say how many there were; for the operator only."""
    _require_operator(viewer)
    ended = session.scalars(delete(WebSession).returning(WebSession.id)).all()
    audit.record(session, viewer, "account.sign_out", "account:all", sessions=len(ended))
    return len(ended)


def _account(session: Session, viewer: Viewer, name: str) -> Account:
    _require_operator(viewer)
    account_id = accounts.find(session, name)
    return session.scalars(select(Account).where(Account.id == account_id).with_for_update()).one()


def _require_operator(viewer: Viewer) -> None:
    if not viewer.is_operator:
        raise Forbidden("Only the operator of this site may do this.")
