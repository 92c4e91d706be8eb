"""What the operator does about an account that was stolen or left: close it, open it again, sign it out."""

from sqlalchemy import delete
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, WebSession
from leaderboard.errors import Conflict, NotFound
from leaderboard.services import audit
from leaderboard.services.accounts import accounts, invitations, tokens
from leaderboard.services.policy import Viewer, require_operator


def close(session: Session, viewer: Viewer, account_id: int) -> None:
    """Let nobody sign in to the account: its sessions, links and invitations end, its runs stay.

    Raises Forbidden unless the viewer operates the site, Conflict for their own and where it is closed.
    """
    account = _account(session, viewer, account_id)
    _require_other(viewer, account)
    if account.disabled_at is not None:
        raise Conflict(f"The account {account.name!r} is closed already.")
    account.disabled_at = now(session)
    accounts.sign_out_everywhere(session, account.id)
    accounts.end_links(session, account.id)
    invitations.end_made_by(session, account.id)
    audit.record(session, viewer, "account.close", f"account:{account.id}")


def reopen(session: Session, viewer: Viewer, account_id: int) -> None:
    """Let the account's password, or a new link, sign in again; raises Conflict where it is not closed."""
    account = _account(session, viewer, account_id)
    if account.disabled_at is None:
        raise Conflict(f"The account {account.name!r} is not closed.")
    account.disabled_at = None
    audit.record(session, viewer, "account.reopen", f"account:{account.id}")


def set_organiser(session: Session, viewer: Viewer, account_id: int, is_organiser: bool) -> None:
    """Say whether the account may create tasks; what it organises already stays its own."""
    account = _account(session, viewer, account_id)
    _require_other(viewer, account)
    account.is_organiser = is_organiser
    accounts.end_links(session, account.id)
    audit.record(session, viewer, "account.organiser", f"account:{account.id}", organiser=is_organiser)


def sign_out(session: Session, viewer: Viewer, account_id: int) -> None:
    """End every session and token of the account and forget its devices."""
    account = _account(session, viewer, account_id)
    accounts.sign_out_everywhere(session, account.id)
    audit.record(session, viewer, "account.sign_out", f"account:{account.id}")


def sign_out_everybody(session: Session, viewer: Viewer) -> int:
    """End every session and token of the site and say how many sessions there were; for the operator only."""
    require_operator(viewer)
    tokens.end_all(session)
    ended = session.scalars(delete(WebSession).returning(WebSession.id)).all()
    audit.record(session, viewer, "account.sign_out", "account:all", sessions=len(ended))
    return len(ended)


def _account(session: Session, viewer: Viewer, account_id: int) -> Account:
    require_operator(viewer)
    account = session.get(Account, account_id, with_for_update=True, populate_existing=True)
    if account is None or account.deleted_at is not None:
        raise NotFound(f"There is no account {account_id}.", account=account_id)
    return account


def _require_other(viewer: Viewer, account: Account) -> None:
    if account.id == viewer.account_id:
        raise Conflict("You would shut yourself out; another operator, or the command line, can do this.")
