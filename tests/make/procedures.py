"""Statistics jobs computed in the process of the test: another one needs half a second to load SciPy."""

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from leaderboard.scoring.ops.statistics import computing
from leaderboard.stats import process
from leaderboard.stats.arrays import pack, unpack
from leaderboard.stats.procedures import PROCEDURES

OURS = process.MODULE


def _run_here(
    name: str,
    scores: NDArray[np.float64],
    options: Mapping[str, str | int],
    progress: Callable[[float], None],
) -> bytes:
    """What `process.run` gives, through the same bytes; where a test names another module, from there."""
    if process.MODULE != OURS:
        return process.run(name, scores, options, progress)
    sent = np.asarray(unpack(pack({"scores": scores}))["scores"], dtype=np.float64)
    return pack(PROCEDURES[name](sent, json.loads(json.dumps(dict(options))), progress))


def compute_here() -> None:
    """Let jobs of this process compute procedures here; tests/stats/test_process.py shows it is the same."""
    computing.process = SimpleNamespace(run=_run_here)


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Procedures of this test run in processes of their own, as they do on a site."""
    monkeypatch.setattr(computing, "process", process)
