"""Scores that several tests share."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

WORKED = np.array([[0.5, 0.4, 0.7, 0.2, 0.6], [0.4, 0.4, 0.5, 0.1, 0.5], [0.3, 0.5, 0.4, 0.2, 0.3]])
"""Three runs on five topics, worked out by hand; pairs 1-2, 1-3, 2-3."""

TABLES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(2, 6), st.integers(2, 9)),
    elements=st.integers(0, 10).map(lambda n: n / 10),
)
"""Score tables with many ties: runs that are the same, constant differences, topics all fail."""


def plain(runs: int, topics: int) -> NDArray[np.float64]:
    """Scores that no version of any library changes."""
    run, topic = np.indices((runs, topics))
    return ((run + 2) * (topic + 3) ** 2 % 97 + 8 * run) / 120


def generated(runs: int, topics: int, seed: int = 0) -> NDArray[np.float64]:
    """Plausible scores from 0 to 1: topics differ most, runs a little."""
    random = np.random.default_rng(seed)
    topic, run = random.beta(1, 3, topics), random.normal(0, 0.05, (runs, 1))
    return np.clip(topic + run + random.normal(0, 0.12, (runs, topics)), 0, 1)


def trec_8(shared_data: Path) -> NDArray[np.float64]:
    """AP of the 129 TREC-8 ad hoc runs by topic, (129, 50), as published with Urbano, Lima and Hanjalic,
    Statistical Significance Testing in Information Retrieval, SIGIR 2019; skips where it is absent."""
    path = next(shared_data.rglob("adhoc8_ap.csv"), None)
    if path is None:
        pytest.skip(f"no adhoc8_ap.csv of julian-urbano/sigir2019-statistical under {shared_data}")
    return np.ascontiguousarray(np.loadtxt(path, delimiter=",", skiprows=1).T)
