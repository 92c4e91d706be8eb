"""Worlds built once a process and copied: the same road leads to the same rows, so one test walks it.

A road may have many steps, such as a task, two runs and their evaluation: tests that begin alike copy what
they have in common, and walk from where they part. SQLite's file is copied; on PostgreSQL, rows are.
"""

import fcntl
import hashlib
import inspect
import io
import os
import pickle
import shutil
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

import pytest
from sqlalchemy import text

from leaderboard.db.engine import Database
from leaderboard.db.tables import SiteVersion, metadata
from tests.make import contents, postgres
from tests.make.contents import Contents

Builder = TypeVar("Builder", bound=Callable[..., Any])
Steps = tuple[str, ...]
PLAIN = (str, int, float, bool, bytes, date, Enum, type(None))
MOST_KEPT = 300
"""Worlds of a process; each takes about a megabyte of memory."""
AT_REST_NS = 10**9
"""When the file of a world was last written to, says its stamp, until somebody does write to it."""
WATCHING = {"caplog", "capfd", "capsys", "recwarn"}
"""Fixtures of tests that look at the road itself."""
HARMLESS = {("leaderboard.scoring.ops.statistics.requests", "kept"), ("leaderboard.db.schema", "run_to")}
"""What a test may replace, by module and name, without another world coming of it."""


@dataclass(frozen=True)
class Kept:
    """What a builder left: its database, the files it wrote, and what it returned, pickled."""

    home: ClassVar[Path]
    """The folder of all their databases."""

    world: Path | Contents
    """SQLite's file, or the rows of PostgreSQL."""
    files: Mapping[Path, bytes]
    result: bytes


_kept: OrderedDict[Steps, Kept] = OrderedDict()
_roads: WeakKeyDictionary[Database, Steps | None] = WeakKeyDictionary()
"""By which steps each test's database came to what it holds; None: also by what was no builder."""
_held: WeakKeyDictionary[Database, tuple[Contents, int]] = WeakKeyDictionary()
"""What each on PostgreSQL held after its last step, and the number of the last transaction that wrote."""
_folders: WeakKeyDictionary[Database, Path] = WeakKeyDictionary()
"""Where the builders of each on PostgreSQL keep files; on SQLite that is the database's own folder."""
_patches: list[pytest.MonkeyPatch] = []
_watched: list[bool] = [False]


@pytest.fixture(scope="session", autouse=True)
def folder_of_worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where the worlds of this process are kept until its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kept, "home", tmp_path_factory.mktemp("worlds"), raising=False)
        yield


@contextmanager
def patching() -> Iterator[pytest.MonkeyPatch]:
    """A MonkeyPatch under which nothing is copied: what it replaces may lead to other rows."""
    with pytest.MonkeyPatch.context() as patch:
        _patches.append(patch)
        try:
            yield patch
        finally:
            _patches.remove(patch)


def watch(item: pytest.Item) -> None:
    """Note whether the test that begins looks at the road itself."""
    _watched[0] = not WATCHING.isdisjoint(getattr(item, "fixturenames", ()))


def is_copy_of(database: Database, world: str) -> None:
    """Note that a database holds what this process made once under that name, from where builders go on."""
    _roads[database] = (world,)
    os.utime(str(database.engine.url.database), ns=(AT_REST_NS, AT_REST_NS))


def built_once(build: Builder) -> Builder:
    """Make a builder or fixture `build(database, folder, *plain values)` copy what it made before.

    A builder `build(database, *plain values)` works in the database's own folder, or where the one before it
    did. It walks the whole road where the database is neither that of the tests on PostgreSQL nor SQLite
    in that folder, where it holds what did not come of such builders alone, where a value is not plain (str,
    numbers, dates, frozen records, files of the folder; tuples, lists, sets and dictionaries of them), where
    the test replaces something or looks at what is logged or printed, and the first time.
    """
    signature = inspect.signature(build)
    named_so = [name for name in ("folder", "tmp_path") if name in signature.parameters]

    @wraps(build)
    def building(*arguments: Any, **named: Any) -> Any:
        (_, database), *rest = signature.bind(*arguments, **named).arguments.items()
        folder = rest.pop(0)[1] if named_so else _folder(database)
        earlier = None if folder is None or _is_looked_at() else _road(database, folder)
        step = None if earlier is None else _step(rest, folder)
        if step is None:
            _roads[database] = None
            return build(*arguments, **named)
        steps = (*earlier, f"{build.__module__}.{build.__qualname__} {step}")
        if steps in _kept:
            result = _copied(steps, database, folder)
            _kept.move_to_end(steps)
        else:
            before = _files(database, folder)
            result = build(*arguments, **named)
            _keep(steps, result, database, folder, before)
        return result

    return building  # type: ignore[return-value]


def _is_looked_at() -> bool:
    """Whether the test replaces what a builder may use, or looks at what it says."""
    replaced: Iterator[Any] = (one for patch in _patches for one in patch._setattr)
    others = any(patch._setitem or patch._cwd for patch in _patches)
    return _watched[0] or others or any(_may_lead_elsewhere(*_name(*one)) for one in replaced)


def _may_lead_elsewhere(module: str, name: str) -> bool:
    """Whether a builder may come to other rows; none asks what answers browsers and programs."""
    return (module, name) not in HARMLESS and "web" not in module.split(".")


def _name(owner: Any, name: str, _: object) -> tuple[str, str]:
    return getattr(owner, "__name__", ""), name


def _step(values: list[tuple[str, Any]], folder: Path) -> str | None:
    """What tells a step from others of its builder, None where its values do not."""
    try:
        return repr(_plain(values, folder)).replace(str(folder), "~")
    except ValueError:
        return None


