"""Two sites that differ only in who is behind the pseudonyms answer the same to everybody who may not know.

Names of teams and runs, tags, headers, files and the order of ids differ. Whatever a visitor or a member of
another team asks for, and whatever form they send, is answered byte for byte alike.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard import memory
from leaderboard.accounts.ops import sessions
from leaderboard.boards.ops import snapshots
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.tables import Run, Snapshot, Task, Upload
from tests.make import masked, twins, walks
from tests.make.twins import World
from tests.web import test_two_worlds as gets
from tests.web import test_two_worlds_posts as posts

pytestmark = pytest.mark.trial
NAMES = [name for names in masked.SECRETS.values() for name in names]
ASKING = walks.asking


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, World]]:
    """Two worlds with the same clock and run ids, built once."""
    yield from twins.pair(sqlite_template, tmp_path_factory, masked.build)


def _forget() -> None:
    """Drop all that this process keeps: a test must not rest on what another one computed."""
    most = memory.budget.most
    memory.budget.most = 0
    memory.budget.most = most


@pytest.fixture
def worlds(filled: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> tuple[World, World]:
    """The two worlds, where chance is the same too."""
    _forget()
    walks.hold_still(monkeypatch)
    monkeypatch.setattr(gets, "DOCUMENTS", (masked.DOCNO,))
    monkeypatch.setattr(gets, "HTML_STATES", 99)
    twins.note_at_one_moment(monkeypatch)
    return filled


def _digests(world: World) -> list[str]:
    """What would tell whose runs 3 and 4 are: runs of others have the rankings of the second."""
    with world.database.read() as session:
        rows = session.execute(
            select(Run.ranking_sha256, Upload.sha256)
            .join(Upload, Upload.id == Run.upload_id)
            .where(Run.id.in_((3, 4)))
        )
        return [digest[:12] for row in rows for digest in row]


def _telling(digests: list[bytes], told: list[str]) -> Callable[[FlaskClient], Callable[..., walks.Answer]]:
    """`walks.asking` that notes the addresses whose answers hold one of the digests."""

    def asking(client: FlaskClient) -> Callable[..., walks.Answer]:
        ask = ASKING(client)

        def noting(address: str, *rest: Any, **named: Any) -> walks.Answer:
            answer = ask(address, *rest, **named)
            if any(digest in answer[2] for digest in digests):
                told.append(address)
            return answer

        return noting

    return asking


@pytest.mark.parametrize(("name", "of_each"), [("Ann", 99), (None, 1)])
def test_no_address_names_a_masked_team(
    worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch, name: str | None, of_each: int
) -> None:
    """A member of a team that shows its name gets the same bytes and headers, and no digest of a masked run.

    Visitors have the same addresses, and more of the API; each is asked for in its first state.
    """
    digests = [digest.encode() for world in worlds for digest in _digests(world)]
    told: list[str] = []
    monkeypatch.setattr(walks, "asking", _telling(digests, told))
    assert list(gets._differences(worlds, name, of_each, masked.OBJECTS)) == []
    assert told == []


def test_the_walk_reaches_what_is_masked(worlds: tuple[World, World]) -> None:
    """Boards, groups, run pages, the link for reviewers and a later snapshot show pseudonyms, not names."""
    addresses = {
        f"/tasks/{masked.SLUG}.json": 200,
        f"/tasks/{masked.SLUG}?group={masked.GROUP}": 200,
        f"/tasks/{masked.SLUG}/history.json": 200,
        f"/tasks/{masked.SLUG}/pools/audit.json": 200,
        f"/snapshots/{masked.UNDER_PSEUDONYMS}": 200,
        f"/snapshots/{masked.NAMED}": 404,
        f"/review/{masked.TOKEN}": 200,
        "/runs/2/origin": 200,
        "/runs/2/file": 404,
        "/runs/5": 200,
        "/suites/both": 200,
        "/suites/both/runs/2": 200,
        f"/tasks/{masked.SLUG}/reproductions": 200,
    }
    client = worlds[0].browser(None)
    for address, status in addresses.items():
        answer = client.get(address)
        assert answer.status_code == status, address
        assert (status == 404) == ("Otter" not in answer.text) or "history" in address, address
        assert not any(name in answer.text for name in NAMES), address
    assert client.get(f"/review/{masked.TOKEN}").headers["X-Robots-Tag"] == "noindex"
    assert "owls-all" in client.get("/suites/mixed").text
    assert client.get("/suites/mixed/runs/5").status_code == 404
    left_out = f"/tasks/{masked.SLUG}/revisions/2/left_out.txt"
    assert client.get(left_out).text == "1 b\n"


def test_no_digest_of_a_masked_run_is_told(worlds: tuple[World, World], tmp_path: Path) -> None:
    """Not on the page of its origin, by the API, in a snapshot or in the records of the public export."""
    world = worlds[0]
    digests, client = _digests(world), world.browser(None)
    frozen = client.get(f"/snapshots/{masked.UNDER_PSEUDONYMS}.json")
    assert {row["run_id"] for row in frozen.get_json()["rows"]} >= {3, 4}
    for path in ("/runs/3/origin", "/runs/3/origin.json", "/api/v1/runs/4/origin"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert not any(digest in answer.text for digest in digests), path
    assert client.get("/runs/3/origin.json").get_json()["ranking_sha256"] is None
    assert not any(digest in frozen.text for digest in digests)
    assert len(client.get("/runs/1/origin.json").get_json()["ranking_sha256"]) == 64


def test_nor_has_a_bundle_for_everybody(worlds: tuple[World, World], tmp_path: Path) -> None:
    """No digest of a file or ranking whose team is masked."""
    bundles, world = pytest.importorskip("tests.bundles.make"), worlds[0]
    digests = _digests(world)
    bundles.public(world.database, tmp_path / "out", masked.SLUG)
    for path in (tmp_path / "out").rglob("*"):
        assert not path.is_file() or not any(digest.encode() in path.read_bytes() for digest in digests), path


def test_a_snapshot_with_digests_waits_until_names_are_shown(worlds: tuple[World, World]) -> None:
    """Earlier versions froze them."""
    world = worlds[1]
    with world.database.read() as session:
        row = session.scalars(
            select(Snapshot).where(Snapshot.sha256.startswith(masked.UNDER_PSEUDONYMS))
        ).one()
        facts = json.loads(snapshots.whole_body(row.sha256, row.body))
        task = session.get_one(Task, row.task_id)
        names = shown_names.shown_names(session, ANONYMOUS, task)
        access = policy.access_of(session, ANONYMOUS, task)
    assert snapshots._within(facts, access, names)
    for each in facts["rows"]:
        each["ranking_sha256"] = "0" * 64
    assert not snapshots._within(facts, access, names)


@pytest.mark.parametrize("name", [None, "Ann"])
def test_no_page_of_a_masked_run_tells_its_digest(worlds: tuple[World, World], name: str | None) -> None:
    """Whatever page, file or operation of it is asked for; all other addresses are those of the walk."""
    digests = [digest.encode() for digest in _digests(worlds[0])]
    # Signed in to both, or later tests would find a session more in one of them.
    ask, _ = (ASKING(world.browser(name)) for world in worlds)
    app = worlds[0].app
    of_a_run = app.url_map.bind("localhost")
    paths = [path for path, _ in gets._walk(app, {**masked.OBJECTS, "run_id": (3, 4)})]
    asked = [path for path in paths if "run_id" in of_a_run.match(path)[1]]
    assert len(asked) > 20
    assert [path for path in asked if any(digest in ask(path)[2] for digest in digests)] == []


def _sent(name: str) -> posts.Form:
    return {"team": 1, "name": name, "kind": "official", "file": (b"1 Q0 d00 1 9 tag\n", "run.txt")}


def test_no_form_names_a_masked_team(worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> None:
    """Uploads under every name a run of the others has or is known by, and all other forms."""
    both = [posts.Undoing(world, {"Ann": posts._token(world, "Ann")}) for world in worlds]
    names = ("aardvarks-a0", "zyx-b0", "Otter-1", "Otter-2", "new")
    forms = {**posts.FORMS, "uploads.send_run": [("", _sent(name)) for name in names]}
    monkeypatch.setattr(sessions, "new_token", lambda: "chance")
    monkeypatch.setattr(posts.partial_uploads, "secrets", SimpleNamespace(token_hex=lambda _: "nonsense"))
    monkeypatch.setattr(posts, "FORMS", forms)
    assert list(posts._differences((both[0], both[1]), "Ann", objects=masked.OBJECTS)) == []
    submit = f"/tasks/{masked.SLUG}/submit"
    refused = [name for name in names if both[0].post("Ann", submit, _sent(name), posts.JSON)[0] == 422]
    assert both[0].undo()
    assert refused == ["Otter-1"], "the second one is withdrawn, and its name free"


def _true_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_names.ShownNames, "run", lambda _, run_id, name: name)


def _true_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_names, "_showing_names", lambda _, tasks: {task.id for task in tasks})


def _rows_by_team(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pseudonyms, in the order of the ids behind them."""
    real = gets.board_rows.read_rows

    def ordered(*given: object) -> list[gets.board_rows.Row]:
        return sorted(real(*given), key=lambda row: row.team_id)  # type: ignore[arg-type]

    monkeypatch.setattr(gets.board, "read_rows", ordered)
    monkeypatch.setattr(gets.board, "rank", lambda rows, _: tuple(rows))


def _named_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.boards.ops.snapshots._within", lambda *_: True)


@pytest.mark.parametrize("plant", [_true_runs, _true_teams, _rows_by_team, _named_snapshots])
def test_planted_leaks_are_found(
    worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """Each of these leaks makes the two worlds differ, so the walk would have caught it."""
    plant(monkeypatch)
    # What was computed without the leak must not be given again.
    _forget()
    assert next(gets._differences(worlds, None, objects=masked.OBJECTS), None) is not None
