"""What every request and response is protected by."""

import io
import random
import re
from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.application import create_app
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import WebSession
from leaderboard.settings import Settings
from leaderboard.web.filters import render
from leaderboard.web.http import POLICY, local_path
from tests.make import pages
from tests.make.loops import some
from tests.make.people import PASSWORD
from tests.make.worlds import RUN
from tests.web.conftest import Site, browser


def test_the_policy_allows_nothing_inline_or_foreign() -> None:
    """The policy starts from nothing, and names neither unsafe- nor another host."""
    assert POLICY.startswith("default-src 'none'")
    assert {"object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(POLICY.split("; "))
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_signed_in_pages_are_not_stored(site: Site) -> None:
    """No cache keeps what a signed-in viewer sees, and caches know that the cookie matters."""
    response = site.browser("Berta").get("/sign-in")
    assert response.headers["Cache-Control"] == "no-store"
    assert "Cookie" in response.vary
    assert "no-store" not in site.browser().get("/sign-in").headers.get("Cache-Control", "")


def test_https_is_pinned_behind_an_https_proxy(settings: Settings, database: Database) -> None:
    """With an https public address HSTS is sent and the cookie gets its locked-down name."""
    app = create_app(_with(settings, public_url="https://lb.example", host="0.0.0.0"), database)
    client = browser(app)
    headers = {"Host": "lb.example", "X-Forwarded-Proto": "https"}
    response = client.get("/sign-in", headers=headers)
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    assert client.get("/sign-in", headers={"Host": "evil.example"}).status_code == 400
    made = client.post("/sign-up", headers=headers, data={"name": "Anna", "password": PASSWORD})
    cookie = made.headers["Set-Cookie"]
    assert cookie.startswith("__Host-session=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(cookie.split("; "))
    assert "Domain" not in cookie


def _with(settings: Settings, **changes: Any) -> Settings:
    return Settings(
        **{**{name: getattr(settings, name) for name in settings.__dataclass_fields__}, **changes}
    )


def test_plain_http_beyond_this_machine_refuses_sign_in(settings: Settings, database: Database) -> None:
    """Over plain http on another address than loopback nobody signs in, unless it is allowed expressly."""
    exposed = browser(create_app(_with(settings, host="0.0.0.0"), database))
    data = {"name": "Anna", "password": PASSWORD}
    for response in (
        exposed.get("/sign-in"),
        exposed.post("/sign-in", data=data),
        exposed.post("/sign-up", data=data),
    ):
        assert response.status_code == 403
        assert "https" in response.text
        assert "Set-Cookie" not in response.headers
    allowed = browser(create_app(_with(settings, host="0.0.0.0", insecure_http=True), database))
    assert allowed.post("/sign-up", data=data).status_code == 303


def test_the_plain_cookie_is_shut_to_scripts(client: FlaskClient) -> None:
    """On loopback the cookie is called session and is HttpOnly and SameSite=Lax."""
    cookie = client.post("/sign-up", data={"name": "Anna", "password": PASSWORD}).headers["Set-Cookie"]
    assert cookie.startswith("session=")
    assert {"HttpOnly", "Path=/", "SameSite=Lax"} <= set(cookie.split("; "))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}, 303),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://localhost"}, 303),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://localhost.evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:81"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 403),
        ({"Origin": "http://localhost"}, 303),
        ({"Origin": "https://localhost"}, 403),
        ({"Origin": "http://localhost:81"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Referer": "http://localhost/teams"}, 403),
        ({}, 403),
    ],
)
def test_changes_come_from_our_own_pages_only(site: Site, headers: dict[str, str], status: int) -> None:
    """A changing request needs Sec-Fetch-Site: same-origin and no foreign Origin, or our own Origin alone."""
    client = site.browser("Nina")
    del client.environ_base["HTTP_SEC_FETCH_SITE"]
    assert client.post("/teams", data={"name": "Foxes"}, headers=headers).status_code == status


def test_reading_needs_no_such_header(site: Site) -> None:
    """A link from elsewhere to a page works."""
    assert site.browser().get("/sign-in", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/runs/9223372036854775808", "/runs/99999999999999999999999", f"/runs/{'9' * 5000}"]
)
def test_ids_beyond_any_database_are_not_found(site: Site, path: str) -> None:
    """An id over 2**63 - 1 is no such address, however long."""
    assert site.browser("Olga").get(path).status_code == 404
    assert site.browser("Olga").get(path.replace("runs", "uploads")).status_code == 404


