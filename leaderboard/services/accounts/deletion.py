"""An account that is deleted: its person goes, what it did stays under its number and its teams."""

from sqlalchemy import delete as delete_rows
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import (
    Account,
    ApiToken,
    Identity,
    Mail,
    Member,
    PartialUpload,
    SecondFactor,
    Task,
    TaskRole,
    Token,
    Webhook,
)
from leaderboard.errors import Conflict
from leaderboard.services import audit
from leaderboard.services.accounts import accounts, invitations, teams
from leaderboard.services.accounts.accounts import AccountCredentials
from leaderboard.services.policy import Viewer, require_account


def delete(session: Session, viewer: Viewer, checked: AccountCredentials) -> None:
    """Take the viewer's name, address, password, factors, sessions, links, teams and roles away for good.

    Its runs stay under the team, also where the team has no member left. checked is what the password
    matched. Raises Conflict for the last organiser of a task or of the site: somebody has to decide there.
    """
    account_id = require_account(viewer)
    account = session.get_one(Account, account_id, with_for_update=True, populate_existing=True)
    if account.password_hash != checked.password_hash:
        raise Conflict("The password was changed elsewhere meanwhile; try again.")
    _require_successors(session, account)
    for team_id in sorted(session.scalars(select(Member.team_id).where(Member.account_id == account_id))):
        teams.step_down(session, team_id, account_id)
    invitations.end_made_by(session, account_id)
    accounts.sign_out_everywhere(session, account_id)
    for table in (Token, ApiToken, SecondFactor, Identity, TaskRole, Mail, Webhook, PartialUpload):
        session.execute(delete_rows(table).where(table.account_id == account_id))
    _forget(session, account)
    audit.record(session, viewer, "account.delete", f"account:{account_id}")


def _forget(session: Session, account: Account) -> None:
    account.name = f"Deleted account {account.id}"
    # Capitals: no name that anybody types is folded to this, so it takes nobody's.
    account.canonical, account.skeleton = f"DELETED {account.id}", None
    account.email, account.email_confirmed_at, account.email_bounced_at = "", None, None
    account.password_hash, account.is_organiser = None, False
    account.deleted_at = at = now(session)
    account.disabled_at = account.disabled_at or at


def _require_successors(session: Session, account: Account) -> None:
    """Raise Conflict, naming the tasks, where nobody else would organise them."""
    own = select(TaskRole.task_id).where(TaskRole.account_id == account.id, TaskRole.role == "organiser")
    alone = []
    for task_id in sorted(session.scalars(own)):
        # Two last organisers who go at once would both see the other.
        lock_row(session, Task, task_id)
        if not _organisers(session, task_id):
            alone.append(session.get_one(Task, task_id).name)
    if alone:
        raise Conflict(
            f"You are the only organiser of {', '.join(alone)}; invite another one, or discard drafts, first."
        )
    if account.is_organiser:
        lock_key(session, "organisers")
        others = Account.is_organiser, Account.disabled_at.is_(None), Account.id != account.id
        if not session.scalar(select(func.count()).select_from(Account).where(*others)):
            raise Conflict("You are the only organiser account of this site; make another one first.")


def _organisers(session: Session, task_id: int) -> int:
    """How many open accounts organise the task, the one that goes not counted: its row is held."""
    wanted = (
        select(func.count())
        .select_from(TaskRole)
        .join(Account, Account.id == TaskRole.account_id)
        .where(TaskRole.task_id == task_id, TaskRole.role == "organiser", Account.disabled_at.is_(None))
    )
    return (session.scalar(wanted) or 0) - 1
