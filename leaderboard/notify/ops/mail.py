"""Mail: addresses, the outbox and delivery to the mail server.

A letter is sent at least once: if an evaluator dies between the server's acceptance and recording it, it is
sent again with the same Message-ID. Once its success is noted it never does.

Nothing here depends on whether another account has the address, so no answer reveals who has one.
"""

import hashlib
import re
import smtplib
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import policy as policies
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts, names, sessions
from leaderboard.core import audit, policy, prose, throttles
from leaderboard.core.events import MailDraft
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import MOST_QUEUED, SENT, WAITING
from leaderboard.core.policy import Viewer, require_account
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, Mail, Token
from leaderboard.errors import Invalid, NotFound, OverQuota, Problem
from leaderboard.settings import Settings, is_loopback

LONGEST = 254
_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
)


def is_address(text: str) -> bool:
    r"""Whether the text is one plain mail address, in ASCII, without name, quotes or comments.

    >>> is_address("ann@example.org"), is_address("ann"), is_address("a@b\r\nBcc: c@d"), is_address("a b@c")
    (True, False, False, False)
    """
    return len(text) <= LONGEST and text.find("@") <= 64 and _ADDRESS.fullmatch(text) is not None


WAIT_S = 20
"""Time limit of the server at each step."""
AGAIN, AWAY, FAILED, BOUNCED = "again", "away", "failed", "bounced"
"""Outcome of an undelivered mail: refused temporarily; no server reached; refused permanently; unknown
address."""
RESPONSE_CHARACTERS = 500
URL, FROM = "LEADERBOARD_SMTP_URL", "LEADERBOARD_MAIL_FROM"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The mail server and the sender."""

    host: str
    port: int
    is_tls: bool
    """Whether the connection begins with TLS; else starttls says whether it is turned on in it."""
    starttls: bool
    user: str
    password: str
    sender: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One mail ready to be sent; number makes its Message-ID, the same however often it is tried."""

    number: int
    written_at: datetime
    to: str
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class MailResult:
    """Outcome of a mail, and the server's response."""

    state: str
    response: str


def server_of(settings: Settings) -> MailServer | None:
    """The configured mail server, None if not configured.

    Raises Invalid for an address of a server, or of the sender, that cannot be right, for a password that
    would cross a network in the clear, and where links in mail would not work.
    """
    if not settings.smtp_url:
        return None
    try:
        url = urlsplit(settings.smtp_url)
        port = url.port
    except ValueError:
        raise Invalid(f"{URL} is not valid; use a form like smtp://user:password@host:587.") from None
    if url.scheme not in ("smtp", "smtps") or not url.hostname:
        raise Invalid(f"{URL} must begin with smtp:// or smtps:// and contain a host.")
    if not is_address(settings.mail_from):
        raise Invalid(f"{FROM} must be the sender address of mail, such as board@example.org.")
    if not settings.public_url and not is_loopback(settings.host):
        raise Invalid("Mail contains links. Set LEADERBOARD_PUBLIC_URL to the public address of this site.")
    is_tls = url.scheme == "smtps"
    starttls = not is_tls and _starttls(url.query, url.hostname)
    if url.username and not (is_tls or starttls or is_loopback(url.hostname)):
        raise Invalid(f"{URL} would send a password unencrypted; use smtps:// or starttls=required.")
    return MailServer(
        host=url.hostname,
        port=port or (465 if is_tls else 587 if url.username else 25),
        is_tls=is_tls,
        starttls=starttls,
        user=unquote(url.username or ""),
        password=unquote(url.password or ""),
        sender=settings.mail_from,
    )


def _starttls(query: str, host: str) -> bool:
    mode = parse_qs(query).get("starttls", ["none" if is_loopback(host) else "required"])[-1]
    if mode not in ("required", "none"):
        raise Invalid(f"{URL} has starttls={mode[:20]}; it must be required or none.")
    return mode == "required"


def mail_message(server: MailServer, letter: Letter) -> EmailMessage:
    """The letter in its transmitted form.

    A header cannot be smuggled in: the library refuses line ends in one, and none is left in the subject.
    """
    message = EmailMessage(policy=policies.SMTP)
    message["From"] = server.sender
    message["To"] = letter.to
    message["Subject"] = prose.one_line(letter.subject)
    message["Date"] = format_datetime(letter.written_at.astimezone(UTC))
    domain = server.sender.rpartition("@")[2]
    message["Message-ID"] = f"<{letter.number}.{letter.written_at.timestamp():.0f}.leaderboard@{domain}>"
    # Asks auto-responders, such as out-of-office notices, not to reply.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(letter.body, cte="quoted-printable")
    return message


