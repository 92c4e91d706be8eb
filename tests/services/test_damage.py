"""Damage in the database: what rests on it is an error that names the run, never another number."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard import checksums
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
)
from leaderboard.services import snapshots
from leaderboard.services.policy import OPERATOR
from leaderboard.settings import Settings
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
