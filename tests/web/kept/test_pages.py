"""Kept pages: what visitors are given twice is what would be made, and nothing outlives what it shows."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import zstandard
from flask.testing import FlaskClient
from sqlalchemy import delete, select, text, update

from benchmarks.pages import counted
from leaderboard.core.phase_rules import DATES
from leaderboard.db.engine import Database, UtcDateTime, now
from leaderboard.db.tables import Phase, Run, SiteVersion, Task, Worker, metadata
from leaderboard.web import kept
from leaderboard.web.kept import ROOMS, KeptPage, KeptPages, SentBody
from leaderboard.web.rules import PUBLIC, rule_of
from tests.make.apps import application
from tests.web.conftest import Site, browser
from tests.web.test_crawl import crawl

BOARD = "/tasks/robots"
PASSED = {
    *("account", "audit", "collection", "job", "team", "throttle", "worker", "identity", "member", "session"),
    *("second_factor", "token", "api_token", "assessor", "invitation", "invitation_use", "device_request"),
    *("click_log", "former_slug", "run_group", "task_change", "upload_batch", "upload", "partial_upload"),
    *("webhook", "webhook_delivery", "webhook_attempt", "idempotency_key", "mail", "qrels_revision"),
    *("edition", "pool", "assessment", "run", "snapshot", "statistic", "evaluation", "announcement"),
    *("side_by_side", "side_by_side_pair", "task_picture", "stored_object"),
    *("suite", "suite_run", "signing_key"),
    *("side_by_side", "side_by_side_pair", "task_picture", "stored_object", "reproduction"),
    *("labelling_round", "labelling_share", "answer_label", "written_nugget"),
}
"""Tables whose moments lie in the past, or tell when something ends that no page of a visitor shows."""
PASSED_COLUMNS = {"task": {"published_at", "archived_at", "created_at"}, "entry": {"agreed_at", "created_at"}}


@pytest.fixture
def visitor(site: Site) -> FlaskClient:
    """A browser without a cookie on an application that has kept nothing yet."""
    return browser(application(site.settings, site.database))


@pytest.fixture
def unkept(site: Site) -> FlaskClient:
    """One on an application that makes every page."""
    return browser(application(replace(site.settings, kept_bytes=0), site.database))


def _is_kept(site: Site, client: FlaskClient, path: str) -> bool:
    """Whether a page is given that was made before: nothing is asked of the database but its version."""
    with counted(site.database) as sent:
        assert client.get(path).status_code == 200
    return sent == []


def _text(client: FlaskClient, path: str) -> str:
    return client.get(path).get_data(as_text=True)


@pytest.mark.trial
def test_every_page_of_a_visitor_is_given_again_as_it_would_be_made(
    visitor: FlaskClient, unkept: FlaskClient
) -> None:
    """Byte for byte and header for header, at every address that a visitor reaches by links."""
    count = 0
    for address, _ in crawl(visitor):
        given = [client.get(address, follow_redirects=False) for client in (visitor, visitor, unkept)]
        bodies = {answer.data for answer in given}
        assert len(bodies) == 1, address
        heads = [{**answer.headers, "X-Request-ID": "", "Vary": "", "Date": ""} for answer in given]
        assert heads[0] == heads[1] == heads[2], address
        count += 1
    assert count > 100


def test_a_visitors_page_is_made_once(site: Site, visitor: FlaskClient) -> None:
    """And again for another address, host or scheme."""
    assert not _is_kept(site, visitor, BOARD)
    assert _is_kept(site, visitor, BOARD)
    assert not _is_kept(site, visitor, f"{BOARD}?all")
    with counted(site.database) as sent:
        visitor.get(BOARD, headers={"Host": "127.0.0.1"})
    assert len(sent) > 1


@pytest.mark.parametrize("name", ["Nina", "Berta", "Olga"])
def test_nobody_who_is_signed_in_gives_or_gets_a_kept_page(
    site: Site, visitor: FlaskClient, unkept: FlaskClient, name: str
) -> None:
    """Whoever comes first: each sees what an application without kept pages shows them."""
    app = visitor.application
    member = Site(app, site.database, site.settings, site.world).browser(name)
    plain = Site(unkept.application, site.database, site.settings, site.world).browser(name)
    for path in (BOARD, "/", f"{BOARD}/topics", "/runs/1"):
        for client, other in ((member, plain), (visitor, unkept), (member, plain)):
            given, made = client.get(path), other.get(path)
            assert (given.status_code, given.data) == (made.status_code, made.data), path


def test_a_change_drops_what_shows_it(site: Site, visitor: FlaskClient) -> None:
    """At once, also where another process made it; a heartbeat drops nothing."""
    visitor.get(BOARD)
    with site.database.write(is_shown=False) as session:
        session.add(Worker(owner="here:1", seen_at=now(session)))
    assert _is_kept(site, visitor, BOARD)
    other = Database(site.settings.url)
    with other.write() as session:
        session.execute(update(Task).values(name=Task.name + " anew"))
    other.dispose()
    assert not _is_kept(site, visitor, BOARD)
    assert " anew" in visitor.get(BOARD).get_data(as_text=True)
    with site.database.write() as session:
        run = session.scalars(select(Run).where(Run.withdrawn_at.is_(None))).first()
        assert run is not None
        run.name += "-renamed"
    assert not _is_kept(site, visitor, BOARD)


def test_a_page_that_is_made_while_the_site_changes_is_not_kept(
    site: Site, visitor: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of its versions is to be trusted: it may have read of both."""
    real = kept.offer

    def offer(response):  # type: ignore[no-untyped-def]
        with site.database.write() as session:
            session.execute(update(Task).values(name=Task.name + "!"))
        return real(response)

    monkeypatch.setattr(kept, "offer", offer)
    visitor.get(BOARD)
    monkeypatch.setattr(kept, "offer", real)
    assert not _is_kept(site, visitor, BOARD)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The seconds that have passed, as kept pages see them."""
    passed = [0.0]
    begun = kept.time.monotonic()
    monkeypatch.setattr(kept.time, "monotonic", lambda: begun + passed[0])
    yield passed
    monkeypatch.undo()


def test_no_page_outlives_a_date(
    site: Site, visitor: FlaskClient, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next date of any task; without one, a minute."""
    visitor.get(BOARD)
    clock[0] = kept.LONGEST_S - 1
    assert _is_kept(site, visitor, BOARD)
    clock[0] = kept.LONGEST_S + 1
    assert not _is_kept(site, visitor, BOARD)
    monkeypatch.setattr(kept, "LONGEST_S", 1e9)
    with site.database.write() as session:
        closes_at = now(session) + timedelta(hours=1)
        session.execute(update(Phase).values(closes_at=closes_at))
    visitor.get(BOARD)
    clock[0] += 3590
    assert _is_kept(site, visitor, BOARD)
    clock[0] += 20
    assert not _is_kept(site, visitor, BOARD)