def send_mail(server: MailServer, letter: Letter) -> MailResult:
    """Hand a letter over and say what became of it; no error of the server or the network is raised."""
    try:
        with _connected(server) as connection:
            return _handed_over(connection, server, letter)
    except smtplib.SMTPResponseException as error:
        return MailResult(AWAY, _response(error.smtp_code, error.smtp_error))
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return MailResult(AWAY, f"{type(error).__name__}: {error}"[:RESPONSE_CHARACTERS])


@contextmanager
def _connected(server: MailServer) -> Iterator[smtplib.SMTP]:
    context = ssl.create_default_context()
    connection = (
        smtplib.SMTP_SSL(server.host, server.port, timeout=WAIT_S, context=context)
        if server.is_tls
        else smtplib.SMTP(server.host, server.port, timeout=WAIT_S)
    )
    try:
        if server.starttls:
            connection.starttls(context=context)
        if server.user:
            connection.login(server.user, server.password)
        yield connection
    finally:
        # Not quit(): an accepted mail counts as sent even if closing the connection fails.
        connection.close()


def _handed_over(connection: smtplib.SMTP, server: MailServer, letter: Letter) -> MailResult:
    connection.ehlo_or_helo_if_needed()
    code, reply = connection.mail(server.sender)
    if code >= 400:
        # The server refuses the sender, not this receiver: no mail is sent until the operator has fixed it.
        return MailResult(AWAY, _response(code, reply))
    code, reply = connection.rcpt(letter.to)
    if code >= 400:
        return MailResult(_refused(code, reply), _response(code, reply))
    try:
        code, reply = connection.data(mail_message(server, letter).as_bytes())
    except smtplib.SMTPDataError as error:
        code, reply = error.smtp_code, bytes(str(error.smtp_error), "utf-8", "replace")
    if code < 400:
        return MailResult(SENT, _response(code, reply))
    return MailResult(AGAIN if code < 500 else FAILED, _response(code, reply))


def _refused(code: int, reply: bytes) -> str:
    """The outcome for a refused address: 4xx temporary, 5.7.x not permitted, else unknown address.

    >>> _refused(450, b"4.2.0 busy"), _refused(554, b"5.7.1 relay denied"), _refused(550, b"5.1.1 unknown")
    ('again', 'failed', 'bounced')
    """
    if code < 500:
        return AGAIN
    return FAILED if reply.lstrip().startswith(b"5.7.") else BOUNCED


def _response(code: int, reply: bytes | str) -> str:
    words = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)
    return prose.one_line(f"{code} {words}")[:RESPONSE_CHARACTERS]


MOST_ATTEMPTS = 14
"""About a day and a half of trying; the operator may begin again."""
FIRST_PAUSE_S = 60
LONGEST_PAUSE = timedelta(hours=6)
HOUR = timedelta(hours=1)
WHILE_TRIED = timedelta(minutes=10)


def write_mail(session: Session, account_ids: Iterable[int], draft: MailDraft) -> int:
    """Write a letter to each of the accounts that mail reaches, and queue it; how many there are."""
    query = select(Account.id, Account.email).where(Account.id.in_(set(account_ids)), accounts.reachable())
    return _add(session, [(row.id, row.email) for row in session.execute(query.order_by(Account.id))], draft)


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
            subject=prose.one_line(draft.subject),
            body=draft.body,
            state=WAITING,
            created_at=at,
            next_at=at,
        )
        for account_id, address in receivers
    ]
    session.add_all(letters)
    session.flush()
    queue.queue_written(session, queue.MAIL, [letter.id for letter in letters])
    return len(letters)


def queue_due(session: Session) -> None:
    """Queue mail whose retry is due."""
    queue.queue_due(session, queue.MAIL, Mail, LONGEST_PAUSE)


