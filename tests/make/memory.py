"""A folder in memory for what tests write: half of their time on a disk is waiting for it to be sure."""

import os
import shutil
import tempfile
from pathlib import Path

FOLDER = Path("/dev/shm")
ROOM = 4 * 2**30
"""Bytes that a whole run may need."""


def use_memory() -> None:
    """Make temporary files of this process and its children in memory, where there is room and no other wish.

    What SQLite promises after a crash of a process holds there as well; none of the tests cuts the power.
    """
    if "TMPDIR" not in os.environ and is_fit(FOLDER):
        os.environ["TMPDIR"] = tempfile.tempdir = str(FOLDER)


def is_fit(folder: Path) -> bool:
    """Whether programs in the folder may be run and a whole run of the tests has room."""
    if not os.access(folder, os.W_OK):
        return False
    is_executable = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return is_executable and shutil.disk_usage(folder).free > ROOM
