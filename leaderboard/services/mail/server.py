"""The mail server of the settings, and what it says to one letter; no database here."""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy as policies
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit

from leaderboard.errors import Invalid
from leaderboard.services.mail.spelling import is_address
from leaderboard.settings import Settings, is_loopback

WAIT_S = 20
"""How long the server is waited for, at each step."""
SENT, AGAIN, AWAY, FAILED, BOUNCED = "sent", "again", "away", "failed", "bounced"
"""What became of a letter: taken; refused for now; no server reached; refused for good; no such address."""
SUBJECT_CHARACTERS = 200
SAID_CHARACTERS = 500
URL, FROM = "LEADERBOARD_SMTP_URL", "LEADERBOARD_MAIL_FROM"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Where mail is handed over, and as whom."""

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
    """One mail as it is to be sent; number makes its Message-ID, the same however often it is tried."""

    number: int
    written_at: datetime
    to: str
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class MailResult:
    """What became of a letter, and the server's words."""

    state: str
    said: str


def server_of(settings: Settings) -> MailServer | None:
    """The mail server that is set, None where none is.

    Raises Invalid for an address of a server, or of the sender, that cannot be meant, for a password that
    would cross a network in the clear, and where links in mail would lead nowhere.
    """
    if not settings.smtp_url:
        return None
    try:
        url = urlsplit(settings.smtp_url)
        port = url.port
    except ValueError:
        raise Invalid(f"{URL} cannot be read; write it like smtp://user:password@host:587.") from None
    if url.scheme not in ("smtp", "smtps") or not url.hostname:
        raise Invalid(f"{URL} must begin with smtp:// or smtps:// and name a host.")
    if not is_address(settings.mail_from):
        raise Invalid(f"{FROM} must be the address that mail comes from, such as board@example.org.")
    if not settings.public_url and not is_loopback(settings.host):
        raise Invalid("Mail has links in it: set LEADERBOARD_PUBLIC_URL to the address that readers use.")
    is_tls = url.scheme == "smtps"
    starttls = not is_tls and _starttls(url.query, url.hostname)
    if url.username and not (is_tls or starttls or is_loopback(url.hostname)):
        raise Invalid(f"{URL} would send a password in the clear; use smtps:// or starttls=required.")
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
    said = parse_qs(query).get("starttls", ["none" if is_loopback(host) else "required"])[-1]
    if said not in ("required", "none"):
        raise Invalid(f"{URL} says starttls={said[:20]}; it takes required or none.")
    return said == "required"


def message(server: MailServer, letter: Letter) -> EmailMessage:
    """The letter as it goes over the wire.

    A header cannot be smuggled in: the library refuses line ends in one, and none is left in the subject.
    """
    made = EmailMessage(policy=policies.SMTP)
    made["From"] = server.sender
    made["To"] = letter.to
    made["Subject"] = one_line(letter.subject)
    made["Date"] = format_datetime(letter.written_at.astimezone(UTC))
    domain = server.sender.rpartition("@")[2]
    made["Message-ID"] = f"<{letter.number}.{letter.written_at.timestamp():.0f}.leaderboard@{domain}>"
    # Asks programs that answer for people, such as holiday notices, not to.
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(letter.body, cte="quoted-printable")
    return made


def one_line(text: str) -> str:
    r"""The text without what could end a header: control characters and line ends become spaces.

    >>> one_line("Late runs\r\nBcc: everybody@example.org")
    'Late runs Bcc: everybody@example.org'
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())[:SUBJECT_CHARACTERS]


def send(server: MailServer, letter: Letter) -> MailResult:
    """Hand a letter over and say what became of it; no error of the server or the network is raised."""
    try:
        with _connected(server) as connection:
            return _handed_over(connection, server, letter)
    except smtplib.SMTPResponseException as error:
        return MailResult(AWAY, _said(error.smtp_code, error.smtp_error))
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return MailResult(AWAY, f"{type(error).__name__}: {error}"[:SAID_CHARACTERS])


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
        # Not quit(): a letter that was taken is not in doubt because the goodbye went wrong.
        connection.close()


def _handed_over(connection: smtplib.SMTP, server: MailServer, letter: Letter) -> MailResult:
    connection.ehlo_or_helo_if_needed()
    code, said = connection.mail(server.sender)
    if code >= 400:
        # The sender is refused, not this reader: nobody's mail goes out until the operator has looked.
        return MailResult(AWAY, _said(code, said))
    code, said = connection.rcpt(letter.to)
    if code >= 400:
        return MailResult(_refused(code, said), _said(code, said))
    try:
        code, said = connection.data(message(server, letter).as_bytes())
    except smtplib.SMTPDataError as error:
        code, said = error.smtp_code, bytes(str(error.smtp_error), "utf-8", "replace")
    if code < 400:
        return MailResult(SENT, _said(code, said))
    return MailResult(AGAIN if code < 500 else FAILED, _said(code, said))


def _refused(code: int, said: bytes) -> str:
    """What a refused address means: 4xx for now, 5.7.x that we may not send there, else no such address.

    >>> _refused(450, b"4.2.0 busy"), _refused(554, b"5.7.1 relay denied"), _refused(550, b"5.1.1 unknown")
    ('again', 'failed', 'bounced')
    """
    if code < 500:
        return AGAIN
    return FAILED if said.lstrip().startswith(b"5.7.") else BOUNCED


def _said(code: int, said: bytes | str) -> str:
    words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return one_line(f"{code} {words}")[:SAID_CHARACTERS]
