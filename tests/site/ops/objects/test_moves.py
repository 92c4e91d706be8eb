"""Files on their way into an object store and back: whole in one place at least, and read from either."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete, func, select, update

from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Run, StoredObject, Task, Upload, UploadChunk
from leaderboard.errors import Damaged, Invalid, StoreAway
from leaderboard.runs.ops import prepare
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.settings import Settings
from leaderboard.site.ops import checks, objects
from leaderboard.worker import Evaluator
from tests.make import build, stores
from tests.make.apps import application

pytest.importorskip("obstore", reason="the extra objects is not installed")

RANKINGS = {topic: [f"d{place}" for place in range(100)] for topic in build.TOPICS}
AWAY = "file:///dev/null/nowhere"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of several pieces that are small."""
    monkeypatch.setattr(prepare, "CHUNK_BYTES", 1000)


@pytest.fixture
def upload_id(database: Database, tmp_path: Path) -> int:
    """An accepted file of several pieces."""
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, RANKINGS)
    with database.read() as session:
        return session.scalars(select(Run.upload_id).where(Run.id == run_id)).one()


@pytest.fixture
def place(database: Database, upload_id: int, tmp_path: Path) -> Path:
    """The folder that is the database's object store."""
    return stores.folder_store(database, tmp_path)


def _pieces(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(UploadChunk)) or 0


def _read(database: Database, upload_id: int) -> bytes:
    with StoredFile(database, upload_id).open() as file:
        return file.read()


def _settings(settings: Settings, over: int = 1) -> Settings:
    return Settings(
        data=settings.data, database_url=settings.database_url, objects_url=AWAY, objects_bytes=over
    )


def _moves(database: Database) -> list[Job]:
    with database.read() as session:
        return list(session.scalars(select(Job).where(Job.kind == queue.MOVE)))


def _be_due(database: Database) -> None:
    with database.write() as session:
        session.execute(update(Job).values(run_after=now(session)))


def test_a_file_is_the_same_out_and_back(
    database: Database, upload_id: int, place: Path, tmp_path: Path
) -> None:
    """No piece is left in the database; the object opens with zstd alone, and back all is as it was."""
    sent, pieces = (tmp_path / "run.txt").read_bytes(), _pieces(database)
    assert pieces > 3
    assert objects.move_out(database, upload_id)
    (file,) = stores.objects_in(place)
    assert (_pieces(database), _read(database, upload_id)) == (0, sent)
    if (zstd := shutil.which("zstd")) is not None:
        assert subprocess.run([zstd, "-dc", file], capture_output=True, check=True).stdout == sent
    assert not objects.move_out(database, upload_id)
    assert objects.move_back(database, upload_id)
    assert (_read(database, upload_id), _pieces(database)) == (sent, 1)
    with database.read() as session:
        assert objects.count_moves(session).files == 0
    assert objects.move_out(database, upload_id)
    assert len(stores.objects_in(place)) == 2


def test_a_reader_follows_a_file_that_is_moved(
    database: Database, upload_id: int, place: Path, tmp_path: Path
) -> None:
    """What was begun in one place is read to its end in the other, without a byte lost or twice."""
    sent = (tmp_path / "run.txt").read_bytes()
    with StoredFile(database, upload_id).open() as file:
        first = file.read(1500)
        objects.move_out(database, upload_id)
        assert first + file.read() == sent
    with StoredFile(database, upload_id).open() as file:
        first = file.read(1500)
        objects.move_back(database, upload_id)
        assert first + file.read() == sent


def test_evaluators_move_what_is_large_and_accepted(
    database: Database, upload_id: int, place: Path, settings: Settings, tmp_path: Path
) -> None:
    """By a job each, once; what is small or was refused stays, and without the setting nothing moves."""
    build.submit(database, build.run_file(tmp_path, {"9": ["a"]}, "refused"))
    size = len((tmp_path / "run.txt").read_bytes())
    for over in (0, size):
        Evaluator(database, _settings(settings, over)).drain()
        assert (_moves(database), stores.objects_in(place)) == ([], [])
    Evaluator(database, _settings(settings)).drain()
    Evaluator(database, _settings(settings)).drain()
    assert [(job.subject_id, job.state) for job in _moves(database)] == [(upload_id, "done")]
    assert len(stores.objects_in(place)) == 1


def test_an_evaluator_without_a_store_leaves_moves_to_others(
    database: Database, upload_id: int, settings: Settings
) -> None:
    """It could do nothing but fail."""
    with database.write() as session:
        objects.queue_due(session, 1)
    Evaluator(database, settings).drain()
    assert [job.state for job in _moves(database)] == ["queued"]


def test_moves_wait_for_a_store_that_is_away(
    database: Database, upload_id: int, place: Path, settings: Settings
) -> None:
    """However often it is tried, no attempt is counted; the file stays where it is until then."""
    good, database.objects = database.objects, objects.ObjectStore(AWAY)
    evaluator = Evaluator(database, _settings(settings))
    for _ in range(5):
        evaluator.drain()
        (job,) = _moves(database)
        assert (job.state, job.attempts) == ("queued", 0)
        assert "object store" in job.error
        _be_due(database)
    assert _pieces(database) > 3
    database.objects = good
    evaluator.drain()
    assert (_moves(database)[0].state, _pieces(database)) == ("done", 0)


