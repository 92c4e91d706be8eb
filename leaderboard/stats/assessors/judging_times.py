"""How long assessors take for a judgment, without the time they were away."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from leaderboard.tables.record import Shown

AWAY_S = 300.0
"""A document that was open for longer than this was left alone: its time says nothing."""
TRIMMED = 0.9
"""Share of the times, the middle ones, that the trimmed mean is taken of."""


@dataclass(frozen=True, slots=True)
class JudgingTimes:
    """Seconds per judgment of one assessor; None where no time is known."""

    judgments: int
    """That a time is known of and counts."""
    away: Annotated[int, Shown("Pauses")]
    """That are left out because the assessor was away."""
    median: Annotated[float | None, Shown("Median", key="median_seconds", digits=1, unit="s")]
    trimmed_mean: Annotated[
        float | None, Shown("Trimmed mean", key="trimmed_mean_seconds", digits=1, unit="s")
    ]
    """Mean of the middle nine tenths."""
    total: float
    """Seconds at work."""

    @property
    def an_hour(self) -> Annotated[float | None, Shown(digits=0)]:
        """Judgments in an hour at work."""
        return 3600 * self.judgments / self.total if self.total > 0 else None


def judging_times(seconds: Collection[float]) -> JudgingTimes:
    """What the seconds of one assessor's judgments, each at least 0, come to.

    Times over five minutes are left out. The trimmed mean leaves out a twentieth, rounded down, of the
    others at each end.

    >>> judging_times([2.0, 4.0, 9.0, 4000.0]).median, judging_times([2.0, 4.0, 9.0, 4000.0]).away
    (4.0, 1)
    """
    kept = np.sort([second for second in seconds if second <= AWAY_S])
    away = len(seconds) - kept.size
    if not kept.size:
        return JudgingTimes(0, away, None, None, 0.0)
    cut = int(kept.size * (1 - TRIMMED) / 2 + 1e-9)
    middle = kept[cut : kept.size - cut]
    return JudgingTimes(kept.size, away, float(np.median(kept)), float(middle.mean()), float(kept.sum()))
