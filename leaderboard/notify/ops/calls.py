"""A request to a webhook's address: only to allowed networks, and never following a redirect.

No database here. Anyone who makes a webhook chooses where this site connects to, so the address is looked up
once, checked, and the connection made to the very address that was checked: a name resolved again may have
another address by then.
"""

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from leaderboard import __version__
from leaderboard.errors import Invalid, Problem

WAIT_S = 15.0
"""Time limit of one attempt: lookup, connection, request and response together."""
SLOW_WAIT_S = 5.0
"""The same after an attempt that took as long: a slow listener holds a place for less time."""
READ_BYTES = 4096
"""Bytes read of a response; only its beginning is shown."""
RESPONSE_CHARACTERS = 200
MOST_ADDRESSES = 4
"""Addresses of one name, tried one after the other."""
ADDRESS_CHARACTERS = 500
TAKEN, REFUSED, GONE = "taken", "refused", "gone"
"""Outcome of a request: a 2xx; anything else; 410, after which nothing more is sent there."""
NOT_SENT = "Not sent: the address leads into a private network, or is not https."
PUBLIC_V6 = ip_network("2000::/3")
SIX_TO_FOUR = ip_network("2002::/16")
HOSTS_OF_CLOUDS = (ip_network("168.63.129.16/32"), ip_network("192.0.0.0/24"))
"""Addresses of the hosts of Azure and Oracle, which serve secrets; they do not look private."""

Address = IPv4Address | IPv6Address
Networks = Sequence[IPv4Network | IPv6Network]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """A request: content, address and time limit.

    headers: of the signature; page: the webhook's own.
    """

    webhook_id: int
    delivery_id: int
    page: str
    address: str
    headers: Mapping[str, str]
    body: bytes
    wait_s: float = WAIT_S


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """Outcome of a request: status None without a response, then text gives the reason."""

    state: str
    status: int | None
    milliseconds: int
    text: str


class _NotAllowedError(Exception):
    """The address is not allowed for a webhook."""


