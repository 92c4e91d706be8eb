"""Moments as a reader writes them: a day, or a day and a time, in UTC."""

from datetime import UTC, datetime, time

from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.errors import Invalid, Problem

DAY_CHARACTERS = 10


def as_of(session: Session, text: str) -> datetime:
    """The moment that a text names: of a day its end, of a time without zone that time in UTC.

    Today is a day like others: what holds until its end holds now. Raises Invalid for what is not a date,
    and for a day or a moment that has not begun; one statement.
    """
    begins = moment(text)
    if begins > now(session):
        raise _refused(text, "is in the future", "Enter today's date or an earlier date.")
    return datetime.combine(begins, time.max, UTC) if len(text.strip()) <= DAY_CHARACTERS else begins


def moment(text: str) -> datetime:
    """The moment at which what the text names begins; raises Invalid for what is not a date.

    >>> moment("2026-11-01").isoformat(), moment("2026-11-01 12:30").isoformat()
    ('2026-11-01T00:00:00+00:00', '2026-11-01T12:30:00+00:00')
    """
    try:
        begins = datetime.fromisoformat(text.strip())
        return begins.astimezone(UTC) if begins.tzinfo else begins.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _refused(
            text, "is not a date", "Use a form like 2026-11-01 or 2026-11-01T12:30, in UTC."
        ) from None


def _refused(text: str, rule: str, remedy: str) -> Invalid:
    shown = text[:30]
    return Invalid(f"{shown!r} {rule}. {remedy}", [Problem(rule, remedy, field="at", value=shown)])
