"""Records of an account's mail address and mail."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core.policy import Viewer, require_account
from leaderboard.db.tables import Account, Mail
from leaderboard.tables.record import Column, Table, columns_from

MOST_LETTERS = 10


@dataclass(frozen=True, slots=True)
class OwnMailPage:
    """The mail of an account as its owner sees it."""

    account: Account
    letters: tuple[Mail, ...]


def own_mail(session: Session, viewer: Viewer) -> OwnMailPage:
    """The viewer's address, whether it works, and the newest letters to it."""
    account = session.get_one(Account, require_account(viewer))
    newest = select(Mail).where(Mail.account_id == account.id).order_by(Mail.id.desc()).limit(MOST_LETTERS)
    return OwnMailPage(account, tuple(session.scalars(newest)))


def letters(page: OwnMailPage) -> Table[Mail]:
    """The newest letters to an account."""
    columns = columns_from(
        Mail,
        "subject",
        Column("to", lambda row: row.address, "To"),
        Column("written", lambda row: row.created_at, "Created"),
        "state",
        Column("said", lambda row: row.error, "Mail server response"),
    )
    caption = f"Mail sent to you, newest first, at most {MOST_LETTERS} messages"
    return Table("letters", caption, columns, page.letters)
