"""Where one request ends and the next begins: nobody hides a request in another one's body."""

import pytest

from leaderboard.web.http import HEADERS
from tests.make.servers import ending, served
from tests.web.conftest import Site

HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def _answers(site: Site, sent: bytes) -> bytes:
    with served(site.app, site.settings) as running, running.connect() as connection:
        connection.sendall(sent)
        return ending(connection)


def test_a_length_beside_chunks_is_refused(site: Site) -> None:
    """400 and the end of the connection, as RFC 9112 6.1 allows: a second request on it gets no answer."""
    inside = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)
    head = b"POST /sign-out HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    both = b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
    answers = _answers(site, head + both + inside + HIDDEN)
    assert answers.startswith(b"HTTP/1.0 400 Bad Request\r\nConnection: close\r\n")
    assert answers.count(b"HTTP/1.") == 1
    assert b"Transfer-Encoding and Content-Length exclude each other." in answers


@pytest.mark.parametrize("chunk", [b"+5\r\nabcde", b"0x5\r\nabcde", b"-1\r\n", b"5\nabcde", b"5 \r\nabcdeX"])
def test_a_chunk_without_a_plain_size_ends_the_connection(site: Site, chunk: bytes) -> None:
    """One refusal; nothing after it is read as a request."""
    head = b"POST /sign-out HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
    answers = _answers(site, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"\r\n0\r\n\r\n" + HIDDEN)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("version", [b" HTTP/1.0", b" HTTP/1.0 ", b" HTTP/1.2", b" HTTP/2.0", b""])
def test_chunks_in_another_version_are_refused(site: Site, version: bytes) -> None:
    """Those versions have none, so a proxy would take them for the next request."""
    head = b"POST /sign-out" + version + b"\r\nHost: localhost\r\nConnection: keep-alive\r\n"
    answers = _answers(site, head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN)
    assert answers.startswith(b"HTTP/1.0 400 ")
    assert b'"status"' not in answers


@pytest.mark.parametrize(
    "lines",
    [b"", b"X-Host: localhost\r\n", b"Host: a b\r\n", b"Host: a/b\r\n", b"Host: a@b\r\n", b"Host: a:b\r\n"],
)
def test_a_request_that_does_not_say_its_host_ends_the_connection(site: Site, lines: bytes) -> None:
    """400 by RFC 9112, 3.2: proxies send such requests on to different places."""
    answers = _answers(site, b"GET /healthz HTTP/1.1\r\n" + lines + b"\r\n" + HIDDEN)
    assert answers.startswith(b"HTTP/1.0 400 Bad Request\r\nConnection: close\r\n")
    assert answers.count(b"HTTP/1.") == 1
    assert b"Host must be " in answers


@pytest.mark.parametrize(
    "host", [b"Host: localhost:8000", b"Host: 127.0.0.1", b"Host: [::1]:8000", b"HOST:LOCALHOST"]
)
def test_a_host_is_a_name_or_an_address(site: Site, host: bytes) -> None:
    """With or without a port, in whatever letters; HTTP/1.0 may leave it out."""
    end = b"\r\nConnection: close\r\n\r\n"
    assert _answers(site, b"GET /healthz HTTP/1.1\r\n" + host + end).startswith(b"HTTP/1.1 200 ")
    assert _answers(site, b"GET /healthz HTTP/1.0\r\nX: y" + end).startswith(b"HTTP/1.0 200 ")


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 5, 5\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Broken\x00: 1\r\n",
        b"X: 1\r\n folded\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: ,\r\n",
        b"Transfer-Encoding:\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n",
        b"Content-Length : 5\r\n",
        b"Host: other.example\r\n",
        b"X: 1\nContent-Length: 5\r\n",
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
