"""Moments as people write them: one instant each, entered and shown in a time zone."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from msgspec import Meta

from leaderboard.errors import Invalid, Problem
from leaderboard.tables.record import day_and_time, utc_time

Moment = Annotated[datetime, Meta(tz=True)]
"""An instant, as JSON has it: with its zone."""
AOE = "AoE"
"""Anywhere on Earth: a day ends when it ends in the last zone, UTC-12 (IEEE 802.16 and most conferences)."""
AOE_ZONE = timezone(timedelta(hours=-12), AOE)
_DAY = re.compile(r"\d{4}-?\d{2}-?\d{2}|\d{4}-?W\d{2}-?\d")


def zone_of(name: str) -> tzinfo:
    """The time zone of a name: UTC, AoE, or one of the IANA database; raises Invalid."""
    require_zone(name)
    if name == "UTC":
        return UTC
    return AOE_ZONE if name == AOE else ZoneInfo(name)


def require_zone(name: str) -> None:
    """Raise Invalid for an unknown time zone."""
    if name not in ("UTC", AOE) and name not in available_timezones():
        raise Invalid(f"{name[:40]!r} is not a time zone. Use UTC, AoE, or a name such as Europe/Vienna.")


STARTS = frozenset({"opens", "opens_at", "reveal", "reveal_at", "names_at"})
"""Fields of moments from which something begins: a day without a time is its first second, not its last."""


def read(text: str, zone: str, field: str) -> datetime | None:
    """A date and time written in a zone, as an instant; None for none. Raises Invalid.

    A day without a time ends with it (23:59:59), or begins with it where the field is one of STARTS.

    >>> read("2026-11-30T23:59", "AoE", "closes").isoformat()
    '2026-12-01T11:59:00+00:00'
    >>> read("2026-11-30", "UTC", "closes").isoformat(), read("2026-11-30", "UTC", "opens").isoformat()
    ('2026-11-30T23:59:59+00:00', '2026-11-30T00:00:00+00:00')
    """
    if not text.strip():
        return None
    try:
        written = datetime.fromisoformat(text.strip())
        if field not in STARTS and _DAY.fullmatch(text.strip()):
            written = written.replace(hour=23, minute=59, second=59)
        return (written if written.tzinfo else written.replace(tzinfo=zone_of(zone))).astimezone(UTC)
    except (ValueError, OverflowError):
        problem = Problem(
            "must be a date, or a date and time.",
            "Use a form like 2026-05-31 or 2026-05-31T23:59.",
            field=field,
            value=text[:40],
        )
        raise Invalid("The dates are not valid.", [problem]) from None


def written(at: datetime | None, zone: str) -> str:
    """An instant as a form shows it in a zone; empty if absent."""
    return day_and_time(at.astimezone(zone_of(zone))).replace(" ", "T") if at else ""


def span(opens_at: datetime | None, closes_at: datetime | None, zone: str) -> str:
    """The period in which runs are accepted, in a zone and in UTC.

    >>> span(None, datetime(2031, 6, 1, 11, 59, 59, tzinfo=UTC), "AoE")
    'from no limit until 2031-05-31 23:59:59 AoE (2031-06-01 11:59:59 UTC)'
    """

    def moment(at: datetime | None) -> str:
        if at is None:
            return utc_time(None)
        here = f"{day_and_time(at.astimezone(zone_of(zone)))} {zone}"
        return here if zone == "UTC" else f"{here} ({utc_time(at)})"

    return f"from {moment(opens_at)} until {moment(closes_at)}"
