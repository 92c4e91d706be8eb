"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real runs, qrels and expected outputs; skips where it is absent."""
    folder = Path(os.environ.get("LEADERBOARD_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real runs and qrels at {folder} (set LEADERBOARD_SHARED_DATA)")
    return folder
