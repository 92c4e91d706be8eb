"""What people see of mail: an account's own address and letters."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Mail
from leaderboard.services.policy import Viewer, require_account
from leaderboard.tables.record import Shown, Table, columns_from

MOST_LETTERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRow:
    """One letter: where to, what about, and what became of it; error is what the server said last."""

    id: Annotated[int, Shown(key="letter")]
    address: Annotated[str, Shown(key="to")]
    subject: str
    state: str
    attempts: Annotated[int, Shown("Tries")]
    error: Annotated[str, Shown("The mail server said", key="said")]
    created_at: Annotated[datetime, Shown(key="written")]
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class OwnMailPage:
    """The mail of an account as its owner sees it."""

    address: str
    confirmed_at: datetime | None
    bounced_at: datetime | None
    letters: tuple[MailRow, ...]


def own_mail(session: Session, viewer: Viewer) -> OwnMailPage:
    """The viewer's address, whether it works, and the newest letters to it."""
    account = session.get_one(Account, require_account(viewer))
    newest = select(Mail).where(Mail.account_id == account.id).order_by(Mail.id.desc()).limit(MOST_LETTERS)
    letters = tuple(mail_row(mail) for mail in session.scalars(newest))
    return OwnMailPage(account.email, account.email_confirmed_at, account.email_bounced_at, letters)


def mail_row(mail: Mail) -> MailRow:
    """A letter as a row of a table."""
    return MailRow(
        id=mail.id,
        address=mail.address,
        subject=mail.subject,
        state=mail.state,
        attempts=mail.attempts,
        error=mail.error,
        created_at=mail.created_at,
        sent_at=mail.sent_at,
    )


def letters(page: OwnMailPage) -> Table[MailRow]:
    """The newest letters to an account."""
    columns = columns_from(MailRow, "subject address created_at state error")
    caption = f"The newest letters to you, at most {MOST_LETTERS}"
    return Table("letters", caption, columns, page.letters)
