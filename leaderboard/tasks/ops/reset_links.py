"""One-time sign-in links for lost passwords, created by operators and organisers."""

from sqlalchemy import Select, exists, or_, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts, second_factors
from leaderboard.core import events
from leaderboard.core.policy import Viewer, organises, own_task, require_operator
from leaderboard.db.tables import Account, Entry, Member, Task, TaskRole
from leaderboard.errors import Conflict, Forbidden, NotFound
from leaderboard.tasks.ops import entries

REFUSED = "Only an operator of this site can create a sign-in link for this account."


def make_link(session: Session, viewer: Viewer, account_id: int) -> str:
    """The token of a new one-time link for any account; for operators.

    It replaces only the password: a second factor is still required. Raises Conflict for a closed
    account.
    """
    require_operator(viewer)
    account = session.get(Account, account_id)
    if account is None or account.deleted_at is not None:
        raise NotFound(f"There is no account {account_id}.", account=account_id)
    if account.disabled_at is not None:
        raise Conflict(f"The account {account.name!r} is closed; reopen it first.")
    return _told(session, account_id, viewer, "an operator of this site")


def make_link_in_task(session: Session, viewer: Viewer, slug: str, account_id: int) -> str:
    """The token of a new one-time link from a task organiser, for a member of a team that entered itself.

    Anyone with the link can act as the account, so it is created only for accounts that only take part in
    the viewer's own tasks. Raises NotFound for accounts that are not members of such a team, Forbidden
    for an account that may do more anywhere: that organises, has a role, a second factor, or a team in
    others' tasks.
    """
    task = own_task(session, viewer, slug)
    if session.scalar(members(task.id).with_only_columns(Account.id).where(Account.id == account_id)) is None:
        raise NotFound(f"The teams of this task have no member {account_id}.", account=account_id)
    if not _is_plain_participant(session, viewer, account_id):
        raise Forbidden(REFUSED)
    return _told(session, account_id, viewer, f"an organiser of {task.name}")


def _told(session: Session, account_id: int, viewer: Viewer, by: str) -> str:
    """The token of a new link; the account's owner reads of it by mail and on the page of the account."""
    token = accounts.sign_in_link(session, account_id, viewer=viewer, by=by)
    body = (
        f"A link that signs in as you was created by {by}. It works once, within {accounts.LINK_HOURS} "
        "hours.\n\n"
        "If you did not ask for this link, open your account page, sign out everywhere and set a new "
        "password. Then contact the operator of this site.\n"
    )
    letter = events.MailDraft("A sign-in link was created for your account", body)
    for post in events.MAIL:
        post.write_mail(session, [account_id], letter)
    return token


def members(task_id: int) -> Select[Account]:
    """Open accounts in teams that entered a task themselves."""
    return (
        select(Account)
        .join(Member, Member.account_id == Account.id)
        .join(Entry, Entry.team_id == Member.team_id)
        .where(Entry.task_id == task_id, entries.takes_part(), Account.disabled_at.is_(None))
    )


def _is_plain_participant(session: Session, viewer: Viewer, account_id: int) -> bool:
    has_more = or_(Account.is_organiser, exists().where(TaskRole.account_id == Account.id))
    if session.scalar(select(Account.id).where(Account.id == account_id, has_more)) is not None:
        return False
    if second_factors.is_on(session, account_id):
        return False
    entered = session.scalars(
        select(Task.id)
        .join(Entry, Entry.task_id == Task.id)
        .join(Member, Member.team_id == Entry.team_id)
        .where(Member.account_id == account_id)
    )
    return all(organises(viewer, task_id) for task_id in entered)
