"""Errors: the right status, a sentence to act on, and nothing of the inside."""

import errno
import logging
from dataclasses import replace

import psycopg
import pytest
from psycopg.errors import DiskFull, OutOfMemory
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoConnection

from leaderboard import errors
from leaderboard.application import create_app
from leaderboard.web.errors import STATUS, status_of
from leaderboard.web.rules import PUBLIC, rule
from tests.web.conftest import Site

SECRET = "the-secret-of-the-inside"


def _broken(site: Site, error: Exception, address: str = "/broken") -> Site:
    """The site with two addresses that fail, in an application of its own."""

    @rule(PUBLIC)
    def broken(**_: str) -> str:
        raise error

    app = create_app(site.settings, site.database)
    app.add_url_rule(address, view_func=broken)
    app.add_url_rule("/broken.json", endpoint="broken_json", view_func=broken)
    return replace(site, app=app)


@pytest.mark.parametrize("path", ["/broken", "/broken.json"])
def test_the_unexpected_shows_a_number_and_no_text(
    site: Site, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A 500 shows a request id that is in the log with the traceback, and nothing of the exception."""
    site = _broken(site, ZeroDivisionError(SECRET))
    with caplog.at_level(logging.ERROR):
        response = site.browser().get(path)
    assert response.status_code == 500
    assert SECRET not in response.text
    assert "ZeroDivision" not in response.text
    [record] = caplog.records
    request_id = str(record.args[0] if isinstance(record.args, tuple) else "")
    assert request_id in response.text
    assert SECRET in caplog.text


@pytest.mark.parametrize(
    ("text", "status"),
    [("server closed the connection", 503), ("database or disk is full", 507), ("disk I/O error", 507)],
)
def test_a_database_in_trouble_is_said(site: Site, text: str, status: int) -> None:
    """A database that is away is 503, a full disk 507, and neither shows the statement."""
    site = _broken(site, OperationalError(f"SELECT {SECRET}", {}, Exception(text)))
    response = site.browser().get("/broken.json")
    assert response.status_code == status
    assert SECRET not in response.text
    assert response.json is not None
    assert response.json["request"]


@pytest.mark.parametrize("kind", [DiskFull, OutOfMemory])
def test_a_full_postgresql_is_said(site: Site, kind: type[psycopg.Error]) -> None:
    """PostgreSQL's own words for a full disk are 507 too."""
    site = _broken(site, OperationalError("INSERT", {}, kind("could not extend file")))
    assert site.browser().get("/broken.json").status_code == 507


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EIO, 500)])
def test_a_full_disk_is_said(site: Site, number: int, status: int) -> None:
    """A file that cannot be written for lack of room is 507, another fault of the disk 500."""
    site = _broken(site, OSError(number, SECRET))
    answer = site.browser().get("/broken.json")
    assert answer.status_code == status
    assert SECRET not in answer.text


def test_the_log_holds_no_secret_and_one_line(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """A path in the log has no control characters, and a link's secret is left out."""
    site = _broken(site, ZeroDivisionError(), "/join/<token>/<rest>")
    with caplog.at_level(logging.ERROR):
        site.browser().get(f"/join/{SECRET}/x%0a2026-11-22%20FAKE%20ERROR")
    [record] = caplog.records
    assert r"'/join/<token>/x\n2026-11-22 FAKE ERROR'" in record.getMessage()
    assert SECRET not in record.getMessage()
    assert "\n" not in record.getMessage()


@pytest.mark.parametrize(("kind", "status"), STATUS.items())
def test_each_error_has_its_status(site: Site, kind: type[errors.LeaderboardError], status: int) -> None:
    """Every class of error has one status, and its message is the answer."""
    site = _broken(site, kind("A sentence to act on."))
    response = site.browser().get("/broken.json")
    assert response.status_code == status
    assert response.json == {"error": "A sentence to act on.", "status": status, "problems": []}


def test_every_error_class_has_a_status() -> None:
    """No error a service may raise falls through to 400, and subclasses take their parent's status."""
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.LeaderboardError)
    ]
    assert {status_of(kind("x")) for kind in kinds if kind is not errors.LeaderboardError} == set(
        STATUS.values()
    )
    assert status_of(errors.UnknownMeasure("x")) == 422


def test_problems_are_listed(site: Site) -> None:
    """A refusal with problems lists line, field, value, rule and remedy, on the page and as JSON."""
    problem = errors.Problem("must be a number.", "Write 1.", 7, "score", "x<y")
    site = _broken(site, errors.Invalid("Two things.", [problem]))
    page = site.browser().get("/broken").text
    for text in ("7", "score", "x&lt;y", "must be a number.", "Write 1."):
        assert text in page
    facts = site.browser().get("/broken", headers={"Accept": "application/json"}).json
    assert facts is not None
    [problem] = facts["problems"]
    expected = {
        "line": 7,
        "field": "score",
        "value": "x<y",
        "rule": "must be a number.",
        "remedy": "Write 1.",
    }
    assert problem == {**expected, "count": 1, "examples": None}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InterfaceError("SELECT", {}, Exception("the connection is closed")), 503),
        (NoConnection("QueuePool limit reached"), 503),
        (ProgrammingError("SELECT", {}, Exception(SECRET), connection_invalidated=True), 503),
        (ProgrammingError("SELECT", {}, Exception(SECRET)), 500),
        (IntegrityError("INSERT", {}, Exception("UNIQUE constraint failed")), 409),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_lost_connection_is_not_our_mistake(site: Site, error: Exception, status: int) -> None:
    """Whatever form it takes it is 503 with Retry-After; a name taken in the same moment is 409."""
    response = _broken(site, error).browser().get("/broken.json")
    assert response.status_code == status
    assert ("Retry-After" in response.headers) is (status == 503)


def test_waiting_times_are_said(site: Site) -> None:
    """A refusal for being too often carries Retry-After."""
    site = _broken(site, errors.OverQuota("Too often.", retry_after_s=17))
    assert site.browser().get("/broken.json").headers["Retry-After"] == "17"


def test_unknown_addresses_and_methods_are_answered_in_words(site: Site) -> None:
    """404 and 405 are pages with a sentence; 405 says what is possible."""
    assert "This page does not exist" in site.browser().get("/nothing").text
    response = site.browser().put("/teams")
    assert response.status_code == 405
    assert "POST" in response.headers["Allow"]