@pytest.mark.parametrize(
    "request_of",
    [
        {"path": "/tasks/a%00b"},
        {"path": "/sign-in?next=a%00"},
        {"path": "/teams", "method": "POST", "data": {"name": "a\x00b"}},
        {"path": "/teams", "method": "POST", "data": {"na\x00me": "a"}},
        {"path": "/sign-in", "method": "POST", "data": {"name": "\x00", "password": "x"}},
        {"path": "/tasks/robots/submit", "method": "POST", "data": {"file": (io.BytesIO(b"x"), "a\x00b")}},
    ],
)
def test_what_no_database_holds_is_refused(site: Site, request_of: dict[str, Any]) -> None:
    """NUL characters in addresses, fields, field names and file names are refused with 400."""
    assert site.browser("Berta").open(**request_of).status_code == 400


def test_invalid_unicode_is_no_server_error(site: Site) -> None:
    """Bytes that are not UTF-8 and encoded surrogates are answered below 500."""
    client = site.browser("Berta")
    for text in ("%ED%A0%80", "%FF%FE", "%C0%80"):
        assert client.get(f"/tasks/{text}/submit").status_code < 500
        body = f"name={text}"
        form = "application/x-www-form-urlencoded"
        assert client.post("/teams", data=body, content_type=form).status_code < 500


def test_visitors_files_are_not_read(site: Site) -> None:
    """A visitor's upload is refused before its body is looked at."""
    body = {"data": b"--x\r\nthis is no form", "content_type": "multipart/form-data; boundary=x"}
    headers = {"Accept": "application/json"}
    assert site.browser().post("/tasks/robots/submit", headers=headers, **body).status_code == 401


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/tasks/a?sort=-AP", "/tasks/a?sort=-AP"),
        ("", "/"),
        ("//evil.example", "/"),
        ("///evil.example", "/"),
        ("/\\evil.example", "/"),
        ("\\/evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/\tevil", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        (" /a", "/"),
    ],
)
def test_the_way_back_stays_here(target: str, expected: str) -> None:
    """After signing in only a plain path of this site is gone to."""
    assert local_path(target) == expected


def test_the_last_seen_stamp_is_all_a_reader_writes(site: Site) -> None:
    """Opening a page after five minutes renews the session's stamp and is answered as ever."""
    client = site.browser("Nina")
    with site.database.write() as session:
        old = now(session) - timedelta(minutes=6)
        session.execute(update(WebSession).values(seen_at=old))
    assert client.get("/teams").status_code == 200
    with site.database.read() as session:
        assert session.scalars(select(WebSession.seen_at)).one() > old


TELLING = (
    '"><svg onload=alert(1)>',
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
)
"""Of what follows, what gets out of an attribute, a title and a field."""
XSS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><iframe src=javascript:alert(1)>",
    "{{ 7 * 7 }}<b>",
    "</title><script>alert(1)</script>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1)) [y](data:text/html,x) ![z](http://evil.example/z.png)",
    "<math><mi xlink:href='data:x'>",
    "</textarea><script>alert(1)</script>",
)


@pytest.mark.parametrize("payload", some(XSS, TELLING))
def test_hostile_text_stays_text(site: Site, payload: str) -> None:
    """Markup in names, descriptions, file names and documents is shown, never part of the page."""
    client = site.browser("Berta")
    hostile = RUN + f"3 Q0 {payload.replace(' ', '')} 2 0.5 tag\n3 Q0 d1 x y z\n"
    data = {
        "file": (io.BytesIO(hostile.encode()), f"{payload.replace('/', '')}.txt"),
        "team": str(site.world.owls),
        "name": payload,
        "description": payload,
    }
    report = client.post("/tasks/robots/submit", data=data, follow_redirects=True)
    made = client.post("/teams", data={"name": payload[:60]}, follow_redirects=True)
    again = client.post("/sign-up", data={"name": payload, "password": "x"})
    for page in (
        report,
        made,
        again,
        client.get("/teams"),
        site.browser("Olga").get("/tasks/robots/organise"),
    ):
        assert page.status_code < 500
        _assert_inert(page.text)


