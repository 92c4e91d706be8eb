"""Check and re-encode a file for a logo or picture, before any transaction."""

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from leaderboard.core.picture_kinds import LARGEST_BYTES, PictureKind
from leaderboard.errors import Busy, Invalid, Problem, TooLarge

MODULE = "leaderboard.tasks.ops.pictures.encode"
LONGEST_S = 20
"""A large photograph takes a second; the process has its own limit on the work that it does."""
WAIT_S = 30
# One at a time: each may take 100 MB, and a site is sent few.
_turn = threading.Lock()


@dataclass(frozen=True, slots=True)
class PreparedPicture:
    """A picture in its stored form, and its size in pixels."""

    kind: PictureKind
    body: bytes
    width: int
    height: int


def prepare(path: Path, kind: PictureKind) -> PreparedPicture:
    """The picture of a file, encoded by another process.

    Raises TooLarge for a file of over five million bytes, Invalid for a file that is not a picture, has too
    many pixels or cannot be read, Busy where others are encoded for a long time.
    """
    if path.stat().st_size > LARGEST_BYTES:
        raise TooLarge(
            f"The {kind.name} file can have at most {LARGEST_BYTES // 2**20} MB; scale the picture down.",
            field="file",
        )
    head, _, body = _encoded(path, kind).partition(b"\n")
    outcome = json.loads(head) if head else {}
    if not body:
        rule = outcome.get("rule", "needs more time or memory to read than a picture of its size should.")
        problem = Problem(rule, outcome.get("remedy", "Save it again and upload it again."), field="file")
        raise Invalid(f"The {kind.name} was not saved: it {rule}", [problem])
    return PreparedPicture(kind, body, outcome["width"], outcome["height"])


def _encoded(path: Path, kind: PictureKind) -> bytes:
    """The output of the process; empty if it died on its input."""
    if not _turn.acquire(timeout=WAIT_S):
        raise Busy("Other pictures are being processed now. Upload it again in a minute.", retry_after_s=60)
    try:
        with path.open("rb") as file:
            command = [sys.executable, "-m", MODULE, kind.name]
            done = subprocess.run(command, stdin=file, capture_output=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return b""
    finally:
        _turn.release()
    return done.stdout if done.returncode == 0 else b""
