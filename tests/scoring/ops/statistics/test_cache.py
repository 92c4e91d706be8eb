"""Results in memory."""

import numpy as np
import pytest

from leaderboard.scoring.ops.statistics.requests import KeptResults


def test_results_cannot_be_changed() -> None:
    """Several readers share one result."""
    kept = KeptResults(2**20)
    result = kept.put("a", {"p": np.zeros(1)})
    with pytest.raises(ValueError, match="read-only"):
        result["p"][0] = 1
