"""Backups of a site at work: what was acknowledged is in them, bit for bit, and they make a site again."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard
from sqlalchemy import LargeBinary, inspect, select, type_coerce

from leaderboard.core import audit
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, EvaluationMean, Run
from leaderboard.errors import Conflict, Damaged
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.site.ops import backups
from leaderboard.site.ops.backups import BackupHead, RowTable, written
from tests.make import build, people, postgres
from tests.make.damage import turned

RANKINGS = {"1": ["a", "b", "c"], "2": ["d", "a"], "3": ["f", "e"]}
Facts = dict[str, tuple[object, ...]]


def _site(database: Database, folder: Path, runs: int = 2) -> None:
    """A task with two revisions and scored runs, and somebody who can sign in."""
    build.task(database, folder, measures=("AP", "nDCG@10"))
    for number in range(runs):
        build.run(database, folder, {**RANKINGS, "1": ["c", "a"][number % 2 :]}, f"run-{number}")
    build.revise(database, folder, {**build.JUDGMENTS, "1": {"a": 1, "b": 2}})
    build.drain(database)
    people.account(database, "ann")


def _facts(database: Database) -> Facts:
    """Run by name -> digest of its rankings, its file as sent, its scores as stored, its means."""
    facts: Facts = {}
    with database.read() as session:
        runs = session.execute(select(Run.id, Run.name, Run.upload_id, Run.ranking_sha256)).all()
        for run in runs:
            scores = select(Evaluation.id, Evaluation.measure, type_coerce(Evaluation.scores, LargeBinary))
            rows = session.execute(scores.where(Evaluation.run_id == run.id).order_by(Evaluation.id)).all()
            mine = EvaluationMean.evaluation_id.in_([row.id for row in rows])
            of_sets = sorted(session.scalars(select(EvaluationMean.mean).where(mine)))
            stored = StoredFile(database, run.upload_id).open().read()
            facts[run.name] = (run.ranking_sha256, stored, [tuple(row) for row in rows], of_sets)
    return facts


@contextmanager
def _empty_place(url: str, folder: Path, *, migrated: bool = False) -> Iterator[str]:
    """The URL of an empty place on the same kind of database."""
    if url.startswith("postgresql"):
        with postgres.fresh(url.split("?")[0], migrated=migrated) as place:
            yield place
        return
    place = f"sqlite:///{folder / 'another.sqlite3'}"
    if migrated:
        database = Database(place)
        schema.upgrade(database)
        database.dispose()
    yield place


@pytest.mark.dialect
def test_a_backup_makes_the_same_site_again(database: Database, database_url: str, tmp_path: Path) -> None:
    """Runs, files, scores and accounts are equal; the restored site takes and scores the next run."""
    _site(database, tmp_path)
    made = backups.back_up(database, tmp_path / "site.backup")
    assert (tmp_path / "site.backup").stat().st_mode & 0o777 == 0o600
    with _empty_place(database_url, tmp_path) as place:
        restored = backups.restore(tmp_path / "site.backup", place)
        assert restored.counts == made.counts
        another = Database(place)
        assert _facts(another) == _facts(database)
        build.run(another, tmp_path, RANKINGS, "afterwards")
        build.drain(another)
        assert len(_facts(another)["afterwards"][2]) == 2
        with another.read() as session:
            assert audit.verify(session).broken_at is None
        with pytest.raises(Conflict):
            backups.restore(tmp_path / "site.backup", place)
        another.dispose()


@pytest.mark.dialect
@pytest.mark.trial
def test_a_backup_under_load_has_all_that_was_acknowledged_before(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    """While others send runs, a backup has every run acknowledged before it began, whole and scored."""
    _site(database, tmp_path)
    before, stopping, some = _facts(database), threading.Event(), threading.Event()
    sent: list[str] = []

    def send(sender: int) -> None:
        folder = tmp_path / f"sender-{sender}"
        folder.mkdir()
        while not stopping.is_set():
            name = f"load-{sender}-{len(sent)}"
            build.run(database, folder, RANKINGS, name, team_name=f"Team {sender}")
            sent.append(name)
            some.set()

    senders = [threading.Thread(target=send, args=(number,)) for number in range(2)]
    for sender in senders:
        sender.start()
    some.wait()
    acknowledged = list(sent)
    try:
        backups.back_up(database, tmp_path / "loaded.backup")
    finally:
        stopping.set()
        for sender in senders:
            sender.join()
    with _empty_place(database_url, tmp_path) as place:
        backups.restore(tmp_path / "loaded.backup", place)
        another = Database(place)
        found = _facts(another)
        assert set(acknowledged) <= found.keys() <= {*before, *sent}
        assert {name: found[name] for name in before} == before
        build.drain(another)
        build.drain(database)
        whole = _facts(database)
        for name, facts in _facts(another).items():
            assert _without_ids(facts) == _without_ids(whole[name])
        another.dispose()


def _without_ids(facts: tuple[object, ...]) -> tuple[object, ...]:
    digest, stored, rows, means = facts
    assert isinstance(rows, list)
    return digest, stored, sorted(row[1:] for row in rows), means


def test_a_broken_file_is_refused(database: Database, tmp_path: Path) -> None:
    """Whether cut short, or with one bit turned wherever it is: nothing is restored, and nothing is left."""
    _site(database, tmp_path, runs=1)
    backups.back_up(database, tmp_path / "site.backup", verify=False)
    whole, broken = (tmp_path / "site.backup").read_bytes(), tmp_path / "broken.backup"
    place = tmp_path / "place.sqlite3"
    lengths, bits = range(0, len(whole), len(whole) // 40), range(0, 8 * len(whole), len(whole) // 5)
    for body in (*(whole[:length] for length in lengths), *(turned(whole, bit) for bit in bits)):
        broken.write_bytes(body)
        with pytest.raises(Damaged, match="not a valid backup"):
            backups.restore(broken, f"sqlite:///{place}")
    assert not list(tmp_path.glob("place*"))


def test_rows_that_were_changed_are_refused_though_the_file_is_whole(
    database: Database, tmp_path: Path
) -> None:
    """Each table has a digest of its rows, beside that of the file."""
    _site(database, tmp_path, runs=1)
    path = tmp_path / "site.backup"
    backups.back_up(database, path, verify=False)
    form, frame = backups.FORM, path.read_bytes()[len(backups.FORM) : -hashlib.sha256().digest_size]
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(frame)
    start = plain.index(b'"title of 1"')
    body = form + zstandard.compress(plain[:start] + b'"title of 7"' + plain[start + 12 :])
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(Damaged, match="the table topic does not match its digest"):
        backups.restore(path, f"sqlite:///{tmp_path / 'place.sqlite3'}")


@pytest.mark.dialect
def test_a_site_is_copied_to_the_other_database_and_back(
    database: Database, database_url: str, postgres_server: str, tmp_path: Path
) -> None:
    """SQLite to PostgreSQL and PostgreSQL to SQLite: equal digests, and new rows get new numbers."""
    _site(database, tmp_path)
    with _other_kind(database_url, postgres_server, tmp_path) as place:
        another = Database(place)
        backups.copy(database, another)
        assert _facts(another) == _facts(database)
        build.run(another, tmp_path, RANKINGS, "afterwards")
        build.drain(another)
        assert len(_facts(another)["afterwards"][2]) == 2
        with pytest.raises(Conflict, match="empty database"):
            backups.copy(database, another)
        another.dispose()


@contextmanager
def _other_kind(url: str, server: str, folder: Path) -> Iterator[str]:
    other = f"{server}/any" if url.startswith("sqlite") else "sqlite://"
    with _empty_place(other, folder, migrated=True) as place:
        yield place


def test_a_backup_that_fails_leaves_nothing(database: Database, tmp_path: Path) -> None:
    """A file that cannot be restored never gets its name, and an older one of that name stays."""
    _site(database, tmp_path, runs=1)
    target = tmp_path / "backups" / "site.backup"
    target.parent.mkdir()
    target.write_bytes(b"the one before")

    def broken(path: Path, url: str) -> None:
        raise Damaged("It does not read back.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backups, "restore", broken)
        with pytest.raises(Damaged):
            backups.back_up(database, target)
    assert [path.name for path in target.parent.iterdir()] == ["site.backup"]
    assert target.read_bytes() == b"the one before"
    with database.read() as session:
        assert audit.last_backup(session) is None
    backups.back_up(database, target)
    with database.read() as session:
        assert audit.last_backup(session) is not None


@pytest.mark.dialect
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ('team" (name) VALUES (1) --', "id"),
        ("nothing", "id"),
        ("team", 'id") VALUES (1) --'),
        ("team", "nothing"),
    ],
)
def test_a_file_that_somebody_made_chooses_no_statement(
    database_url: str, tmp_path: Path, name: str, column: str
) -> None:
    """Names of tables and columns are those of the schema; a file with others is refused whole."""
    head = BackupHead(schema.head(), "0", "2026-01-01T00:00:00+00:00", "sqlite")
    with written(tmp_path / "made.backup", head) as archive:
        archive.add(RowTable(name, (column,), ("number",), (column,)), [(1,)])
    with _empty_place(database_url, tmp_path) as place:
        with pytest.raises(Damaged, match="was not made by this program"):
            backups.restore(tmp_path / "made.backup", place)
        left = Database(place)
        assert not inspect(left.engine).get_table_names()
        left.dispose()