def test_every_moment_that_can_be_in_the_future_is_a_date() -> None:
    """A new column of a moment is put where it belongs: with the dates, or with what has passed."""
    known = {(column.parent.local_table.name, column.key) for column in DATES}
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, UtcDateTime) and table.name not in PASSED:
                has_passed = column.name in PASSED_COLUMNS.get(table.name, set())
                assert has_passed != ((table.name, column.name) in known), f"{table.name}.{column.name}"


def test_no_room_with_a_secret_address_is_kept(site: Site) -> None:
    """Links by which people come in, and files whose taking is on record."""
    for route in site.app.url_map.iter_rules():
        declared = rule_of(site.app, route.endpoint)
        if route.endpoint.partition(".")[0] in ROOMS and declared is not None and declared.access is PUBLIC:
            assert "token" not in route.arguments, route.rule
    visitor = browser(application(site.settings, site.database))
    (part, *_) = re.findall(
        r'href="(/tasks/robots/revisions/1/\w+\.txt)"', _text(visitor, "/tasks/robots/revisions/1")
    )
    assert [_is_kept(site, visitor, part) for _ in range(2)] == [False, False]
    assert "openid" not in ROOMS
    assert "accounts" not in ROOMS


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        *(("gzip", "gzip"), ("zstd", "zstd"), ("gzip, deflate, br, zstd", "zstd")),
        *(("br", ""), ("gzip;q=0, zstd;q=0", ""), ("", "")),
    ],
)
def test_a_page_comes_as_the_browser_can_unpack_it(visitor: FlaskClient, accepted: str, coding: str) -> None:
    """The same bytes in each coding, each with a tag of its own, by which it is not sent again."""
    plain = visitor.get(BOARD)
    assert "Content-Encoding" not in plain.headers
    given = visitor.get(BOARD, headers={"Accept-Encoding": accepted})
    assert given.headers.get("Content-Encoding", "") == coding
    unpack = {
        "zstd": zstandard.ZstdDecompressor().decompress,
        "gzip": lambda data: zlib.decompress(data, 16 + zlib.MAX_WBITS),
        "": bytes,
    }[coding]
    assert unpack(given.data) == plain.data
    assert (given.headers["ETag"] == plain.headers["ETag"]) == (coding == "")
    assert {"Accept-Encoding", "Cookie"} <= {name.strip() for name in given.headers["Vary"].split(",")}
    heads = {"Accept-Encoding": accepted, "If-None-Match": given.headers["ETag"]}
    again = visitor.get(BOARD, headers=heads)
    assert (again.status_code, again.data) == (304, b"")
    assert len(given.data) < len(plain.data) or not coding


