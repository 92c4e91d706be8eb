"""A one-time sign-in link by mail, for who lost the password and has confirmed an address."""

from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Account
from leaderboard.services import throttles
from leaderboard.services.accounts import accounts, names, sessions
from leaderboard.services.mail import outbox
from leaderboard.services.mail.outbox import MailDraft
from leaderboard.services.policy import Viewer

ASKED_A_DAY = 5
ASKED_A_DAY_OF_A_NETWORK = 30
DAY = timedelta(days=1)
PLACE = "{token}"
"""What stands for the token in an address that is handed over."""


def count(session: Session, viewer: Viewer, name: str) -> None:
    """Count one request for a name, whether somebody has it or not: commit this before `send_link`.

    Raises OverQuota after 5 a day for one name, 30 from one network.
    """
    throttles.spend(session, f"lost password {sessions.digest(names.canonical(name))}", ASKED_A_DAY, DAY)
    network = throttles.network(viewer.ip)
    throttles.spend(session, f"lost password ip {network}", ASKED_A_DAY_OF_A_NETWORK, DAY)


def send_link(session: Session, viewer: Viewer, name: str, address: str) -> None:
    """Write the letter, where the account of that name has a confirmed address; else do nothing.

    address is the link's, with PLACE in it. The link does what a password does: a second factor is still
    asked for. Call it once the answer is sent, so that the time it takes tells nobody whether there was one.
    """
    account = session.scalar(
        select(Account).where(Account.canonical == names.canonical(name), outbox.reachable())
    )
    if account is None:
        return
    token = accounts.sign_in_link(session, account.id, viewer=viewer, by="whoever asked for it by mail")
    body = (
        f"Somebody asked for a link that signs {account.name} in. It works once, for {accounts.LINK_HOURS} "
        f"hours; then set a new password on the page of your account:\n\n{address.replace(PLACE, token)}\n\n"
        "If that was not you, do nothing: without this link nobody gets in.\n"
    )
    outbox.write(session, [account.id], MailDraft("Sign in without a password", body))
