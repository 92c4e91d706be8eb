"""What people see of mail: an account's own address and letters."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Mail
from leaderboard.services.policy import Viewer, require_account
from leaderboard.tables.record import Column, Table

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
    columns: list[Column[Mail]] = [
        Column(key="subject", head="Subject", value=lambda row: row.subject),
        Column(key="to", head="To", value=lambda row: row.address),
        Column(key="written", head="Written", value=lambda row: row.created_at),
        Column(key="state", head="State", value=lambda row: row.state),
        Column(key="said", head="The mail server said", value=lambda row: row.error),
    ]
    caption = f"The newest letters to you, at most {MOST_LETTERS}"
    return Table(name="letters", caption=caption, columns=columns, rows=page.letters)
