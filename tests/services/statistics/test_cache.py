"""Results in memory."""

import numpy as np
import pytest

from leaderboard.services.statistics.cache import KeptResults


def test_the_least_recently_used_goes_first() -> None:
    """A result that was asked for stays longer than one that was not."""
    kept = KeptResults(20)
    for digest in ("a", "b"):
        kept.put(digest, {"p": np.zeros(1)})
    assert kept.get("a") is not None
    kept.put("c", {"p": np.zeros(1)})
    assert kept.get("b") is None
    assert kept.get("a") is not None
    assert kept.get("c") is not None


def test_what_is_too_large_is_given_back_but_not_kept() -> None:
    """One large result does not push out all small ones."""
    kept = KeptResults(20)
    kept.put("a", {"p": np.zeros(1)})
    assert len(kept.put("b", {"p": np.zeros(9)})["p"]) == 9
    assert kept.get("b") is None
    assert kept.get("a") is not None


def test_results_cannot_be_changed() -> None:
    """Several readers share one result."""
    kept = KeptResults(20)
    result = kept.put("a", {"p": np.zeros(1)})
    with pytest.raises(ValueError, match="read-only"):
        result["p"][0] = 1
