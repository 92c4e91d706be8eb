"""The mail address of an account: given freely, confirmed by a link that is sent there, taken away again.

Nothing here depends on whether another account has the address, so no answer tells who has one.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, Mail, Token
from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.services import audit, throttles
from leaderboard.services.accounts import sessions
from leaderboard.services.jobs import due
from leaderboard.services.mail import outbox, server
from leaderboard.services.mail.outbox import MailDraft
from leaderboard.services.mail.spelling import is_address
from leaderboard.services.policy import Viewer, require_account

CONFIRM = "email"
CONFIRM_DAYS = 3
ASKED_A_DAY = 5
ASKED_A_DAY_OF_AN_ADDRESS = 3
"""Letters that strangers can make this site send to one address."""
DAY = timedelta(days=1)
DEAD_LINK = "This link was used already, has run out, or is for an address that was changed since."


@dataclass(frozen=True, slots=True)
class MailToConfirm:
    """What a link confirms."""

    account_id: int
    account: str
    address: str


def give(session: Session, viewer: Viewer, address: str) -> str:
    """Give the viewer's account an address; the token that confirms it, to be sent there by `ask`.

    Raises Invalid for what is no address, OverQuota after 5 a day of the account or 3 of the address.
    """
    account_id, wanted = require_account(viewer), address.strip()
    if not is_address(wanted):
        rule, remedy = "This is not a mail address.", "Write it like ann@example.org, in plain letters."
        problem = Problem(rule, remedy, field="address", value=wanted[:60])
        raise Invalid(f"{rule} {remedy}", [problem])
    throttles.spend(session, f"address {account_id}", ASKED_A_DAY, DAY)
    throttles.spend(session, f"address of {sessions.digest(wanted.lower())}", ASKED_A_DAY_OF_AN_ADDRESS, DAY)
    _replace(session, account_id, wanted)
    token, at = sessions.new_token(), now(session)
    session.add(
        Token(
            kind=CONFIRM,
            token_sha256=sessions.digest(token),
            account_id=account_id,
            scope=wanted,
            created_at=at,
            expires_at=at + timedelta(days=CONFIRM_DAYS),
        )
    )
    audit.record(session, viewer, "account.give_address", f"account:{account_id}")
    return token


def ask(session: Session, viewer: Viewer, link: str) -> None:
    """Send the link that confirms the viewer's address there."""
    account = session.get_one(Account, require_account(viewer))
    body = (
        f"Somebody signed in as {account.name} at {_site(link)} wants copies of announcements sent to this "
        "address.\n\nIf that was you, open this link and press the button; it works for "
        f"{CONFIRM_DAYS} days:\n\n{link}\n\nIf not, do nothing: no other mail will come.\n"
    )
    outbox.write_to(session, account.id, account.email, MailDraft("Confirm this mail address", body))


def _site(link: str) -> str:
    return "/".join(link.split("/")[:3])


def remove(session: Session, viewer: Viewer) -> None:
    """Take the address away: letters that wait for it are not sent."""
    account_id = require_account(viewer)
    _replace(session, account_id, "")
    audit.record(session, viewer, "account.remove_address", f"account:{account_id}")


def _replace(session: Session, account_id: int, address: str) -> None:
    lock_row(session, Account, account_id)
    account = session.get_one(Account, account_id)
    account.email, account.email_confirmed_at, account.email_bounced_at = address, None, None
    session.execute(
        update(Token)
        .where(Token.kind == CONFIRM, Token.account_id == account_id, Token.used_at.is_(None))
        .values(revoked_at=now(session))
    )
    session.execute(
        update(Mail)
        .where(Mail.account_id == account_id, Mail.state == due.WAITING)
        .values(state=server.FAILED, error="The account has another address now.")
    )


def to_confirm(session: Session, token: str) -> MailToConfirm:
    """What a link would confirm; raises NotFound where it no longer works."""
    row = session.execute(
        select(Account.id, Account.name, Token.scope)
        .join(Token, Token.account_id == Account.id)
        .where(
            Token.kind == CONFIRM,
            Token.token_sha256 == sessions.digest(token),
            Token.used_at.is_(None),
            Token.revoked_at.is_(None),
            Token.expires_at > now(session),
            Token.scope == Account.email,
            Account.disabled_at.is_(None),
        )
    ).one_or_none()
    if row is None:
        raise NotFound(DEAD_LINK)
    return MailToConfirm(*row)


def confirm(session: Session, ip: str, token: str) -> None:
    """Confirm the address that the link was sent to; works once. Raises NotFound where it no longer works."""
    found = to_confirm(session, token)
    used = session.scalar(
        update(Token)
        .where(
            Token.token_sha256 == sessions.digest(token), Token.used_at.is_(None), Token.revoked_at.is_(None)
        )
        .values(used_at=now(session))
        .returning(Token.id)
    )
    if used is None:
        raise NotFound(DEAD_LINK)
    lock_row(session, Account, found.account_id)
    account = session.get_one(Account, found.account_id)
    if account.email != found.address:
        raise NotFound(DEAD_LINK)
    account.email_confirmed_at = now(session)
    audit.record(session, Viewer(ip=ip), "account.confirm_address", f"account:{account.id}")
