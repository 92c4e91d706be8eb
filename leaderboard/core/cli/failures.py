"""Messages of failed commands: one sentence with a remedy, no traceback."""

import errno
from typing import TYPE_CHECKING

import click

from leaderboard.errors import Invalid, LeaderboardError

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError

NO_ROOM = "The disk is full. Free space, then run the command again."
DISK = "Reading or writing the disk failed. Check its free space and health, then run the command again."
NOT_WRITABLE = "This user cannot write it. Check its owner, mode and mount, then try again."
LOCKED = "Another process has locked the database for too long. Check that process, then try again."
NO_ANSWER = "Check that the database is running and LEADERBOARD_DATABASE_URL is right, then try again."
UNREADABLE = "The database file is damaged. Restore a backup (`leaderboard restore`)."
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
    """The failure, as the first line of the cause's own message, and its remedy.

    >>> sentence(OSError(errno.ENOSPC, "No space left on device", "copy.part"))  # doctest: +ELLIPSIS
    'No space left on device (copy.part). The disk is full. Free space, then...'
    """
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        words = error.strerror or str(error)
        return f"{words}{where}. {NUMBERS.get(error.errno or 0, '')}".rstrip()
    from sqlalchemy.exc import DBAPIError

    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    words = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".")
    remedy = next((remedy for fragment, remedy in KNOWN if fragment in words.lower()), "Nothing was changed.")
    return f"Database error: {words}. {remedy}"