def networks(text: str) -> Networks:
    """The networks of a setting, separated by commas; raises Invalid for other texts."""
    try:
        return [ip_network(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise Invalid(f"LEADERBOARD_WEBHOOK_NETWORKS: {error}; use a form like 10.1.0.0/16.") from None


def is_allowed(address: Address, allowed: Networks = (), *, is_tls: bool = True) -> bool:
    """Whether a webhook may use an address: a public one by TLS, or one in a network that is allowed.

    >>> [is_allowed(ip_address(text)) for text in ("8.8.8.8", "10.0.0.1", "::ffff:127.0.0.1")]
    [True, False, False]
    """
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if any(address in network for network in allowed):
        return True
    if not is_tls:
        return False
    if isinstance(address, IPv6Address) and (address not in PUBLIC_V6 or address in SIX_TO_FOUR):
        # Other ranges contain addresses that represent IPv4 ones, such as 64:ff9b::/96; 2002::/16 does, too.
        return False
    is_cloud = any(address in network for network in HOSTS_OF_CLOUDS)
    return address.is_global and not address.is_multicast and not is_cloud


def checked_address(text: str, allowed: Networks) -> str:
    """The normalised address of a webhook; raises Invalid if no delivery could ever go there.

    The address of its name is checked before each attempt, not here: that may change any day.
    """
    text = text.strip()
    why = _why_not(text, allowed)
    if why:
        remedy = "Use an address such as https://example.org/hooks/leaderboard."
        problem = Problem(why, remedy, field="address", value=text[:80])
        raise Invalid(f"This address cannot be used for a webhook: it {why}", [problem])
    return text


def _why_not(text: str, allowed: Networks) -> str:
    if len(text) > ADDRESS_CHARACTERS or not text.isascii() or not text.isprintable() or " " in text:
        return f"must be at most {ADDRESS_CHARACTERS} ASCII characters, without spaces."
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return "cannot be read."
    if url.scheme != "https" and not (url.scheme == "http" and allowed):
        return "must begin with https://."
    if not url.hostname or port == 0 or url.username is not None or url.fragment:
        return "must contain a host, and no user name or fragment."
    try:
        literal = ip_address(url.hostname)
    except ValueError:
        return ""
    is_tls = url.scheme == "https"
    return "" if is_allowed(literal, allowed, is_tls=is_tls) else "is in a private network."


def post(request: WebhookRequest, allowed: Networks) -> WebhookAnswer:
    """Send a request and return the response; no error of the network or the other side is raised."""
    started = time.monotonic()
    status: int | None = None
    try:
        status, text = _exchange(request, allowed)
    except (OSError, HTTPException, ValueError, _NotAllowedError) as error:
        text = str(error) or type(error).__name__
    spent = time.monotonic() - started
    if status is None and spent >= request.wait_s:
        text = f"No answer within {request.wait_s:.0f} seconds."
    state = GONE if status == 410 else TAKEN if status is not None and 200 <= status < 300 else REFUSED
    return WebhookAnswer(state, status, round(spent * 1000), _shown(text))


def _shown(text: str) -> str:
    """The beginning of a text in one line, without unprintable characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())[:RESPONSE_CHARACTERS]


def _exchange(request: WebhookRequest, allowed: Networks) -> tuple[int, str]:
    url = urlsplit(request.address)
    ends = time.monotonic() + request.wait_s
    with _connected(url, allowed, ends) as connection:
        path = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}"
        agent = f"ir-leaderboard/{__version__}"
        headers = {"Content-Type": "application/json", "User-Agent": agent, "Connection": "close"}
        connection.request("POST", path, request.body, {**headers, **request.headers})
        answer = connection.getresponse()
        try:
            body = answer.read(READ_BYTES).decode("utf-8", "replace")
        except (OSError, HTTPException):
            # The status is what counts; the text after it was cut off, or came too slowly.
            body = ""
        return answer.status, body


@contextmanager
def _connected(url: SplitResult, allowed: Networks, ends: float) -> Iterator[HTTPConnection]:
    """A connection to an address that was checked, cut when the time is over."""
    is_tls = url.scheme == "https"
    host = url.hostname or ""
    port = url.port or (443 if is_tls else 80)
    plain = _reached(_checked(host, port, is_tls, allowed), port, ends)
    sock = _wrapped(plain, host) if is_tls else plain
    # A peer that sends a byte now and then never runs into the timeout of a read.
    clock = threading.Timer(max(0.0, ends - time.monotonic()), _cut, (sock,))
    clock.daemon = True
    clock.start()
    try:
        if isinstance(sock, ssl.SSLSocket):
            sock.do_handshake()
        connection = HTTPConnection(host, port)
        # The Host header includes the port unless it is this one.
        connection.default_port = 443 if is_tls else 80
        connection.sock = sock
        # It would reconnect and resolve the name again, possibly to another address.
        connection.auto_open = 0
        yield connection
    finally:
        clock.cancel()
        sock.close()


def _reached(addresses: Sequence[Address], port: int, ends: float) -> socket.socket:
    """A connection to the first address that accepts one: often not all of a name's work."""
    for number, address in enumerate(addresses, start=1):
        # Half of the remaining time, so that a silent address leaves time for the next.
        left_s = max(0.1, ends - time.monotonic()) / (1 if number == len(addresses) else 2)
        try:
            connection = socket.create_connection((str(address), port), left_s)
        except OSError:
            if number == len(addresses):
                raise
        else:
            connection.settimeout(max(0.1, ends - time.monotonic()))
            return connection
    raise OSError("The name has no address.")


def _wrapped(plain: socket.socket, host: str) -> ssl.SSLSocket:
    try:
        context = ssl.create_default_context()
        # The certificate has to be for the name, regardless of the address.
        return context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    except BaseException:
        plain.close()
        raise


def _cut(sock: socket.socket) -> None:
    try:
        # Not the method of a TLS socket: that changes what the thread that reads is working with.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return


def _checked(host: str, port: int, is_tls: bool, allowed: Networks) -> list[Address]:
    """The addresses of a host; none where any of them is not allowed."""
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
    if not all(is_allowed(address, allowed, is_tls=is_tls) for address in addresses):
        raise _NotAllowedError(NOT_SENT)
    return addresses[:MOST_ADDRESSES]
