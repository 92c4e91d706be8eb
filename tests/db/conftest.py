"""What tests of the schema share."""

import pytest

from leaderboard.db import schema
from tests.make.migrated import migrate


@pytest.fixture(autouse=True)
def step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made by all migrations, as on a site."""
    monkeypatch.setattr(schema, "run_to", migrate)
