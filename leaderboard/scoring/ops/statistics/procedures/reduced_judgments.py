"""Runs under reduced judgments, with some documents treated as unjudged."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.pooling.audit import Kept, without

NEEDS = frozenset({"graded", "collection size"})
"""Inputs of measures supported under reduced judgments; not subtopics and preferences."""

Removed = npt.NDArray[np.bool_]


class ReducedJudgments:
    """The judgments without some documents, (documents,); the entry for distractors always stays."""

    def __init__(self, judgments: Judgments, removed: Removed) -> None:
        self._kept: Kept = without(judgments.starts, removed & judgments.named)
        self.judgments = replace(
            judgments,
            grades=judgments.grades[self._kept.documents],
            starts=self._kept.starts,
            subtopics=None,
            preferences=None,
        )

    def judged(self, run: Judged) -> Judged:
        """A run aligned with the reduced judgments; ranks are unchanged."""
        place = self._kept.place[run.document]
        stays = place >= 0
        return Judged(
            self.judgments, run.topic[stays], run.rank[stays], place[stays], run.retrieved, run.dialect
        )


def score(bound: BoundMeasure, run: Judged, places: Sequence[int]) -> float:
    """A run's mean, or sum, over the topics at these places."""
    scores = bound.compute(run)[np.array(places, dtype=np.int64)]
    return float(scores.sum() if bound.measure.aggregate == "sum" else scores.mean())
