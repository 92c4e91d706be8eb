"""Requests to webhooks: only where strangers may send this site, signed, never longer than they may take."""

import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook as Oracle
from standardwebhooks.webhooks import WebhookVerificationError

from leaderboard.errors import Invalid
from leaderboard.notify.ops import calls, webhooks
from leaderboard.notify.ops.calls import GONE, REFUSED, TAKEN, WebhookRequest
from tests import ROOT
from tests.make.receivers import NETWORK, Receiver, receiver

LOCAL = calls.networks(NETWORK)
PRIVATE = (
    *("127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254"),
    *("192.0.0.192", "168.63.129.16", "100.100.100.200", "198.18.0.1", "224.0.0.1", "239.1.1.1"),
    *("240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "fc00::1"),
    *("fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"),
)
PUBLIC = ("8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001::1")
BAD_ADDRESSES = (
    *("", "example.org", "ftp://example.org", "http://example.org/", "https://", "https:///path"),
    *("https://user@example.org", "https://u:p@example.org/", "https://example.org/#part"),
    *("https://example.org:0/", "https://example.org:99999/", "https://[::1", "https://exämple.org/"),
    *("https://example.org/a b", "https://example.org/\r\nHost: x", "https://127.0.0.1/", "https://[::1]/"),
    *("https://169.254.169.254/latest", f"https://example.org/{'a' * 500}"),
)


@pytest.fixture
def received() -> Iterator[Receiver]:
    """A server on this machine."""
    with receiver() as made:
        yield made


def _request(address: str) -> WebhookRequest:
    return WebhookRequest(
        webhook_id=1, delivery_id=1, page="", address=address, headers={"webhook-id": "m"}, body=b"{}"
    )


def _resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let names lead to these addresses, the later ones when they are looked up again; the names asked."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *args: object, **more: object) -> object:
        try:
            ip_address(host)
        except ValueError:
            asked.append(host)
            host = addresses[min(len(asked), len(addresses)) - 1]
        return real(host, port, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def test_which_addresses_may_be_reached() -> None:
    """Public ones alone, whatever form a private one has; with a network that is allowed, that one too."""
    wrong = [text for text in PRIVATE if calls.is_allowed(ip_address(text))]
    wrong += [text for text in PUBLIC if not calls.is_allowed(ip_address(text))]
    wrong += [text for text in PUBLIC if calls.is_allowed(ip_address(text), LOCAL, is_tls=False)]
    allowed = [text for text in PRIVATE if calls.is_allowed(ip_address(text), LOCAL, is_tls=False)]
    assert (wrong, allowed) == ([], ["127.0.0.1", "::ffff:127.0.0.1"])


def test_which_addresses_are_kept() -> None:
    """What no delivery would ever go to is refused when it is typed."""
    taken = []
    for text in BAD_ADDRESSES:
        try:
            taken.append(calls.checked_address(text, ()))
        except Invalid:
            continue
    assert taken == []
    assert calls.checked_address(" https://example.org:8443/a?b=c ", ()) == "https://example.org:8443/a?b=c"
    assert calls.checked_address("http://127.0.0.1/", LOCAL) == "http://127.0.0.1/"
    with pytest.raises(Invalid, match="LEADERBOARD_WEBHOOK_NETWORKS"):
        calls.networks("10.0.0.1/8")


def test_a_private_address_behind_a_name_gets_nothing(
    received: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them, over http and https, is refused after it was looked up, and nothing is connected to."""
    connected = []
    monkeypatch.setattr(socket, "create_connection", lambda *given, **_: connected.append(given))
    for scheme, address in [("https", text) for text in PRIVATE] + [("http", text) for text in PUBLIC]:
        _resolve_to(monkeypatch, address)
        answer = calls.post(_request(f"{scheme}://inside.example:{received.port}/"), ())
        assert (answer.state, answer.status, answer.text) == (REFUSED, None, calls.NOT_SENT), address
    assert (connected, received.taken) == ([], [])


def test_the_address_that_was_checked_is_the_one_connected_to(
    received: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that leads elsewhere when it is looked up again is looked up once; Host names it."""
    asked = _resolve_to(monkeypatch, "127.0.0.1", "10.9.9.9")
    answer = calls.post(_request(received.address("rebinds.example", "/hook?a=b")), LOCAL)
    assert (answer.state, answer.status, asked) == (TAKEN, 204, ["rebinds.example"])
    ((path, headers, body),) = received.taken
    assert (path, headers["host"], body) == ("/hook?a=b", f"rebinds.example:{received.port}", b"{}")
    assert (headers["content-type"], headers["webhook-id"]) == ("application/json", "m")
    assert headers["user-agent"].startswith("ir-leaderboard/")


def test_an_address_that_is_dead_gives_way_to_the_next(
    received: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a name with several; one private address among public ones is enough to send nothing."""
    real = socket.getaddrinfo

    def both(host: str, *rest: Any, **more: Any) -> Any:
        if host != "two.example":
            return real(host, *rest, **more)
        return [row for text in ("127.0.0.2", "127.0.0.1") for row in real(text, *rest, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert calls.post(_request(received.address("two.example")), LOCAL).status == 204
    one_alone = calls.networks("127.0.0.2/32")
    assert calls.post(_request(received.address("two.example")), one_alone).text == calls.NOT_SENT
    assert len(received.taken) == 1


def test_what_answers_mean(received: Receiver) -> None:
    """2xx is taken, 410 ends it, all else is tried again; a redirect is not followed; text is made plain."""
    cases = (
        (200, {}, b"thanks", TAKEN, "thanks"),
        (299, {}, b"", TAKEN, ""),
        (301, {"Location": received.address(path="/other")}, b"moved", REFUSED, "moved"),
        (404, {}, "\x1b[31m<b>nö\r\n".encode(), REFUSED, "[31m<b>nö"),
        (410, {}, b"", GONE, ""),
        (500, {}, b"x" * 10_000_000, REFUSED, "x" * 200),
        (500, {}, b"\xff\xfe", REFUSED, "��"),
    )
    for status, headers, body, state, said in cases:
        received.answers = [(status, headers, body)]
        answer = calls.post(_request(received.address()), LOCAL)
        assert (answer.state, answer.status, answer.text) == (state, status, said)
        assert 0 <= answer.milliseconds < 5000
    assert {path for path, _, _ in received.taken} == {"/hook"}


@pytest.mark.parametrize("sends", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\n\r\nslow"])
def test_an_answer_that_comes_byte_by_byte_is_cut_off(sends: bytes) -> None:
    """All of an attempt together takes no longer than it may; a status that was read counts."""
    listening = socket.create_server(("127.0.0.1", 0))

    def dribble() -> None:
        peer, _ = listening.accept()
        with peer:
            peer.settimeout(0.05)
            try:
                peer.sendall(sends)
                while True:
                    try:
                        if not peer.recv(1000):
                            return
                    except TimeoutError:
                        peer.sendall(b"x" if sends else b"")
            except OSError:
                return

    thread = Thread(target=dribble, daemon=True)
    thread.start()
    slow = replace(_request(f"http://127.0.0.1:{listening.getsockname()[1]}/"), wait_s=0.3)
    answer = calls.post(slow, LOCAL)
    thread.join()
    listening.close()
    assert 250 <= answer.milliseconds < 1500
    if sends.endswith(b"slow"):
        assert (answer.state, answer.status) == (TAKEN, 200)
    else:
        assert (answer.state, answer.status, answer.text) == (REFUSED, None, "No answer within 0 seconds.")


def test_failures_are_told_in_words(received: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens, the name is none, the answer is no HTTP: no error leaves the call."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert "refused" in calls.post(_request(f"http://127.0.0.1:{port}/"), LOCAL).text

    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    answer = calls.post(_request("https://nowhere.example/"), ())
    assert (answer.state, answer.status) == (REFUSED, None)
    assert "not known" in answer.text


def test_the_certificate_is_for_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS asks for the name of the address, whatever it led to, and trusts nobody but known authorities."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    named = ["-subj", "/CN=hooks.example", "-addext", "subjectAltName=DNS:hooks.example", "-days", "2"]
    subprocess.run([*made, "-keyout", key, "-out", certificate, *named], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]

    def serve() -> None:
        for _ in range(3):
            peer, _address = listening.accept()
            try:
                with context.wrap_socket(peer, server_side=True) as held:
                    read = b""
                    while not read.endswith(b"{}"):
                        read += held.recv(10_000)
                    held.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            except OSError:
                continue

    thread = Thread(target=serve, daemon=True)
    thread.start()
    _resolve_to(monkeypatch, "127.0.0.1")
    real = ssl.create_default_context
    answers = [calls.post(_request(f"https://hooks.example:{port}/"), LOCAL)]
    monkeypatch.setattr(ssl, "create_default_context", lambda: real(cafile=str(certificate)))
    answers += [calls.post(_request(f"https://{name}.example:{port}/"), LOCAL) for name in ("hooks", "other")]
    thread.join()
    listening.close()
    assert [answer.status for answer in answers] == [None, 204, None], answers
    assert "certificate verify failed" in answers[0].text
    assert "other.example" in answers[2].text


def test_the_example_of_the_page_checks_signatures() -> None:
    """The function that docs/api.md shows takes what is sent, and nothing that was changed or kept."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text(), re.S)
    (code,) = (block for block in blocks if "is_genuine" in block)
    shown: dict[str, Any] = {}
    exec(code, shown)
    is_genuine = shown["is_genuine"]
    old, new = webhooks.new_secret(), webhooks.new_secret()
    headers = webhooks.headers("msg_1", datetime.now(UTC), b"{}", (new, old))
    assert is_genuine(old, headers, b"{}")
    assert is_genuine(new, headers, b"{}")
    long_ago = webhooks.headers("msg_1", datetime.now(UTC) - timedelta(minutes=6), b"{}", (new,))
    cases = ((webhooks.new_secret(), headers, b"{}"), (new, headers, b"{ }"), (new, long_ago, b"{}"))
    assert not [case for case in cases if is_genuine(*case)]


def test_signatures_are_those_of_the_standard() -> None:
    """The reference library takes them by either secret while one takes over, and no others."""
    old, new, strange = (webhooks.new_secret() for _ in range(3))
    body = '{"type":"run.accepted","data":{"name":"nö"}}'.encode()
    headers = webhooks.headers("msg_1", datetime.now(UTC), body, (new, old))
    for secret in (old, new):
        assert Oracle(secret).verify(body, headers)["type"] == "run.accepted"
    refused = [
        (Oracle(strange), body, headers),
        (Oracle(new), body + b" ", headers),
        (Oracle(new), body, {**headers, "webhook-id": "msg_2"}),
        (Oracle(new), body, {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}),
    ]
    for oracle, sent, told in refused:
        with pytest.raises(WebhookVerificationError):
            oracle.verify(sent, told)
    assert headers["webhook-signature"].count("v1,") == 2
