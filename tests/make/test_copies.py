"""Worlds that are copied are those that would be built, and only where nobody could tell."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.accounts.ops import teams
from leaderboard.core.policy import OPERATOR
from leaderboard.db import engine
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Run, Team
from leaderboard.runs.ops import uploads
from tests.make import build, copies, postgres

RANKINGS = {"1": ["a", "b"], "2": ["d"]}
Open = Callable[[str], tuple[Database, Path]]


@pytest.fixture
def another(sqlite_template: Path, tmp_path: Path) -> Iterator[Open]:
    """Opens an empty database in a folder of its own."""
    opened = []

    def open_it(name: str) -> tuple[Database, Path]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "site.sqlite3").write_bytes(sqlite_template.read_bytes())
        opened.append(Database(f"sqlite:///{folder / 'site.sqlite3'}"))
        return opened[-1], folder

    yield open_it
    for database in opened:
        database.dispose()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names of runs that walk the whole road, where no other test's worlds are kept."""
    names: list[str] = []
    submit = uploads.submit

    def noting(session: object, delivery: uploads.Delivery) -> object:
        names.append(delivery.run_request.name)
        return submit(session, delivery)  # type: ignore[arg-type]

    own = {("leaderboard.runs.ops.uploads", "submit"), ("Kept", "home")}
    own |= {("tests.make.copies", "HARMLESS"), ("tests.make.copies", "_kept")}
    monkeypatch.setattr(copies, "HARMLESS", copies.HARMLESS | own)
    monkeypatch.setattr(copies, "_kept", OrderedDict())
    (tmp_path / "kept").mkdir()
    monkeypatch.setattr(copies.Kept, "home", tmp_path / "kept")
    monkeypatch.setattr(uploads, "submit", noting)
    return names


def _build(place: tuple[Database, Path], *runs: str) -> None:
    build.task(*place)
    for name in runs:
        build.run(*place, RANKINGS, name)


def _rows(database: Database) -> list[tuple[str, int]]:
    with database.read() as session:
        return [
            (name, len(session.scalars(select(Evaluation).where(Evaluation.run_id == run_id)).all()))
            for run_id, name in session.execute(select(Run.id, Run.name).order_by(Run.id))
        ]


def test_a_road_is_walked_once_as_far_as_it_is_the_same(another: Open, sent: list[str]) -> None:
    """The second world copies the first up to where it parts from it, evaluations and files included."""
    one, other, third = another("one"), another("other"), another("third")
    for place, runs in ((one, ("first", "second")), (other, ("first", "second")), (third, ("first", "else"))):
        _build(place, *runs)
        build.drain(place[0])
    assert sent == ["first", "second", "else"]
    assert _rows(one[0]) == _rows(other[0])
    assert [name for name, count in _rows(third[0]) if count] == ["first", "else"]
    assert (other[1] / "second.txt").read_bytes() == (one[1] / "second.txt").read_bytes()


def test_what_no_builder_wrote_ends_the_copies(another: Open, sent: list[str]) -> None:
    """A row that the test itself wrote stays, and what follows it is built."""
    for name in ("one", "other"):
        database, folder = another(name)
        _build((database, folder), "first")
        with database.write() as session:
            session.execute(select(Run)).scalar_one().name = f"renamed-{name}"
        build.run(database, folder, RANKINGS, "second")
        assert [run for run, _ in _rows(database)] == [f"renamed-{name}", "second"]
    assert sent == ["first", "second", "second"]


def test_nothing_is_copied_while_somebody_reads(another: Open, sent: list[str]) -> None:
    """Another connection would find its file exchanged under it."""
    for name in ("one", "other"):
        database, folder = another(name)
        _build((database, folder), "first")
        with database.read() as session:
            assert session.scalars(select(Run.name)).all() == ["first"]
            build.run(database, folder, RANKINGS, "second")
    assert sent == ["first", "second", "second"]


def test_what_a_test_replaces_is_used(
    another: Open, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another limit other rows may come of the same road."""
    _build(another("one"), "first")
    monkeypatch.setattr(build, "TOPICS", ("1",))
    _build(another("other"), "first")
    assert sent == ["first", "first"]


def test_a_tests_own_files_are_left_alone(another: Open, sent: list[str]) -> None:
    """A step that is copied brings what it wrote, and nothing that only lay there when it was kept."""
    for name, rankings in (("one", {"1": ["a"]}), ("other", {"1": ["b"]}), ("third", {"1": ["b"]})):
        database, folder = another(name)
        build.task(database, folder)
        build.submit(database, build.run_file(folder, rankings))
        build.drain(database)
        assert "".join(rankings["1"]) == (folder / "run.txt").read_text().split()[2]
    assert sent == ["run", "run"]


@pytest.fixture
def shared(postgres_server: str) -> Iterator[Callable[[], Database]]:
    """Opens the one database that tests share on PostgreSQL, emptied each time."""
    opened = []

    def open_it() -> Database:
        opened.append(Database(postgres.clear(postgres_server)))
        return opened[-1]

    yield open_it
    for database in opened:
        database.dispose()


@pytest.mark.dialect
def test_rows_are_put_back_as_they_were(
    shared: Callable[[], Database], sent: list[str], tmp_path: Path
) -> None:
    """On PostgreSQL too a road is walked as far as it is new; ids go on after those that were given."""
    seen = []
    for runs in (("first", "second"), ("first", "second"), ("first", "else")):
        database = shared()
        _build((database, tmp_path), *runs)
        build.drain(database)
        seen.append(_rows(database))
        with database.write() as session:
            run = session.scalars(select(Run).order_by(Run.id.desc())).first()
            assert run is not None
            seen[-1].append(("next", teams.ensure(session, OPERATOR, "Another") - run.team_id))
    assert sent == ["first", "second", "else"]
    assert seen[0] == seen[1]
    assert [name for name, count in seen[2] if count] == ["first", "else", "next"]


@pytest.mark.dialect
@pytest.mark.parametrize("is_kept", [True, False])
def test_what_was_written_since_ends_the_copies_of_rows(
    shared: Callable[[], Database], sent: list[str], tmp_path: Path, is_kept: bool
) -> None:
    """Also where it was taken back: a sequence went on, and locks were held."""
    for _ in range(2):
        database = shared()
        _build((database, tmp_path), "first")
        with suppress(RuntimeError), database.write() as session:
            teams.ensure(session, OPERATOR, "Another")
            if not is_kept:
                raise RuntimeError
        build.run(database, tmp_path, RANKINGS, "second")
        with database.read() as session:
            assert (session.scalar(select(Team.id).where(Team.name == "Another")) is not None) is is_kept
    assert sent == ["first", "second", "second"]


@pytest.mark.dialect
def test_a_page_of_before_is_not_shown_again(
    shared: Callable[[], Database], sent: list[str], tmp_path: Path
) -> None:
    """Rows that are put back are a change of the site like any other."""
    for _ in range(2):
        database = shared()
        build.task(database, tmp_path)
        before = engine.present_version(database.engine)
        build.run(database, tmp_path, RANKINGS, "first")
        assert engine.present_version(database.engine) != before
    assert sent == ["first"]