def take_mail(session: Session, mail_id: int, an_hour: int) -> Letter | None:
    """The letter to send now, counted against its address's hour; None where there is nothing to do.

    That is: it was sent or put off, its account has another address by now, or the hour is full.
    """
    mail = session.get(Mail, mail_id, with_for_update=True)
    if (
        mail is None
        or mail.state != WAITING
        or not queue.work_is_due(mail.next_at, now(session), LONGEST_PAUSE)
    ):
        return None
    if not _is_address_of(session, mail):
        mail.state, mail.error = FAILED, "The account's mail address has changed."
        return None
    if mail.attempts >= MOST_ATTEMPTS:
        mail.state = FAILED
        return None
    try:
        throttles.spend(session, _hour_of(mail.address), an_hour, HOUR)
    except OverQuota as full:
        mail.next_at = now(session) + timedelta(seconds=int(str(full.facts["retry_after_s"])))
        return None
    # Counted and postponed before the attempt, so that mail that kills its evaluator does so only a few
    # times.
    mail.attempts += 1
    mail.next_at = now(session) + WHILE_TRIED
    return Letter(
        number=mail.id, written_at=mail.created_at, to=mail.address, subject=mail.subject, body=mail.body
    )


def _is_address_of(session: Session, mail: Mail) -> bool:
    query = select(Account.id).where(
        Account.id == mail.account_id,
        Account.email == mail.address,
        Account.email_bounced_at.is_(None),
        Account.disabled_at.is_(None),
    )
    return session.scalar(query) is not None


def _hour_of(address: str) -> str:
    return f"mail {hashlib.sha256(address.lower().encode()).hexdigest()}"


def store_mail(session: Session, letter: Letter, result: MailResult) -> None:
    """Note what became of a letter; a server that is away puts off all letters."""
    mail = session.get(Mail, letter.number, with_for_update=True)
    if mail is None or mail.state != WAITING:
        return
    at = now(session)
    mail.error = "" if result.state == SENT else result.response
    if result.state in (AGAIN, AWAY):
        throttles.give_back(session, _hour_of(mail.address))
        _put_off(session, mail, result, at)
        return
    mail.state = result.state
    if result.state == SENT:
        # The text is delivered, and links in it must not stay readable here.
        mail.sent_at, mail.body = at, ""
    if result.state == BOUNCED:
        _bounce(session, mail, at)


def _put_off(session: Session, mail: Mail, result: MailResult, at: datetime) -> None:
    if mail.attempts >= MOST_ATTEMPTS:
        mail.state = FAILED
        return
    pause = min(timedelta(seconds=FIRST_PAUSE_S * 2 ** (mail.attempts - 1)), LONGEST_PAUSE)
    mail.next_at = at + pause
    if result.state == AWAY:
        # Other mail would wait for the same server, 20 seconds each, and block evaluators.
        soon = at + timedelta(seconds=FIRST_PAUSE_S)
        session.execute(update(Mail).where(Mail.state == WAITING, Mail.next_at < soon).values(next_at=soon))


def _bounce(session: Session, mail: Mail, at: datetime) -> None:
    """Note that there is no such address: no mail is sent there until the account has another one."""
    session.execute(
        update(Account)
        .where(Account.id == mail.account_id, Account.email == mail.address)
        .values(email_bounced_at=at)
    )
    session.execute(
        update(Mail)
        .where(Mail.account_id == mail.account_id, Mail.address == mail.address, Mail.state == WAITING)
        .values(state=BOUNCED, error=mail.error)
    )


def try_again(session: Session, viewer: Viewer, mail_id: int | None = None) -> int:
    """Retry one failed mail, or all; returns their number. For operators only.

    Raises NotFound for a letter that has not failed. One to an abandoned address is unchanged.
    """
    policy.require_operator(viewer)
    at = now(session)
    failed = update(Mail).where(Mail.state == FAILED)
    statement = failed if mail_id is None else failed.where(Mail.id == mail_id)
    tried = session.scalars(
        statement.values(state=WAITING, attempts=0, error="", next_at=at).returning(Mail.id)
    ).all()
    if mail_id is not None and not tried:
        raise NotFound(f"There is no failed mail {mail_id}.")
    for each in tried[:MOST_QUEUED]:
        queue.enqueue(session, queue.MAIL, each, priority=queue.LETTERS)
    audit.record(session, viewer, "mail.try_again", "mail", letters=len(tried))
    return len(tried)


CONFIRM = "email"
CONFIRM_DAYS = 3
ASKED_A_DAY = 5
ASKED_A_DAY_OF_AN_ADDRESS = 3
"""Letters that strangers can make this site send to one address."""
DAY = timedelta(days=1)
DEAD_LINK = "This link has already been used, has expired, or is for an address that has changed since."


@dataclass(frozen=True, slots=True)
class MailToConfirm:
    """The address and account that a link confirms."""

    account_id: int
    account: str
    address: str


