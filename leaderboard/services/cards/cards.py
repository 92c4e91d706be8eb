"""The picture of a card: drawn by a process of its own, kept under a digest of what it says."""

import hashlib
import json
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass

from leaderboard.errors import Busy
from leaderboard.memory import Kept

MODULE = "leaderboard.services.cards.draw"
LONGEST_S = 20
WAIT_S = 10
# One at a time, however many are asked for at once: each takes a processor for a quarter of a second.
_turn = threading.Lock()
_kept: Kept[bytes] = Kept(__name__)


@dataclass(frozen=True, slots=True)
class CardText:
    """The words of a card: a heading and what stands for it in fonts without its letters, a line, facts."""

    heading: str
    otherwise: str
    below: str
    facts: tuple[str, ...]
    basis: str


def picture(text: CardText) -> bytes:
    """The card as PNG, 1200 × 630 pixels; raises Busy where others are drawn for a long time."""
    words = json.dumps(asdict(text)).encode()
    key = hashlib.sha256(words).hexdigest()
    found = _kept.get(key)
    if found is not None:
        return found
    if not _turn.acquire(timeout=WAIT_S):
        raise Busy("Other pictures are being drawn just now; ask again in a minute.", retry_after_s=60)
    try:
        # Somebody may have asked for the same before, and it is there by now.
        return _kept.get(key) or _kept.put(key, _drawn(words))
    finally:
        _turn.release()


def _drawn(words: bytes) -> bytes:
    command = [sys.executable, "-m", MODULE]
    return subprocess.run(command, input=words, capture_output=True, timeout=LONGEST_S, check=True).stdout
