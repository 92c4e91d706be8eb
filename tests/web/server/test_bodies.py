"""Bodies of requests: taken only where route, session and size allow it, and known before a byte is kept."""

import gzip
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest
from waitress.buffers import TempfileBasedBuffer

from leaderboard import server
from leaderboard.errors import Busy
from leaderboard.server import OpenBodies, OpenBody
from leaderboard.web.http import MAX_FIELDS
from tests.make import pages
from tests.make.apps import application
from tests.make.servers import ending, served
from tests.make.worlds import RUN
from tests.web.conftest import Site, enter

MEGABYTE = 2**20
OURS = {"Sec-Fetch-Site": "same-origin", "Accept": "application/json"}
SUBMIT = "/tasks/robots/submit"


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every temporary file in which the server keeps a body."""
    made: list[Any] = []
    original = TempfileBasedBuffer.newfile

    def newfile(self: TempfileBasedBuffer) -> Any:
        made.append(original(self))
        return made[-1]

    monkeypatch.setattr(TempfileBasedBuffer, "newfile", newfile)
    return made


def _cookie(site: Site, name: str) -> dict[str, str]:
    cookie = site.browser(name).get_cookie("session")
    assert cookie is not None
    return {"Cookie": f"session={cookie.value}"}


@pytest.mark.parametrize(
    ("path", "who", "size", "status"),
    [
        ("/nowhere", None, "2147483648", 404),
        ("/tasks/robots", None, "2147483648", 405),
        (SUBMIT, None, "2147483648", 401),
        (SUBMIT, None, "100", 401),
        (SUBMIT, None, "chunked", 401),
        (SUBMIT, "forged", "2147483648", 401),
        (SUBMIT, "Berta", "2147483648", 413),
        ("/teams", "Berta", "2147483648", 413),
        ("/tasks/new", "Berta", "2147483648", 403),
        ("/sign-in", None, "2147483648", 413),
        ("/api/v1/judge/x/pools/1/topics/1", None, "2147483648", 413),
    ],
)
def test_no_body_is_kept_that_may_not_come(
    site: Site, files: list[Any], path: str, who: str | None, size: str, status: int
) -> None:
    """The answer comes by the header alone, whatever is still sent, and no file is made."""
    head = [f"POST {path} HTTP/1.1", "Host: localhost", *(f"{name}: {text}" for name, text in OURS.items())]
    if who is not None:
        cookie = {"Cookie": "session=forged"} if who == "forged" else _cookie(site, who)
        head.append(f"Cookie: {cookie['Cookie']}")
    head.append("Transfer-Encoding: chunked" if size == "chunked" else f"Content-Length: {size}")
    with served(site.app, site.settings) as running, running.connect() as sending:
        sending.sendall("\r\n".join((*head, "", "")).encode())
        sending.sendall(bytes(MEGABYTE))
        sending.shutdown(socket.SHUT_WR)
        answer = ending(sending)
        assert len(running.server.door.bodies) == 0
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close" in answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert files == []


def test_a_body_without_length_ends_at_the_limit(site: Site, files: list[Any]) -> None:
    """Chunks at an address for everybody are taken up to the limit of visitors, in memory."""
    with served(site.app, site.settings) as running, running.connect() as sending:
        sending.sendall(
            b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
            b"Accept: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        sending.sendall(b"40000\r\n" + bytes(0x40000) + b"\r\n0\r\n\r\n")
        sending.shutdown(socket.SHUT_WR)
        assert ending(sending).startswith(b"HTTP/1.1 413 ")
    assert files == []


def test_forms_of_visitors_are_taken(site: Site) -> None:
    """Signing in works with and without a length."""
    form = {**OURS, "Content-Type": "application/x-www-form-urlencoded"}
    with served(site.app, site.settings) as running:
        body = b"name=nobody&password=wrong-as-can-be"
        assert running.status("/sign-in", "POST", body=body, headers=form) == 422
        assert running.status("/sign-in", "POST", body=iter([body]), headers=form, encode_chunked=True) == 422


def _upload(site: Site, text: bytes, name: str = "mine.run") -> tuple[bytes, dict[str, str]]:
    """Body and headers of the form that sends a run."""
    form = {**pages.form(site.browser("Berta").get(SUBMIT), SUBMIT), "name": "served"}
    parts = [f'name="{key}"\r\n\r\n{value}'.encode() for key, value in form.items()]
    parts.append(f'name="file"; filename="{name}"\r\n\r\n'.encode() + text)
    body = b"".join(b"--xx\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts)
    headers = {**OURS, **_cookie(site, "Berta"), "Content-Type": "multipart/form-data; boundary=xx"}
    return body + b"--xx--\r\n", headers


@pytest.mark.parametrize("has_length", [True, False])
def test_an_upload_comes_in_whole(site: Site, files: list[Any], has_length: bool) -> None:
    """A file of a member is kept in a file, checked, and nothing of it stays."""
    body, headers = _upload(site, b"# padding\n" * 200_000 + RUN.encode())
    sent = body if has_length else iter([body])
    with served(site.app, site.settings) as running:
        status = running.status(SUBMIT, "POST", body=sent, headers=headers, encode_chunked=not has_length)
    assert len(running.server.door.bodies) == 0
    assert (status, len(files)) == (201, 1)
    assert files[0].closed
    assert list((site.settings.data / "tmp").iterdir()) == []


def test_who_asks_before_sending_is_answered(site: Site) -> None:
    """Expect: 100-continue is answered once the session is known; a visitor gets the refusal instead."""
    body, headers = _upload(site, b"# padding\n" * 20_000 + RUN.encode())
    head = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    asked = f"POST {SUBMIT} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nConnection: close\r\n"
    length = f"Content-Length: {len(body)}\r\n"
    with served(site.app, site.settings) as running:
        with running.connect() as sending:
            sending.sendall(f"{asked}{length}{head}\r\n".encode())
            assert sending.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
            sending.sendall(body)
            assert ending(sending).startswith(b"HTTP/1.1 201 ")
        with running.connect() as sending:
            sending.sendall(f"{asked}{length}Accept: application/json\r\nOrigin: null\r\n\r\n".encode())
            sending.shutdown(socket.SHUT_WR)
            assert ending(sending).startswith(b"HTTP/1.1 403 ")


def test_many_open_bodies_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where as many bodies are open as may be, the next one is told to wait; a page still comes."""
    monkeypatch.setattr(server, "OF_ONE_OWNER", 1)
    body, headers = _upload(site, bytes(2 * MEGABYTE))
    with served(site.app, site.settings) as running, running.connect() as first:
        head = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
        first.sendall(
            f"POST {SUBMIT} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            f"Content-Length: {len(body)}\r\n{head}\r\n".encode()
        )
        assert first.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        second = running.client()
        second.request("POST", SUBMIT, body, headers)
        answer = second.getresponse()
        assert (answer.status, answer.getheader("Retry-After")) == (503, "30")
        second.close()
        assert running.status("/tasks/robots") == 200


