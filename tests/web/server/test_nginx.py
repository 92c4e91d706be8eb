"""The proxy configuration of the documentation, with nginx itself where it is installed."""

import http.client
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from leaderboard.application import create_app
from tests import ROOT
from tests.make.people import PASSWORD
from tests.make.servers import HOST, TIMEOUT_S, ending, served
from tests.make.sites import free_port
from tests.web.conftest import Site

pytestmark = pytest.mark.trial

CONFIGURATION = ROOT / "docs" / "nginx.conf"
NAME = "board.example.org"
ADDRESS = f"https://{NAME}"
HALF_OPEN = 200


def _configuration(folder: Path, port: int, upstream: int) -> Path:
    """The documented file, with ports of this test and without TLS, as the whole of nginx's configuration."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    text = re.sub(r"^ *(ssl_\w+ .*|listen 80.*)\n", "", text, flags=re.MULTILINE)
    text = text.replace("listen 443 ssl", f"listen {HOST}:{port}").replace(
        f"{HOST}:8000", f"{HOST}:{upstream}"
    )
    text = text.replace("/var/log/nginx", str(folder))
    # What is left without an address is the way from http to https.
    text = re.sub(r"server \{\n    server_name [^}]*\n\}\n", "", text)
    kept = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    head = f"worker_processes 1;\nuser root;\npid {folder}/pid;\ndaemon off;\nerror_log {folder}/error.log;\n"
    path = folder / "nginx.conf"
    path.write_text(
        f"{head}events {{ worker_connections 4096; }}\nhttp {{\n    access_log off;\n{kept}{text}}}\n"
    )
    return path


@pytest.fixture
def proxied(site: Site, tmp_path: Path) -> Iterator[int]:
    """The port of nginx in front of the site's server; skips where nginx is not installed."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    app = create_app(replace(site.settings, public_url=ADDRESS), site.database)
    with served(app, replace(site.settings, public_url=ADDRESS)) as running:
        port = free_port()
        path = _configuration(tmp_path, port, running.port)
        process = subprocess.Popen([nginx, "-e", str(tmp_path / "error.log"), "-c", str(path)])
        try:
            _wait_for(port, process)
            yield port
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if not probe.connect_ex((HOST, port)):
                return
        time.sleep(0.05)
    raise AssertionError("nginx did not start")


def _ask(port: int, method: str, path: str, body: str = "", **headers: str) -> http.client.HTTPResponse:
    client = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
    with closing(client):
        client.request(method, path, body, {"Host": NAME, **headers})
        answer = client.getresponse()
        answer.read()
        return answer


def test_the_site_works_behind_nginx(proxied: int) -> None:
    """Pages come with HSTS, forms are the site's own, cookies are locked down, other names get nothing."""
    page = _ask(proxied, "GET", "/tasks/robots")
    assert page.status == 200
    assert "max-age" in (page.getheader("Strict-Transport-Security") or "")
    form = {"Origin": ADDRESS, "Content-Type": "application/x-www-form-urlencoded"}
    made = _ask(proxied, "POST", "/sign-up", f"name=Newcomer&password={PASSWORD}", **form)
    assert made.status == 303
    assert (made.getheader("Set-Cookie") or "").startswith("__Host-session=")
    with pytest.raises(http.client.RemoteDisconnected):
        _ask(proxied, "GET", "/", Host="evil.example")


@pytest.mark.parametrize("before", ["/sign-in/", "/JUDGE//", "/join/", "/tasks/robots/revisions/drafts/"])
def test_the_log_of_nginx_holds_no_secret(proxied: int, tmp_path: Path, before: str) -> None:
    """Links that stand for somebody are masked, and queries and referrers are not written."""
    _ask(proxied, "GET", f"{before}SECRET/1?again=SECRET", Referer=f"{ADDRESS}{before}SECRET")
    until, text = time.monotonic() + TIMEOUT_S, ""
    while not text and time.monotonic() < until:
        text = (tmp_path / "leaderboard.log").read_text(encoding="utf-8")
    assert f'"{before}<token>/1"'.replace("//", "/") in text
    assert "SECRET" not in text


def test_half_open_connections_stop_nobody_behind_nginx(proxied: int) -> None:
    """While hundreds of headers are half sent, a page still comes."""
    opened = []
    for _ in range(HALF_OPEN):
        opened.append(socket.create_connection((HOST, proxied), TIMEOUT_S))
        opened[-1].sendall(f"GET / HTTP/1.1\r\nHost: {NAME}\r\nX-Half".encode())
    assert _ask(proxied, "GET", "/tasks/robots").status == 200
    for connection in opened:
        connection.close()


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/tasks/robots/submit", 401)])
def test_bodies_of_visitors_are_refused_behind_nginx(
    proxied: int, tmp_path: Path, path: str, status: int
) -> None:
    """The site's refusal comes through while the body is still being sent, and nothing of it is kept."""
    with socket.create_connection((HOST, proxied), TIMEOUT_S) as sending:
        sending.sendall(
            f"POST {path} HTTP/1.1\r\nHost: {NAME}\r\nOrigin: {ADDRESS}\r\nAccept: application/json\r\n"
            f"Content-Length: {2**31}\r\n\r\n".encode()
        )
        sending.sendall(bytes(2**20))
        assert sending.recv(65536).startswith(f"HTTP/1.1 {status} ".encode())
        sending.shutdown(socket.SHUT_WR)
        ending(sending)
    assert [file for file in (tmp_path / "client_body").rglob("*") if file.is_file()] == []
