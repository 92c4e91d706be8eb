"""Errors: the right status, a sentence to act on, and nothing of the inside."""

import logging
from dataclasses import replace

import pytest
from sqlalchemy.exc import OperationalError

from leaderboard import errors
from leaderboard.web import create_app
from leaderboard.web.errors import STATUS, status_of
from leaderboard.web.rules import PUBLIC, rule
from tests.web.conftest import Site

SECRET = "the-secret-of-the-inside"


def _broken(site: Site, error: Exception) -> Site:
    """The site with two addresses that fail, in an application of its own."""

    @rule(PUBLIC)
    def broken() -> str:
        raise error

    app = create_app(site.settings, site.database)
    app.add_url_rule("/broken", view_func=broken)
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
    ("text", "status"), [("server closed the connection", 503), ("database or disk is full", 507)]
)
def test_a_database_in_trouble_is_said(site: Site, text: str, status: int) -> None:
    """A database that is away is 503, a full disk 507, and neither shows the statement."""
    site = _broken(site, OperationalError(f"SELECT {SECRET}", {}, Exception(text)))
    response = site.browser().get("/broken.json")
    assert response.status_code == status
    assert SECRET not in response.text
    assert response.json is not None
    assert response.json["request"]


def test_health_is_503_without_a_database(site: Site) -> None:
    """The health page answers 503 where the database is gone."""
    site.database.dispose()
    (site.settings.data / "site.sqlite3").unlink()
    for left in site.settings.data.glob("site.sqlite3-*"):
        left.unlink()
    assert site.browser().get("/healthz").status_code == 503


def test_health_counts_the_queue(site: Site) -> None:
    """The health page says that the database answers, and counts jobs."""
    assert site.browser().get("/healthz").json == {
        "database": "ok",
        "queued": 0,
        "running": 0,
        "failed": 1,
        "oldest_queued_s": None,
        "workers": 0,
    }


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
    assert facts["problems"] == [
        {"line": 7, "field": "score", "value": "x<y", "rule": "must be a number.", "remedy": "Write 1."}
    ]


def test_waiting_times_are_said(site: Site) -> None:
    """A refusal for being too often carries Retry-After."""
    site = _broken(site, errors.OverQuota("Too often.", retry_after_s=17))
    assert site.browser().get("/broken.json").headers["Retry-After"] == "17"


def test_unknown_addresses_and_methods_are_answered_in_words(site: Site) -> None:
    """404 and 405 are pages with a sentence; 405 says what is possible."""
    assert "nothing at this address" in site.browser().get("/nothing").text
    response = site.browser().put("/teams")
    assert response.status_code == 405
    assert "POST" in response.headers["Allow"]