def test_a_page_of_another_version_is_not_given() -> None:
    """Nor kept, where it was begun before the site changed."""
    store = KeptPages()
    store._version, store._next_date = 1, 1e12
    page = KeptPage(SentBody(b"page", "text/html", "t"), {}, 1e12)
    for version, address in ((1, "a"), (2, "b")):
        store.keep(("http", "host", address, ""), version, page)
    found = [
        (version, name)
        for version in (1, 2)
        for name in "ab"
        if store.find(("http", "host", name, ""), version)
    ]
    assert found == [(1, "a")]


def test_a_site_may_keep_nothing(site: Site, unkept: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing asks for its version."""
    monkeypatch.delattr(kept.engine, "present_version")
    assert [_is_kept(site, unkept, BOARD) for _ in range(2)] == [False, False]


def test_a_database_without_a_version_has_every_page_made(site: Site, visitor: FlaskClient) -> None:
    """Nothing would tell that something changed."""
    visitor.get(BOARD)
    with site.database.write(is_shown=False) as session:
        session.execute(delete(SiteVersion))
    assert [_is_kept(site, visitor, BOARD) for _ in range(2)] == [False, False]
    with site.database.write(is_shown=False) as session:
        session.execute(text("ALTER TABLE site_version RENAME TO elsewhere"))
    assert [_is_kept(site, visitor, BOARD) for _ in range(2)] == [False, False]


NOT_KEPT = {
    **dict.fromkeys(
        ("judging", "labelling_desk", "side_by_side_judging", "invitations", "mail"), "an address is a secret"
    ),
    **dict.fromkeys(("accounts", "openid", "second_factor"), "they are about who signs in"),
    **dict.fromkeys(
        ("bundles", "pictures", "run_files", "signatures", "static"), "files, stored as they are"
    ),
    **dict.fromkeys(
        ("health", "metrics", "checks", "entries", "naming", "search"), "what is said now counts"
    ),
    **dict.fromkeys(("api_reference", "help", "pool_audits", "side_by_side"), "few visitors read them"),
}
"""Blueprint of pages for everybody that is not kept -> why."""


def test_public_pages_are_kept_or_have_a_reason(site: Site) -> None:
    """A new blueprint of pages for everybody is kept, and mirrored, or says why not."""
    public = {
        route.endpoint.partition(".")[0]
        for route in site.app.url_map.iter_rules()
        if "GET" in (route.methods or ())
        and not route.rule.startswith("/api/")
        and (declared := rule_of(site.app, route.endpoint)) is not None
        and declared.access is PUBLIC
    }
    assert sorted(public - ROOMS - set(NOT_KEPT)) == [] == sorted(set(NOT_KEPT) - public)