def test_two_threads_send_nothing_twice(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop writes at the moment in which the thread that asked the gate lets a body in."""
    body, headers = _upload(site, bytes(2 * MEGABYTE))
    original, loops = server.SiteChannel.send, list[threading.Thread]()

    def send(self: server.SiteChannel, data: bytes, do_close: bool = True) -> int:
        if data.startswith(b"HTTP/1.1 100") and not loops:
            loops.append(threading.Thread(target=self.handle_write))
            loops[0].start()
            loops[0].join(0.2)
        return int(original(self, data, do_close))

    monkeypatch.setattr(server.SiteChannel, "send", send)
    with served(site.app, site.settings) as running, running.connect() as client:
        head = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
        client.sendall(
            f"POST {SUBMIT} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            f"Content-Length: {len(body)}\r\n{head}\r\n".encode()
        )
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        loops[0].join()
        client.sendall(body)
        assert client.recv(65536).startswith(b"HTTP/1.1 201")


def test_open_bodies_have_a_number_and_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account has a few bodies and an eighth of the room, all together their number and their sum."""
    monkeypatch.setattr(server, "LARGE_BODIES", 9)
    bodies = OpenBodies(room=800)
    first = OpenBody(90, "a")
    bodies.add(first)
    with pytest.raises(Busy, match="Your account"):
        bodies.add(OpenBody(11, "a"))
    bodies.add(OpenBody(700, "b"))
    with pytest.raises(Busy, match="Too many files"):
        bodies.add(OpenBody(11, "c"))
    bodies.remove(first)
    for owner in "cdefghij":
        bodies.add(OpenBody(1, owner))
    with pytest.raises(Busy, match="Too many files"):
        bodies.add(OpenBody(1, "k"))
    bodies.add(OpenBody(server.SMALL_BODIES))
    with pytest.raises(Busy, match="forms"):
        bodies.add(OpenBody(1))


def test_forms_have_a_largest_number_of_fields(site: Site) -> None:
    """A form of very many fields is refused before they are looked at."""
    fields = "&".join("a" for _ in range(MAX_FIELDS + 1))
    client = site.browser("Berta")
    form = "application/x-www-form-urlencoded"
    assert client.post("/teams", data=fields, content_type=form).status_code == 413
    assert client.post("/teams", data="name=Owls", content_type=form).status_code == 409


def test_compressed_uploads_are_measured_plain(site: Site) -> None:
    """A file that is small as sent and long when decompressed is the evaluator's to check."""
    small = replace(site.settings, inline_bytes=MEGABYTE)
    text = gzip.compress("".join(f"# {line}\n" for line in range(200_000)).encode() + RUN.encode())
    assert len(text) < MEGABYTE
    body, headers = _upload(site, text, "mine.gz")
    del headers["Cookie"]
    client = application(small, site.database).test_client()
    enter(site.database, client, "Berta")
    answer = client.post(SUBMIT, data=body, headers=headers)
    assert (answer.status_code, answer.json["state"] if answer.json else "") == (201, "received")