@pytest.mark.parametrize("payload", some(XSS, TELLING))
def test_hostile_runs_are_shown_as_text(site: Site, payload: str) -> None:
    """Markup in documents, a tag, a team's name and a description stays text on every reading page."""
    client, word = site.browser("Nina"), "".join(payload.split())
    client.post("/teams", data={"name": payload[:60]})
    hostile = "".join(f"{topic} Q0 {word}{topic} 1 1.0 {word}\n" for topic in (1, 2, 3))
    chosen = pages.form(client.get("/tasks/robots/submit"), "/tasks/robots/submit")
    data = {**chosen, "file": (io.BytesIO(hostile.encode()), "x.run"), "name": "x", "description": payload}
    sent = client.post("/tasks/robots/submit", data=data, headers={"Accept": "application/json"}).json
    assert sent is not None
    assert sent["state"] == "accepted", sent
    run = f"/runs/{sent['run']}"
    for address in (
        run,
        f"{run}/topics/1",
        "/tasks/robots",
        "/tasks/robots/topics/1",
        "/tasks/robots/organise",
    ):
        page = site.browser("Olga").get(address)
        assert page.status_code == 200
        _assert_inert(page.text)


@pytest.mark.parametrize("payload", some(XSS, TELLING))
def test_hostile_tasks_are_shown_as_text(site: Site, payload: str) -> None:
    """Markup in a task's name, description, topics and judged documents stays text."""
    client, word = site.browser("Olga"), "".join(payload.split())
    data = {
        **pages.form(client.get("/tasks/new"), "/tasks/new"),
        "name": payload,
        "slug": "hostile",
        "description": payload,
        "topics": (io.BytesIO(f"1\t{payload}\n".encode()), "topics.tsv"),
        "qrels": (io.BytesIO(f"1 0 {word} 1\n".encode()), f"{word.replace('/', '')}.txt"),
    }
    assert client.post("/tasks/new", data=data).status_code == 303
    client.post("/tasks/hostile/organise/publish")
    for rest in ("", "/about", "/organise", "/topics", "/topics/1", "/submit"):
        page = client.get(f"/tasks/hostile{rest}")
        assert page.status_code == 200
        _assert_inert(page.text)
    _assert_inert(client.get("/").text)


OWN_PICTURE = re.compile(
    r'<img (class="[a-z ]+" src="/tasks/[a-z]+/pictures/[0-9a-f]{16}"'
    r'|src="/tasks/[a-z]+/badge\.svg" class="badge")'
)


def _assert_inert(page: str) -> None:
    lowered = page.lower()
    for live in (
        "<script>alert",
        "<img",
        "<svg onload",
        "<iframe",
        "<math",
        'href="javascript',
        'href="data:',
    ):
        assert live not in OWN_PICTURE.sub("", lowered)
    tags = BeautifulSoup(page, "html.parser").find_all(True)
    assert not [name for tag in tags for name in tag.attrs if name.lower().startswith("on")]


@pytest.mark.parametrize("payload", XSS)
def test_hostile_markdown_is_inert(payload: str) -> None:
    """A description's Markdown makes no script, image, frame or link to other than http."""
    _assert_inert(str(render(payload)))


def test_markdown_links_are_marked() -> None:
    """Links in descriptions go to http and https addresses and carry ugc, nofollow and noopener."""
    assert str(render("[a](https://example.org)")) == (
        '<p><a href="https://example.org" rel="ugc nofollow noopener">a</a></p>\n'
    )
    assert "href" not in str(render("[a](/sign-out) [b](//evil.example) [c](ftp://x)"))


@pytest.mark.trial
def test_random_addresses_are_no_server_error(site: Site) -> None:
    """Three hundred random paths and query strings are all answered below 500."""
    chance, client = random.Random(7), site.browser("Olga")
    pieces = [
        "tasks",
        "runs",
        "teams",
        "uploads",
        "robots",
        "organise",
        "1",
        "-1",
        "..",
        "%2e%2e",
        "%00",
        "%ff",
        "é",
        "'",
    ]
    for _ in range(300):
        path = "/" + "/".join(chance.choices(pieces, k=chance.randint(1, 4)))
        query = "&".join(f"{chance.choice(pieces)}={chance.choice(pieces)}" for _ in range(2))
        assert client.get(f"{path}?{query}").status_code < 500, (path, query)
