"""Where the words of a task's reproductions begin."""

from collections.abc import Mapping
from typing import Any

from leaderboard.stats.reproductions.levels import Threshold, Thresholds


def of_setting(stored: Mapping[str, Any] | None) -> Thresholds:
    """The thresholds that a task's setting says, the usual ones where it says nothing.

    >>> of_setting({"ktu": [0.1, 0.6], "margin": 0.05}).ktu
    Threshold(same=0.1, close=0.6)
    """
    made: dict[str, Any] = {
        name: Threshold(*value) if isinstance(value, list) else value
        for name, value in (stored or {}).items()
    }
    return Thresholds(**made)
