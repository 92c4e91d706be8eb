"""Worlds built once a process and copied: the same road leads to the same rows, so one test walks it.

On SQLite a road may have many steps, such as a task, two runs and their evaluation: tests that begin alike
copy what they have in common, and walk from where they part.
"""

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
from tests.make import postgres

Builder = TypeVar("Builder", bound=Callable[..., Any])
Steps = tuple[str, ...]
WORLD = "world"
PLAIN = (str, int, float, bool, bytes, date, Enum, type(None))
MOST_KEPT = 300
"""Worlds of a process; each takes about a megabyte of memory."""
AT_REST_NS = 10**9
"""When the file of a world was last written to, says its stamp, until somebody does write to it."""
WATCHING = {"caplog", "capfd", "capsys", "recwarn"}
"""Fixtures of tests that look at the road itself."""
HARMLESS = {("leaderboard.services.statistics.requests", "kept")}
"""What a test may replace, by module and name, without another world coming of it."""


@dataclass(frozen=True)
class Kept:
    """What a builder left: its database, the files it wrote, and what it returned, pickled."""

    home: ClassVar[Path]
    """The folder of all their databases."""

    world: Path
    """SQLite's file; on PostgreSQL the name of a database that takes no connections."""
    files: Mapping[Path, bytes]
    result: bytes


_kept: OrderedDict[Steps, Kept] = OrderedDict()
_roads: WeakKeyDictionary[Database, Steps | None] = WeakKeyDictionary()
"""By which steps each test's database came to what it holds; None: also by what was no builder."""
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


def built_once(build: Builder) -> Builder:
    """Make a builder or fixture `build(database, folder, *plain values)` copy what it made before.

    A builder `build(database, *plain values)` works in the database's own folder. It walks the whole road
    where the database is neither the one that tests share on PostgreSQL nor SQLite in that folder, where it
    holds what did not come of such builders alone, where a value is not plain (str, numbers, dates, frozen
    records, files of the folder; tuples, lists, sets and dictionaries of them), where the test replaces
    something or looks at what is logged or printed, and the first time.
    """
    signature = inspect.signature(build)
    has_folder = "folder" in signature.parameters

    @wraps(build)
    def building(*arguments: Any, **named: Any) -> Any:
        (_, database), *rest = signature.bind(*arguments, **named).arguments.items()
        folder = rest.pop(0)[1] if has_folder else Path(str(database.engine.url.database)).parent
        earlier = (
            None if _is_looked_at() or not (has_folder or database.is_sqlite) else _road(database, folder)
        )
        try:
            step = repr(_plain(rest, folder)).replace(str(folder), "~")
        except ValueError:
            earlier = None
        if earlier is None:
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
    return _watched[0] or others or any(_name(*one) not in HARMLESS for one in replaced)


def _name(owner: Any, name: str, _: object) -> tuple[str, str]:
    return getattr(owner, "__name__", ""), name


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
    if database not in _roads:
        return (database.engine.dialect.name,) if _is_empty(database) else None
    steps = _roads[database]
    if steps is None or not database.is_sqlite or not _is_at_rest(database):
        return None
    return steps if path.stat().st_mtime_ns == AT_REST_NS else None


def _is_empty(database: Database) -> bool:
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
    world = Kept.home / f"{WORLD}{hashlib.sha256(repr(steps).encode()).hexdigest()[:16]}"
    if database.is_sqlite:
        shutil.copyfile(str(database.engine.url.database), world)
        _set_out(database, steps)
    else:
        database.dispose()
        postgres.copy(str(database.engine.url), postgres.TESTED, world.name)
    _kept[steps] = Kept(world, written, _pickled(result, database, folder))
    if len(_kept) > MOST_KEPT:
        oldest = next(steps for steps in _kept if steps[0] == "sqlite")
        _kept.pop(oldest).world.unlink()


def _set_out(database: Database, steps: Steps) -> None:
    """Note where a database stands, and stamp its file so that any later writing shows."""
    path = Path(str(database.engine.url.database))
    os.utime(path, ns=(AT_REST_NS, AT_REST_NS))
    _roads[database] = steps


def _copied(steps: Steps, database: Database, folder: Path) -> Any:
    kept = _kept[steps]
    database.dispose()
    for path, body in kept.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(body)
    if database.is_sqlite:
        shutil.copyfile(kept.world, str(database.engine.url.database))
        _set_out(database, steps)
    else:
        postgres.copy(str(database.engine.url), kept.world.name, postgres.TESTED)
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
