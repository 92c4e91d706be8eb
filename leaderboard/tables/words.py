"""Numbers and moments in sentences."""

from datetime import UTC, datetime


def lasting(seconds: float) -> str:
    """A duration in the largest unit that it has at least two of.

    >>> [lasting(seconds) for seconds in (7, 119, 7200, 200_000)]
    ['7 seconds', '119 seconds', '2 hours', '2 days']
    """
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return counted(int(seconds / size), unit)
    return counted(int(seconds), "second")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count as text, with separators; the plural is the noun with an s unless it is given.

    >>> counted(1, "topic"), counted(1200, "run"), counted(0, "entry", "entries")
    ('1 topic', '1,200 runs', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def signed(change: int) -> str:
    """A change of a whole number, such as of a rank, with its sign.

    >>> signed(3), signed(-2), signed(0)
    ('+3', '−2', '0')
    """
    return f"{change:+d}".replace("-", "−") if change else "0"


def day_and_time(at: datetime) -> str:
    """A chosen date and time: to the minute, or to the second if it has seconds.

    >>> day_and_time(datetime(2031, 5, 31, 23, 59, 59)), day_and_time(datetime(2031, 5, 31, 12))
    ('2031-05-31 23:59:59', '2031-05-31 12:00')
    """
    return f"{at:%Y-%m-%d %H:%M:%S}" if at.second else f"{at:%Y-%m-%d %H:%M}"


def utc_time(at: datetime | None) -> str:
    """A chosen date and time in UTC, for use in a sentence; None is no limit."""
    return f"{day_and_time(at.astimezone(UTC))} UTC" if at else "no limit"
