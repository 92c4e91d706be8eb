"""What a run has to be scored by for an edition, and the scores that came of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leaderboard.trec.qrels.revision_inputs import RevisionInputs

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MeasureScores:
    """A run's scores by one measure, and what their aggregate is made of where they alone do not tell."""

    scores: Scores
    parts: Scores | None


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """What came of a run: scores by measure, and its judged hits; None where these are stored already."""

    by_measure: dict[str, MeasureScores]
    hits: bytes | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be computed: the measures a run lacks under an edition's revision, and its hits."""

    dialect: int
    missing: tuple[dict[str, Any], ...]
    lacks_hits: bool
    inputs: RevisionInputs
    ranking_sha256: str = ""
    """Digest of the run's rankings; empty for a run that is still being read."""
    revision_id: int = 0
    """The revision that the inputs are of; 0 on another machine, which has none."""
