"""What is left over in an object store: removed when it is old, and never what something refers to."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, StoredObject
from leaderboard.site.ops import objects
from tests.make import build, stores

pytest.importorskip("obstore", reason="the extra objects is not installed")
pytestmark = pytest.mark.dialect

KEEP_DAYS = 30


@pytest.fixture
def upload_id(database: Database, tmp_path: Path) -> int:
    """A file in the object store."""
    stores.folder_store(database, tmp_path)
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, {"1": ["a", "b"], "2": ["d"], "3": ["e"]})
    with database.read() as session:
        upload_id = session.scalars(select(Run.upload_id).where(Run.id == run_id)).one()
    objects.move_out(database, upload_id)
    return upload_id


def _age(folder: Path, days: int) -> None:
    """Make all objects that old."""
    moment = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for file in stores.objects_in(folder / "objects"):
        os.utime(file, (moment, moment))


def _loose_for(database: Database, days: float) -> None:
    with database.write() as session:
        since = datetime.now(UTC) - timedelta(days=days)
        session.execute(
            update(StoredObject).where(StoredObject.upload_id.is_(None)).values(loose_since=since)
        )


def test_what_is_referred_to_stays_however_old(database: Database, upload_id: int, tmp_path: Path) -> None:
    """The file of a run of ten years ago."""
    _age(tmp_path, 3650)
    assert objects.sweep(database, KEEP_DAYS) == 0
    assert len(stores.objects_in(tmp_path / "objects")) == 1


def test_a_loose_object_is_kept_for_backups_that_refer_to_it(
    database: Database, upload_id: int, tmp_path: Path
) -> None:
    """Its days count from when it became loose, not from when it was put there."""
    _age(tmp_path, 3650)
    objects.move_back(database, upload_id)
    for days, left in ((KEEP_DAYS - 1, 1), (KEEP_DAYS + 1, 0)):
        _loose_for(database, days)
        assert objects.sweep(database, KEEP_DAYS) == 1 - left
        assert len(stores.objects_in(tmp_path / "objects")) == left
    with database.read() as session:
        assert session.scalars(select(StoredObject)).all() == []


def test_days_of_a_deleted_upload_begin_with_the_first_sweep(
    database: Database, upload_id: int, tmp_path: Path
) -> None:
    """The deletion itself only takes the reference away."""
    _age(tmp_path, 3650)
    with database.write() as session:
        session.execute(update(StoredObject).values(upload_id=None))
    assert objects.sweep(database, 0) == 0
    with database.read() as session:
        assert session.scalars(select(StoredObject.loose_since)).one() is not None
    assert len(stores.objects_in(tmp_path / "objects")) == 1


def test_what_a_crash_left_goes_when_it_is_old(database: Database, upload_id: int, tmp_path: Path) -> None:
    """An object without a row may be about to get it, or a backup may have its row; then it is nobody's."""
    objects.move_back(database, upload_id)
    left = objects.put_moved(database, upload_id)
    assert left is not None
    assert objects.sweep(database, 0) == 0
    _age(tmp_path, KEEP_DAYS - 1)
    assert objects.sweep(database, KEEP_DAYS) == 0
    _age(tmp_path, KEEP_DAYS + 1)
    assert objects.sweep(database, KEEP_DAYS) == 1
    assert not (tmp_path / "objects" / left.key).exists()


def test_what_others_keep_there_is_left(database: Database, upload_id: int, tmp_path: Path) -> None:
    """Only keys that this program makes are removed."""
    other = tmp_path / "objects" / "ab" / "notes.zst"
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(b"mine")
    _age(tmp_path, 3650)
    assert objects.sweep(database, KEEP_DAYS) == 0
    assert other.exists()