def test_a_file_that_is_damaged_is_not_moved(database: Database, upload_id: int, place: Path) -> None:
    """Pieces that are not what was sent stay to be looked at, and no object is made of them."""
    with database.write() as session:
        session.execute(delete(UploadChunk).where(UploadChunk.number == 1))
    pieces = _pieces(database)
    with pytest.raises(Damaged, match=f"upload {upload_id}.*digest"):
        objects.move_out(database, upload_id)
    assert (_pieces(database), stores.objects_in(place)) == (pieces, [])


def test_of_two_who_move_a_file_one_does(database: Database, upload_id: int, place: Path) -> None:
    """The object of the other is referred to by nothing, and the file is read from the one that is."""
    sent = _read(database, upload_id)
    first, second = objects.put_moved(database, upload_id), objects.put_moved(database, upload_id)
    assert first is not None
    assert second is not None
    settled = []
    for each in (first, second):
        with database.write() as session:
            settled.append(objects.settle_move(session, each))
    assert (settled, len(stores.objects_in(place))) == ([True, False], 2)
    assert _read(database, upload_id) == sent


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (Path.unlink, "missing from the object store"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "bytes, not"),
        (lambda file: file.write_bytes(bytes(file.stat().st_size)), "cannot be decompressed"),
    ],
)
def test_harm_in_the_store_is_found_and_named(
    database: Database, upload_id: int, place: Path, settings: Settings, harm, said: str
) -> None:  # type: ignore[no-untyped-def]
    """By `db check`, by a page that needs the file, and by who moves it back; pages without it go on."""
    objects.move_out(database, upload_id)
    (file,) = stores.objects_in(place)
    harm(file)
    visitor: FlaskClient = application(settings, database).test_client()
    answer = visitor.get("/runs/1/file", headers={"Accept": "application/json"})
    assert (answer.status_code, "of run 1" in answer.json["error"]) == (500, True)
    assert said in answer.json["error"]
    assert visitor.get("/runs/1").status_code == 200
    with pytest.raises(Damaged, match=said):
        objects.move_back(database, upload_id)
    found = [
        found
        for each in checks.all_checks()
        for at in each.places(database)
        for found in each.damage(database, at)
    ]
    assert [damage.owner for damage in found] == [f"upload {upload_id}"]


def test_another_file_under_the_key_is_found_by_its_digest(
    database: Database, upload_id: int, place: Path
) -> None:
    """Even one that decompresses and has the size."""
    objects.move_out(database, upload_id)
    (file,) = stores.objects_in(place)
    other = prepare.compressor(1).compress(b"another file\n")
    file.write_bytes(other)
    with database.write() as session:
        session.execute(update(StoredObject).values(bytes=len(other)))
    with pytest.raises(Damaged, match="digest"):
        StoredFile(database, upload_id).whole("0" * 64)


@pytest.mark.parametrize("url", [AWAY, ""])
def test_pages_say_that_the_store_is_away(
    database: Database, upload_id: int, place: Path, settings: Settings, url: str
) -> None:
    """A file in it is answered 503 with when to come again, even without the setting; all else works."""
    objects.move_out(database, upload_id)
    database.objects = objects.ObjectStore(url) if url else None
    visitor = application(settings, database).test_client()
    answer = visitor.get("/runs/1/file")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert "object store, which does not answer" in answer.text
    assert visitor.get("/runs/1").status_code == visitor.get("/tasks/t").status_code == 200
    with pytest.raises(StoreAway):
        [each.damage(database, at) for each in checks.all_checks() for at in each.places(database)]


def test_a_file_is_sent_from_the_store(
    database: Database, upload_id: int, place: Path, settings: Settings
) -> None:
    """With the headers it had, and in part where a part is asked for."""
    visitor = application(settings, database).test_client()
    before = visitor.get("/runs/1/file")
    objects.move_out(database, upload_id)
    after = visitor.get("/runs/1/file")
    assert (after.data, after.headers["ETag"]) == (before.data, before.headers["ETag"])
    with visitor.get("/runs/1/file", headers={"If-None-Match": after.headers["ETag"]}) as again:
        assert (again.status_code, again.data) == (304, b"")


def test_compressed_files_stay_as_they_were_sent(database: Database, place: Path, tmp_path: Path) -> None:
    """Their own compression is part of what was sent, and so of the digest."""
    plain = build.run_file(tmp_path, RANKINGS, "packed")
    path = tmp_path / "packed.txt.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    sent = build.submit(database, path)
    assert sent.run_id is not None
    objects.move_out(database, sent.upload_id)
    assert _read(database, sent.upload_id) == path.read_bytes()


def test_what_is_not_there_cannot_be_moved(database: Database, upload_id: int) -> None:
    """Without a store there is a sentence, not a traceback."""
    with pytest.raises(Invalid, match="LEADERBOARD_OBJECTS_URL"):
        objects.move_out(database, upload_id)


def test_a_deleted_task_leaves_its_objects_loose(database: Database, upload_id: int, place: Path) -> None:
    """Their rows stay, without an upload, for the sweep."""
    objects.move_out(database, upload_id)
    with database.write() as session:
        session.execute(delete(Run))
        session.execute(delete(Upload))
        session.execute(delete(Task))
    with database.read() as session:
        assert session.scalars(select(StoredObject.upload_id)).all() == [None]
