"""What a command says where it failed: one sentence with a remedy, no traceback."""

import errno
from typing import TYPE_CHECKING

import click

from leaderboard.errors import Invalid, LeaderboardError

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError

NO_ROOM = "There is no room left for what had to be written; free some, then run the command again."
DISK = "The disk did not take or give it: see to its room and its health, then run the command again."
NOT_WRITABLE = "It cannot be written by this user: see to its owner, mode and mount, then try again."
LOCKED = "Another process holds the database for too long; see what it does, then run the command again."
NO_ANSWER = "See that it runs and that LEADERBOARD_DATABASE_URL is right, then run the command again."
UNREADABLE = "The database file is damaged: restore a backup (`leaderboard restore`)."
KNOWN = (
    ("disk is full", NO_ROOM),
    ("no space left", NO_ROOM),
    ("disk i/o error", DISK),
    ("disk quota exceeded", NO_ROOM),
    ("readonly database", NOT_WRITABLE),
    ("unable to open database file", NOT_WRITABLE),
    ("permission denied", NOT_WRITABLE),
    ("database is locked", LOCKED),
    ("lock timeout", LOCKED),
    ("malformed", UNREADABLE),
    ("not a database", UNREADABLE),
    ("connection", NO_ANSWER),
    ("failed to resolve", NO_ANSWER),
)
"""Words of a database's own message -> what to do."""
NUMBERS = {
    errno.ENOSPC: NO_ROOM,
    errno.EDQUOT: NO_ROOM,
    errno.EACCES: NOT_WRITABLE,
    errno.EPERM: NOT_WRITABLE,
    errno.EROFS: NOT_WRITABLE,
}


class Failure(click.ClickException):
    """A LeaderboardError as the terminal shows it: its message, then each problem on a line."""

    def __init__(self, error: LeaderboardError) -> None:
        lines = [error.message]
        if isinstance(error, Invalid):
            lines += [f"  {problem}" for problem in error.problems if str(problem) not in error.message]
        super().__init__("\n".join(lines))


def sentence(error: "SQLAlchemyError | OSError") -> str:
    """What went wrong, in the first line of the cause's own words, and what to do.

    >>> sentence(OSError(errno.ENOSPC, "No space left on device", "copy.part"))
    'No space left on device (copy.part). There is no room left for what had to be written; free some, then run the command again.'
    """  # noqa: E501
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        words = error.strerror or str(error)
        return f"{words}{where}. {NUMBERS.get(error.errno or 0, '')}".rstrip()
    from sqlalchemy.exc import DBAPIError

    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    words = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".")
    remedy = next((remedy for known, remedy in KNOWN if known in words.lower()), "Nothing was changed.")
    return f"The database refused: {words}. {remedy}"
