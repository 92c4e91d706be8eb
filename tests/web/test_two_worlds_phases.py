"""Two sites that differ in what a sealed phase holds answer alike, also where another phase is open."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from leaderboard.core import phase_rules, policy
from leaderboard.db.tables import Phase
from tests.make import phased, twins, walks
from tests.make.twins import World
from tests.web import test_two_worlds as gets

pytestmark = pytest.mark.trial
ASKED = ("training", "test", "late", "nothing")


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, World]]:
    """Two worlds with the same clock and ids, built once."""
    yield from twins.pair(sqlite_template, tmp_path_factory, phased.build)


@pytest.fixture
def worlds(filled: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> tuple[World, World]:
    """The two worlds, where chance is the same too; every address is asked for each phase."""
    monkeypatch.setattr(gets, "_walk", _walk)
    walks.hold_still(monkeypatch)
    twins.note_at_one_moment(monkeypatch)
    return filled


def _walk(
    app: gets.Flask, objects: object = None, name: str | None = None
) -> list[tuple[str, tuple[str, ...]]]:
    """Every address of the task, alone and for each of its phases."""
    states = ("", *(f"?phase={name}&docno=a&topic=3" for name in ASKED))
    return [
        (path, states)
        for rule in app.url_map.iter_rules()
        if "GET" in (rule.methods or ())
        for path in walks.paths(rule, phased.OBJECTS)
    ]


@pytest.mark.parametrize("name", [None, "Ann"])
def test_no_address_tells_of_a_sealed_phase(worlds: tuple[World, World], name: str | None) -> None:
    """Visitor and member get the same bytes and headers, whichever phase they ask for."""
    assert list(gets._differences(worlds, name)) == []


def test_the_open_phase_is_shown(worlds: tuple[World, World]) -> None:
    """The walk is worth something: training has scores, sealed phases have none, an unknown one is 404."""
    client = worlds[0].browser(None)
    board = f"/tasks/{phased.SLUG}.json?phase="
    assert [row["rank"] for row in client.get(f"{board}training").json["rows"]] == [1, 2]
    assert [client.get(f"{board}{name}").json["rows"] for name in ("test", "late")] == [[], []]
    assert client.get(f"{board}nothing").status_code == 404
    suite = client.get(f"/suites/{phased.SUITE}.json").json
    assert "bears-all" in str(suite)
    assert "bears-sealed" not in str(suite)
    assert client.get(f"/tasks/{phased.SLUG}/revisions/2/left_out.txt").status_code == 404


@pytest.mark.parametrize("leak", ["details", "one phase shown", "all shown"])
def test_planted_leaks_are_found(
    worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    """Each makes the worlds differ: details beside a sealed phase, a phase or all of them taken for shown."""
    if leak == "details":
        real = policy.access
        monkeypatch.setattr(policy, "access", lambda *given: gets.replace(real(*given), details=True))
    if leak == "one phase shown":
        shown = phase_rules.PhaseRule.is_shown
        monkeypatch.setattr(
            phase_rules.PhaseRule, "is_shown", lambda rule, at: rule.name == "test" or shown(rule, at)
        )
    if leak == "all shown":
        monkeypatch.setattr(phase_rules, "hidden", lambda *_: ())
    assert next(gets._differences(worlds, None), None) is not None


def test_the_worlds_do_differ(filled: tuple[World, World]) -> None:
    """Once the sealed phases are open, so are their answers."""
    boards = []
    for world in filled:
        with world.database.write() as session:
            session.execute(update(Phase).values(visibility="open"))
        answer = world.browser(None).get(f"/tasks/{phased.SLUG}.json?phase=test").json
        boards.append([(row["run"], row["scores"]) for row in answer["rows"]])
    assert boards[0] != boards[1]
