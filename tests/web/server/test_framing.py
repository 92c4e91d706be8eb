"""Where one request ends and the next begins: nobody hides a request in another one's body."""

import pytest

from leaderboard.web.security import HEADERS
from tests.make.servers import ending, served
from tests.web.conftest import Site

HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def _answers(site: Site, sent: bytes) -> bytes:
    with served(site.app, site.settings) as running, running.connect() as connection:
        connection.sendall(sent)
        return ending(connection)


def test_a_length_beside_chunks_is_passed_over(site: Site) -> None:
    """Chunks say where the body ends: what follows them is the next request, what is in them is none."""
    inside = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)
    head = b"POST /sign-out HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    both = b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
    answers = _answers(site, head + both + inside + HIDDEN)
    assert answers.count(b"HTTP/1.1 ") == 2
    assert answers.count(b'"status"') == 1


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 5, 5\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Broken\x00: 1\r\n",
        b"X: 1\r\n folded\r\nY\r\n",
    ],
)
def test_a_header_that_can_be_read_in_two_ways_ends_the_connection(site: Site, lines: bytes) -> None:
    """One refusal with the headers of every answer, and nothing after it is read as a request."""
    head = b"POST /sign-out HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    answers = _answers(site, head + lines + b"\r\n" + HIDDEN)
    assert answers.count(b"HTTP/1.") == 1
    assert answers.split()[1] in (b"400", b"413", b"501")
    for name, value in HEADERS.items():
        assert f"{name}: {value}".encode() in answers, name