def _plain(value: Any, folder: Path) -> Any:
    """What tells the value from others; raises ValueError where its text would not."""
    if isinstance(value, tuple | list):
        return [_plain(one, folder) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_plain(one, folder)) for one in value)
    if isinstance(value, dict):
        return [_plain(pair, folder) for pair in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(_plain(getattr(value, one.name), folder) for one in fields(value))]
    if isinstance(value, Path) and value.is_relative_to(folder):
        return [str(value), hashlib.sha256(value.read_bytes()).hexdigest() if value.is_file() else None]
    if isinstance(value, PLAIN):
        return value
    raise ValueError(value)


def _road(database: Database, folder: Path) -> Steps | None:
    """The steps that made all that the test's own database holds, None where others may have."""
    path = Path(database.engine.url.database or "")
    if not (path.parent == folder if database.is_sqlite else path.name == postgres.TESTED):
        return None
    if database in _roads:
        steps = _roads[database]
        return steps if steps is not None and _is_as_left(database, folder) else None
    if not _is_empty(database):
        return None
    if not database.is_sqlite:
        _set_out(database, (database.engine.dialect.name,), folder, Contents())
    return (database.engine.dialect.name,)


def _is_as_left(database: Database, folder: Path) -> bool:
    """Whether nobody has written since the last step, and nobody has the database open for writing."""
    if database.is_sqlite:
        path = Path(str(database.engine.url.database))
        return _is_at_rest(database) and path.stat().st_mtime_ns == AT_REST_NS
    held, number = _held[database]
    _held[database] = held, contents.count_writing(database)
    return _folders[database] == folder and _held[database][1] == number + 1


def _folder(database: Database) -> Path | None:
    """Where a builder works that is told of no folder, None where no other was told of one."""
    if database.is_sqlite:
        return Path(str(database.engine.url.database)).parent
    return _folders.get(database)


def _is_empty(database: Database) -> bool:
    if not database.is_sqlite:
        return contents.take(database) == Contents()
    # The number of changes is there from the start.
    tables = (table for table in metadata.tables if table != SiteVersion.__tablename__)
    written = " UNION ALL ".join(f"SELECT 1 FROM {table}" for table in tables)
    with database.engine.connect() as connection:
        return connection.scalar(text(f"SELECT 1 WHERE EXISTS ({written})")) is None


def _is_at_rest(database: Database) -> bool:
    """Whether nobody has SQLite's file open: the last connection that is closed puts its log away."""
    database.dispose()
    path = Path(str(database.engine.url.database))
    return not path.with_name(f"{path.name}-wal").exists()


def _files(database: Database, folder: Path) -> dict[Path, bytes]:
    """What the files of the folder hold, but for SQLite's."""
    own = Path(database.engine.url.database or "").name
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(own))
    return {path.relative_to(folder): path.read_bytes() for path in found}


def _keep(steps: Steps, result: Any, database: Database, folder: Path, before: Mapping[Path, bytes]) -> None:
    _roads[database] = None
    if database.is_sqlite and not _is_at_rest(database):
        return
    # A file that was there before is the test's own, or an earlier step's: the next test may have another.
    written = {path: body for path, body in _files(database, folder).items() if before.get(path) != body}
    world: Path | Contents
    if database.is_sqlite:
        world = Kept.home / f"world{hashlib.sha256(repr(steps).encode()).hexdigest()[:16]}"
        shutil.copyfile(str(database.engine.url.database), world)
    else:
        world = contents.take(database)
    _set_out(database, steps, folder, world)
    _kept[steps] = Kept(world, written, _pickled(result, database, folder))
    if len(_kept) > MOST_KEPT:
        _, oldest = _kept.popitem(last=False)
        if isinstance(oldest.world, Path):
            oldest.world.unlink()


def _set_out(database: Database, steps: Steps, folder: Path, world: Path | Contents) -> None:
    """Note where a database stands, so that any later writing shows."""
    _roads[database] = steps
    if isinstance(world, Contents):
        _folders[database] = folder
        _held[database] = world, contents.count_writing(database)
    else:
        os.utime(str(database.engine.url.database), ns=(AT_REST_NS, AT_REST_NS))


def _copied(steps: Steps, database: Database, folder: Path) -> Any:
    kept = _kept[steps]
    for path, body in kept.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(body)
    if isinstance(kept.world, Contents):
        contents.put(database, kept.world, _held[database][0])
    else:
        database.dispose()
        shutil.copyfile(kept.world, str(database.engine.url.database))
    _set_out(database, steps, folder, kept.world)
    return _unpickled(kept.result, database, folder)


def _pickled(result: Any, database: Database, folder: Path) -> bytes:
    """The result with the test's own database and the files of its folder left open."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> tuple[str, ...] | None:
            if value is database:
                return ("database",)
            is_inside = isinstance(value, Path) and value.is_relative_to(folder)
            return ("path", str(value.relative_to(folder))) if is_inside else None

    stream = io.BytesIO()
    Pickler(stream).dump(result)
    return stream.getvalue()


def _unpickled(result: bytes, database: Database, folder: Path) -> Any:
    class Unpickler(pickle.Unpickler):
        def persistent_load(self, kind: Any) -> Any:
            return database if kind == ("database",) else folder / kind[1]

    return Unpickler(io.BytesIO(result)).load()


def once_a_run(temporary: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """A folder that one process of a run builds for all of them; the others wait for it."""
    here = temporary.getbasetemp()
    shared = here.parent if "PYTEST_XDIST_WORKER" in os.environ else here
    folder, part = shared / name, shared / f"{name}.part"
    with (shared / f"{name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            shutil.rmtree(part, ignore_errors=True)
            build(part)
            part.rename(folder)
    return folder
