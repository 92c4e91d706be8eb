"""Moments as readers write them."""

from datetime import UTC, datetime, timedelta

import pytest

from leaderboard.db.engine import Database, now
from leaderboard.errors import Invalid
from leaderboard.web import filters

pytestmark = pytest.mark.dialect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31", datetime(2026, 1, 31, 23, 59, 59, 999999, UTC)),
        ("20260131", datetime(2026, 1, 31, 23, 59, 59, 999999, UTC)),
        (" 2026-01-31T12:30 ", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
        ("2026-01-31 12:30:05", datetime(2026, 1, 31, 12, 30, 5, tzinfo=UTC)),
        ("2026-01-31T12:30Z", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
        ("2026-01-31T00:30+02:00", datetime(2026, 1, 30, 22, 30, tzinfo=UTC)),
    ],
)
def test_a_day_is_its_end_and_a_time_is_itself(database: Database, text: str, expected: datetime) -> None:
    """Without a zone both are in UTC."""
    with database.read() as session:
        assert filters.as_of(session, text) == expected


def test_today_is_a_day_but_tomorrow_is_not_yet(database: Database) -> None:
    """What has not begun cannot be looked back at, by the database's clock."""
    with database.read() as session:
        today = now(session)
        assert filters.as_of(session, f"{today:%Y-%m-%d}").date() == today.date()
        for later in (today + timedelta(days=1), today + timedelta(hours=2)):
            text = later.isoformat() if later.date() == today.date() else f"{later:%Y-%m-%d}"
            with pytest.raises(Invalid, match="is in the future"):
                filters.as_of(session, text)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-30", "0001-01-01T00:00+14:00", "-1"]
)
def test_what_is_no_date_is_refused_with_how_to_write_one(database: Database, text: str) -> None:
    """Also a date that no clock in UTC has."""
    with database.read() as session, pytest.raises(Invalid, match="Use a form like 2026-11-01") as caught:
        filters.as_of(session, text)
    assert [problem.field for problem in caught.value.problems] == ["at"]
