"""The outbox of the site: letters by state, those that did not arrive, and addresses that are none."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account, Mail
from leaderboard.services import policy
from leaderboard.services.mail.server import SENT
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Column, Files, Table, columns_from

MOST_LETTERS = 200
"""Letters that are listed, newest first."""


@dataclass(frozen=True, slots=True)
class BouncedAccount:
    """An account to whose address nothing is sent any more."""

    name: str
    address: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxPage:
    """The outbox as operators see it."""

    states: tuple[tuple[str, int], ...]
    letters: tuple[Mail, ...]
    bounced: tuple[BouncedAccount, ...]

    @property
    def failed(self) -> int:
        """Letters that were given up, and may be tried again."""
        return dict(self.states).get("failed", 0)


def outbox_page(session: Session, viewer: Viewer) -> OutboxPage:
    """The outbox, for operators."""
    policy.require_operator(viewer)
    states = session.execute(select(Mail.state, func.count()).group_by(Mail.state).order_by(Mail.state))
    newest = select(Mail).where(Mail.state != SENT).order_by(Mail.id.desc()).limit(MOST_LETTERS)
    bounced = session.execute(
        select(Account.name, Account.email, Account.email_bounced_at)
        .where(Account.email_bounced_at.is_not(None))
        .order_by(Account.email_bounced_at.desc())
    )
    return OutboxPage(
        states=tuple((state, count) for state, count in states),
        letters=tuple(session.scalars(newest)),
        bounced=tuple(BouncedAccount(name, address, at) for name, address, at in bounced if at is not None),
    )


def letter_table(page: OutboxPage) -> Table[Mail]:
    """Letters that have not been taken; what they say is their readers' business."""
    columns = columns_from(
        Mail,
        Column("letter", lambda row: row.id, "Letter", digits=0),
        Column("to", lambda row: row.address, "To"),
        "state",
        Column("attempts", lambda row: row.attempts, "Tries", digits=0),
        Column("said", lambda row: row.error, "The mail server said"),
        Column("written", lambda row: row.created_at.isoformat(timespec="seconds"), "Written"),
    )
    caption = f"Letters that no server has taken, newest first, at most {MOST_LETTERS}"
    return Table("letters", caption, columns, page.letters)


def bounced_table(page: OutboxPage) -> Table[BouncedAccount]:
    """Addresses of which a server said that they are none."""
    columns: list[Column[BouncedAccount]] = [
        Column("account", lambda row: row.name, "Account"),
        Column("address", lambda row: row.address, "Address"),
        Column("since", lambda row: row.at.isoformat(timespec="seconds"), "Since"),
    ]
    caption = "Addresses that mail came back from: nothing is sent there until they are changed"
    return Table("bounced", caption, columns, page.bounced)


def facts(page: OutboxPage) -> dict[str, Any]:
    """The outbox as plain values."""
    letters, bounced = letter_table(page).facts(), bounced_table(page).facts()
    return {"states": dict(page.states), "letters": letters, "bounced": bounced}


FILES = Files(facts=facts, tables={"letters": letter_table, "bounced": bounced_table})
