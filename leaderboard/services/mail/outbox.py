"""Letters on their way: written in the transaction of what they tell of, sent by jobs, tried again.

A letter is sent at least once: where an evaluator dies between the server's yes and the note of it, it goes
out again, under the same Message-ID. Once its success is noted it never does.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Account, Mail
from leaderboard.errors import NotFound, OverQuota
from leaderboard.services import audit, policy, throttles
from leaderboard.services.jobs import due, queue
from leaderboard.services.jobs.due import MOST_QUEUED, WAITING
from leaderboard.services.mail import server
from leaderboard.services.mail.server import Letter, MailResult
from leaderboard.services.policy import Viewer

MOST_ATTEMPTS = 14
"""About a day and a half of trying; the operator may begin again."""
FIRST_PAUSE_S = 60
LONGEST_PAUSE = timedelta(hours=6)
HOUR = timedelta(hours=1)
WHILE_TRIED = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class MailDraft:
    """What a letter says, before it is known whom it goes to."""

    subject: str
    body: str
    announcement_id: int | None = None


def reachable() -> ColumnElement[bool]:
    """Whether mail goes to an account: its address was confirmed, and no server said that there is none."""
    return (
        (Account.email != "")
        & Account.email_confirmed_at.is_not(None)
        & Account.email_bounced_at.is_(None)
        & Account.disabled_at.is_(None)
    )


def write(session: Session, account_ids: Iterable[int], draft: MailDraft) -> int:
    """Write a letter to each of the accounts that mail reaches, and queue it; how many there are."""
    wanted = select(Account.id, Account.email).where(Account.id.in_(set(account_ids)), reachable())
    return _add(session, [(row.id, row.email) for row in session.execute(wanted.order_by(Account.id))], draft)


def write_to(session: Session, account_id: int, address: str, draft: MailDraft) -> None:
    """Write a letter to an address that is not confirmed yet."""
    _add(session, [(account_id, address)], draft)


def _add(session: Session, receivers: Sequence[tuple[int, str]], draft: MailDraft) -> int:
    at = now(session)
    letters = [
        Mail(
            account_id=account_id,
            announcement_id=draft.announcement_id,
            address=address,
            subject=server.one_line(draft.subject),
            body=draft.body,
            state=WAITING,
            created_at=at,
            next_at=at,
        )
        for account_id, address in receivers
    ]
    session.add_all(letters)
    session.flush()
    due.queue_written(session, queue.MAIL, [letter.id for letter in letters])
    return len(letters)


def queue_due(session: Session) -> None:
    """Queue the letters that are to be tried again and whose time has come."""
    due.queue_due(session, queue.MAIL, Mail, LONGEST_PAUSE)


def take(session: Session, mail_id: int, an_hour: int) -> Letter | None:
    """The letter to send now, counted against its address's hour; None where there is nothing to do.

    That is: it was sent or put off, its account has another address by now, or the hour is full.
    """
    mail = session.get(Mail, mail_id, with_for_update=True)
    if mail is None or mail.state != WAITING or not due.is_due(mail.next_at, now(session), LONGEST_PAUSE):
        return None
    if not _is_address_of(session, mail):
        mail.state, mail.error = server.FAILED, "The account has another address now."
        return None
    if mail.attempts >= MOST_ATTEMPTS:
        mail.state = server.FAILED
        return None
    try:
        throttles.spend(session, _hour_of(mail.address), an_hour, HOUR)
    except OverQuota as full:
        mail.next_at = now(session) + timedelta(seconds=int(str(full.facts["retry_after_s"])))
        return None
    # Counted and put off before it is tried: a letter that kills its evaluator does so a few times only.
    mail.attempts += 1
    mail.next_at = now(session) + WHILE_TRIED
    return Letter(
        number=mail.id, written_at=mail.created_at, to=mail.address, subject=mail.subject, body=mail.body
    )


def _is_address_of(session: Session, mail: Mail) -> bool:
    found = select(Account.id).where(
        Account.id == mail.account_id,
        Account.email == mail.address,
        Account.email_bounced_at.is_(None),
        Account.disabled_at.is_(None),
    )
    return session.scalar(found) is not None


def _hour_of(address: str) -> str:
    return f"mail {hashlib.sha256(address.lower().encode()).hexdigest()}"


def store(session: Session, letter: Letter, result: MailResult) -> None:
    """Note what became of a letter; a server that is away puts off all letters."""
    mail = session.get(Mail, letter.number, with_for_update=True)
    if mail is None or mail.state != WAITING:
        return
    at = now(session)
    mail.error = "" if result.state == server.SENT else result.said
    if result.state in (server.AGAIN, server.AWAY):
        throttles.give_back(session, _hour_of(mail.address))
        _put_off(session, mail, result, at)
        return
    mail.state = result.state
    if result.state == server.SENT:
        # What it said is with its reader now, and a link in it is no longer anybody's business here.
        mail.sent_at, mail.body = at, ""
    if result.state == server.BOUNCED:
        _bounce(session, mail, at)


def _put_off(session: Session, mail: Mail, result: MailResult, at: datetime) -> None:
    if mail.attempts >= MOST_ATTEMPTS:
        mail.state = server.FAILED
        return
    pause = min(timedelta(seconds=FIRST_PAUSE_S * 2 ** (mail.attempts - 1)), LONGEST_PAUSE)
    mail.next_at = at + pause
    if result.state == server.AWAY:
        # The others would wait for the same server, 20 seconds each, while runs wait for evaluators.
        soon = at + timedelta(seconds=FIRST_PAUSE_S)
        session.execute(update(Mail).where(Mail.state == WAITING, Mail.next_at < soon).values(next_at=soon))


def _bounce(session: Session, mail: Mail, at: datetime) -> None:
    """Note that there is no such address: nothing goes there until the account has another one."""
    session.execute(
        update(Account)
        .where(Account.id == mail.account_id, Account.email == mail.address)
        .values(email_bounced_at=at)
    )
    session.execute(
        update(Mail)
        .where(Mail.account_id == mail.account_id, Mail.address == mail.address, Mail.state == WAITING)
        .values(state=server.BOUNCED, error=mail.error)
    )


def try_again(session: Session, viewer: Viewer, mail_id: int | None = None) -> int:
    """Let a failed letter, or all of them, be tried anew; how many. For the operator only.

    Raises NotFound for a letter that has not failed. One to an address that is given up stays as it is.
    """
    policy.require_operator(viewer)
    at = now(session)
    failed = update(Mail).where(Mail.state == server.FAILED)
    wanted = failed if mail_id is None else failed.where(Mail.id == mail_id)
    tried = session.scalars(
        wanted.values(state=WAITING, attempts=0, error="", next_at=at).returning(Mail.id)
    ).all()
    if mail_id is not None and not tried:
        raise NotFound(f"There is no failed letter {mail_id}.")
    for each in tried[:MOST_QUEUED]:
        queue.enqueue(session, queue.MAIL, each, priority=queue.LETTERS)
    audit.record(session, viewer, "mail.try_again", "mail", letters=len(tried))
    return len(tried)
