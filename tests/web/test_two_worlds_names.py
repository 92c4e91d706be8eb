"""Two sites that differ only in who is behind the pseudonyms answer the same to everybody who may not know.

Names of teams and runs, tags, headers, files and the order of ids differ; whatever a visitor, another team's
member or another task's organiser asks for, and whatever form they send, is answered byte for byte alike.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from leaderboard.services.accounts import sessions
from leaderboard.web import requests
from leaderboard.web.runs import uploads
from tests.make import masked, twins, walks
from tests.make.twins import World
from tests.web import test_two_worlds as gets

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, World]]:
    """Two worlds with the same clock and run ids, built once."""
    moment = datetime.now(UTC).replace(microsecond=0)
    one, other = (
        masked.build(sqlite_template, tmp_path_factory.mktemp(f"masked-{secret}"), secret, moment)
        for secret in masked.SECRETS
    )
    yield one, other
    for world in (one, other):
        world.database.dispose()


@pytest.fixture
def worlds(filled: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> tuple[World, World]:
    """The two worlds, where chance is the same too."""
    monkeypatch.setattr(uploads, "secrets", SimpleNamespace(token_urlsafe=lambda _: "chance"))
    monkeypatch.setattr(requests, "new_id", lambda: "chance")
    twins.open_under_one_address(monkeypatch)
    monkeypatch.setattr(sessions, "resume", walks.remembered(sessions.resume))
    return filled


@pytest.mark.parametrize("name", [None, "Ann"])
def test_no_address_names_a_masked_team(worlds: tuple[World, World], name: str | None) -> None:
    """A visitor and a member of a team that shows its name get the same bytes and headers."""
    assert list(gets._differences(worlds, name, objects=masked.OBJECTS)) == []
