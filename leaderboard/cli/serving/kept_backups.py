"""The process next to a site that backs it up every so often; without imports that its parent would carry."""

import logging
import re
import shutil
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from leaderboard import logs
from leaderboard.cli.serving.processes import follow_parent
from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.settings import Settings

log = logging.getLogger(__name__)

NAME, ENDING = "leaderboard-", ".backup"
RETRY_S = 600.0
"""After a backup that failed, where backups are not made more often anyway."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_of(text: str) -> float:
    """A span of time such as 90s, 30m, 6h or 2d, in seconds; raises Invalid for anything else.

    >>> seconds_of("6h")
    21600.0
    """
    match = re.fullmatch(r"([1-9][0-9]*)([smhd])", text)
    if match is None:
        raise Invalid(f"{text!r} is not a duration. Use a number with s, m, h or d, such as 6h.")
    return float(match[1]) * UNITS[match[2]]


def folder_of(settings: Settings) -> Path:
    """Folder of the site's own backups."""
    return Path(settings.backup_folder) if settings.backup_folder else settings.data / "backups"


def keep_backups(settings: Settings) -> None:
    """Back the site up every so often until SIGTERM; a backup that fails is logged and tried again."""
    follow_parent()
    logs.configure(settings.log_format)
    signal.signal(signal.SIGTERM, _stop)
    every_s = seconds_of(settings.backup_every)
    while True:
        time.sleep(seconds_to_next(folder_of(settings), every_s, time.time()))
        while not back_up_once(settings):
            time.sleep(min(every_s, RETRY_S))


def seconds_to_next(folder: Path, every_s: float, at: float) -> float:
    """Seconds until the newest backup of the folder is due; at is the time since the epoch.

    A clock that was put back does not put a backup off for longer than between two of them.
    """
    newest = max((path.stat().st_mtime for path in kept(folder)), default=None)
    return 0.0 if newest is None else min(every_s, max(0.0, newest + every_s - at))


def back_up_once(settings: Settings) -> bool:
    """Make a backup in the site's folder of them and remove the oldest; whether that went well."""
    from sqlalchemy.exc import SQLAlchemyError

    from leaderboard.db.engine import Database
    from leaderboard.site.ops import backups

    folder = folder_of(settings)
    database = Database(settings.url)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_rests(folder)
        backup = backups.back_up(database, folder / f"{NAME}{datetime.now(UTC):%Y%m%dT%H%M%SZ}{ENDING}")
        for old in kept(folder)[: -settings.backup_keep]:
            old.unlink(missing_ok=True)
        log.info("backed up %d rows to %s", backup.rows, backup.path)
        return True
    except (LeaderboardError, SQLAlchemyError, OSError) as error:
        log.error("the site could not be backed up: %s", error)
        return False
    finally:
        database.dispose()


def kept(folder: Path) -> list[Path]:
    """The whole backups of a folder, the oldest first."""
    return sorted(folder.glob(f"{NAME}*{ENDING}"))


def _remove_rests(folder: Path) -> None:
    """Remove what a backup that was killed left behind."""
    for rest in folder.glob(f"{NAME}*{ENDING}.*"):
        rest.unlink(missing_ok=True)
    for rest in folder.glob(".verifying-*"):
        shutil.rmtree(rest, ignore_errors=True)


def _stop(number: int, frame: FrameType | None) -> None:
    # Raised anywhere, so that an unfinished backup is removed on the way out.
    raise SystemExit(0)
