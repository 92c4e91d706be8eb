"""Damage in the database: what rests on it is an error that names the run, never another number."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard import checksums
from leaderboard.boards.ops import snapshots
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import (
    Alignment,
    Evaluation,
    Job,
    QrelsRevision,
    RankingBlock,
    RankingIndex,
    Snapshot,
    UploadChunk,
    metadata,
)
from leaderboard.settings import Settings
from leaderboard.site.ops.checks import all_checks
from leaderboard.trec.runs.packing import unpack_block
from tests.make import build
from tests.make.apps import application
from tests.make.damage import damage

RANKINGS = {"1": ["a", "b", "c"], "2": ["d", "a"], "3": ["f", "e"]}


@pytest.fixture
def client(settings: Settings, database: Database) -> FlaskClient:
    """A visitor."""
    return application(settings, database).test_client()


def _task(database: Database, folder: Path) -> int:
    build.task(database, folder, measures=("AP",))
    return build.run(database, folder, RANKINGS)


def _evaluation(database: Database) -> Job:
    with database.read() as session:
        assert session.scalars(select(Evaluation)).all() == []
        return session.scalars(select(Job).where(Job.kind == "evaluate")).one()


def test_damaged_rankings_are_not_scored(database: Database, tmp_path: Path) -> None:
    """The job fails, says which run it is, and stores no score."""
    run_id = _task(database, tmp_path)
    damage(database, RankingBlock.body)
    build.drain(database)
    job = _evaluation(database)
    assert job.state == "failed"
    assert f"rankings of run {run_id} are damaged" in job.error


def test_rankings_without_a_checksum_are_held_against_the_digest_of_the_run(
    database: Database, tmp_path: Path
) -> None:
    """A body of an earlier version that decompresses to other rankings is found by what they are."""
    run_id = _task(database, tmp_path)

    def exchanged(body: bytes) -> bytes:
        plain = checksums.plain_bytes(b"LBR1", body, "rankings")
        assert b"abc" in plain
        other = checksums.compressed(b"LBR1", plain.replace(b"abc", b"acb"), 1)
        assert unpack_block(other).topics == [b"1", b"2", b"3"]
        return other

    damage(database, RankingBlock.body, exchanged)
    build.drain(database)
    assert f"rankings of run {run_id} are damaged" in _evaluation(database).error


def test_damaged_judgments_score_nothing(database: Database, tmp_path: Path) -> None:
    """The job fails and says which revision it is."""
    _task(database, tmp_path)
    damage(database, QrelsRevision.packed)
    build.drain(database)
    assert "judgments of revision 1" in _evaluation(database).error


@pytest.mark.parametrize("column", [Evaluation.scores, Alignment.body, RankingIndex.body, UploadChunk.body])
def test_pages_name_the_run_whose_data_is_damaged(
    column: object, database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """What needs the data is answered 500 with a sentence; nothing is shown in its place."""
    run_id = _task(database, tmp_path)
    build.drain(database)
    address = {
        Evaluation.scores: "/tasks/t/topics/1",
        Alignment.body: f"/runs/{run_id}.trec_eval",
        RankingIndex.body: f"/runs/{run_id}/topics/1",
        UploadChunk.body: f"/runs/{run_id}/file",
    }[column]
    assert client.get(address).status_code == 200
    damage(database, column)
    answer = client.get(address, headers={"Accept": "application/json"})
    assert answer.status_code == 500
    assert f"of run {run_id}" in answer.get_json()["error"]
    assert "db check" in answer.get_json()["error"]


def test_a_damaged_snapshot_is_not_opened(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Its digest is compared with what is stored."""
    _task(database, tmp_path)
    build.drain(database)
    with database.write() as session:
        address = snapshots.keep(session, OPERATOR, snapshots.freeze(session, OPERATOR, "t"))
    damage(database, Snapshot.body)
    answer = client.get(f"/snapshots/{address}.json")
    assert answer.status_code == 500
    assert f"snapshot {address}" in answer.get_json()["error"]


EDITION = {
    "number": 3,
    "revision_id": 2,
    "dialect": 9,
    "primary_measure": "P@5",
    "measures": [{"key": "AP", "version": 7}],
    "topic_sets": {"all": {"id": 1, "topics": ["1", "2"]}},
    "companions": {"subtopic": 2},
}
"""Column -> another value that it could have."""


def _found(database: Database) -> list[str]:
    """What the checks of editions find."""
    looks = [check for check in all_checks() if check.name == "editions"]
    found = [check.damage(database, place) for check in looks for place in check.places(database)]
    return [str(damage) for of_one in found for damage in of_one]


def _put(database: Database, column: str, value: object) -> object:
    """Write a value of edition 1 behind the program's back; what it was."""
    table = metadata.tables["edition"]
    with database.write() as session:
        was: object = session.scalar(select(table.c[column]).where(table.c.id == 1))
        session.execute(update(table).where(table.c.id == 1).values({column: value}))
    return was


@pytest.mark.dialect
def test_a_damaged_edition_reaches_no_page(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Its board is an error that says so, lists of tasks and of news go without it; the check finds it."""
    run_id = _task(database, tmp_path)
    build.task(database, tmp_path, slug="u")
    build.drain(database)
    lists = {"/": f"/runs/{run_id}", "/feed.atom": "Task t: edition 1", "/tasks/t/history": "t?edition=1"}
    for column, other in EDITION.items():
        for address, mark in lists.items():
            assert mark in client.get(address).get_data(as_text=True)
        assert _found(database) == []
        was = _put(database, column, other)
        for address in ("/tasks/t", f"/runs/{run_id}", "/tasks/t/topics/1"):
            answer = client.get(address, headers={"Accept": "application/json"})
            assert answer.status_code == 500, column
            assert "measures and topics of edition 1 are damaged" in answer.get_json()["error"]
        for address, mark in lists.items():
            answer = client.get(address)
            assert answer.status_code == 200
            assert mark not in answer.get_data(as_text=True), (column, address)
        (found,) = _found(database)
        assert found.startswith("edition 1: ")
        _put(database, column, was)