def give_address(session: Session, viewer: Viewer, address: str) -> str:
    """Give the viewer's account an address; the token that confirms it, to be sent there by `ask_address`.

    Raises Invalid for an invalid address, OverQuota after 5 per day of the account or 3 of the address.
    """
    account_id, mail_address = require_account(viewer), address.strip()
    if not is_address(mail_address):
        rule = "This is not a valid mail address."
        remedy = "Use a form like ann@example.org, with ASCII characters only."
        problem = Problem(rule, remedy, field="address", value=mail_address[:60])
        raise Invalid(f"{rule} {remedy}", [problem])
    throttles.spend(session, f"address {account_id}", ASKED_A_DAY, DAY)
    throttles.spend(
        session, f"address of {sessions.digest(mail_address.lower())}", ASKED_A_DAY_OF_AN_ADDRESS, DAY
    )
    _replace(session, account_id, mail_address)
    token, at = sessions.new_token(), now(session)
    session.add(
        Token(
            kind=CONFIRM,
            token_sha256=sessions.digest(token),
            account_id=account_id,
            scope=mail_address,
            created_at=at,
            expires_at=at + timedelta(days=CONFIRM_DAYS),
        )
    )
    audit.record(session, viewer, "account.give_address", f"account:{account_id}")
    return token


def ask_address(session: Session, viewer: Viewer, link: str) -> None:
    """Send the link that confirms the viewer's address there."""
    account = session.get_one(Account, require_account(viewer))
    body = (
        f"{account.name} at {_site(link)} asked to receive announcements at this address.\n\nIf this was "
        f"you, open this link within {CONFIRM_DAYS} days and confirm the address:\n\n{link}\n\n"
        "If it was not you, ignore this message. You will not receive any other mail.\n"
    )
    write_to(session, account.id, account.email, MailDraft("Confirm your mail address", body))


def _site(link: str) -> str:
    return "/".join(link.split("/")[:3])


def remove_address(session: Session, viewer: Viewer) -> None:
    """Remove the address; queued mail to it is not sent."""
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
        .where(Mail.account_id == account_id, Mail.state == queue.WAITING)
        .values(state=FAILED, error="The account's mail address has changed.")
    )


def to_confirm(session: Session, token: str) -> MailToConfirm:
    """The address that a link would confirm; raises NotFound if it is no longer valid."""
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


def confirm_address(session: Session, ip: str, token: str) -> None:
    """Confirm the address that the link was sent to; works once. Raises NotFound where it no longer works."""
    mail = to_confirm(session, token)
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
    lock_row(session, Account, mail.account_id)
    account = session.get_one(Account, mail.account_id)
    if account.email != mail.address:
        raise NotFound(DEAD_LINK)
    account.email_confirmed_at = now(session)
    audit.record(session, Viewer(ip=ip), "account.confirm_address", f"account:{account.id}")


ASKED_A_DAY_OF_A_NETWORK = 30
PLACE = "{token}"
"""Placeholder of the token in an address."""


def count_lost(session: Session, viewer: Viewer, name: str) -> None:
    """Count one request for a name, whether it exists or not; commit before `send_link`.

    Raises OverQuota after 5 per day for one name, 30 from one network.
    """
    throttles.spend(session, f"lost password {sessions.digest(names.canonical(name))}", ASKED_A_DAY, DAY)
    network = throttles.network(viewer.ip)
    throttles.spend(session, f"lost password ip {network}", ASKED_A_DAY_OF_A_NETWORK, DAY)


def send_link(session: Session, viewer: Viewer, name: str, address: str) -> None:
    """Queue the mail if the account with this name has a confirmed address; else do nothing.

    address is the link's, with PLACE in it. The link does what a password does: a second factor is still
    required. Call it once the answer is sent, so that timing does not reveal whether there was one.
    """
    account = session.scalar(
        select(Account).where(Account.canonical == names.canonical(name), accounts.reachable())
    )
    if account is None:
        return
    token = accounts.sign_in_link(session, account.id, viewer=viewer, by="someone who requested it by mail")
    body = (
        f"Someone requested a sign-in link for the account {account.name}. It works once, within "
        f"{accounts.LINK_HOURS} hours. Then set a new password on your account page:\n\n"
        f"{address.replace(PLACE, token)}\n\n"
        "If it was not you, ignore this message: nobody can sign in without this link.\n"
    )
    write_mail(session, [account.id], MailDraft("Your sign-in link", body))
