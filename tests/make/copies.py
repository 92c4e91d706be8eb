"""Worlds built once a process and copied: the same road leads to the same rows, so one test walks it."""

import inspect
import io
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from sqlalchemy import text

from leaderboard.db.engine import Database
from leaderboard.db.tables import metadata
from tests.make import postgres

Builder = TypeVar("Builder", bound=Callable[..., Any])
WORLD = "world"
PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Kept:
    """What a builder left: a folder with its database and files, and what it returned, pickled."""

    home: ClassVar[Path]
    """The folder of them all."""

    folder: Path
    result: bytes


_kept: dict[tuple[str, ...], Kept] = {}


@pytest.fixture(scope="session", autouse=True)
def folder_of_worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where the worlds of this process are kept until its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kept, "home", tmp_path_factory.mktemp("worlds"), raising=False)
        yield


def built_once(build: Builder) -> Builder:
    """Make a builder or fixture `build(database, folder, *plain values)` copy what it made before.

    It walks the whole road where the database is neither the one that tests share on PostgreSQL nor SQLite in
    that folder, or holds anything already, where a value is not plain (str, numbers, tuples, lists and
    dictionaries of them), and the first time.
    """
    signature = inspect.signature(build)

    @wraps(build)
    def building(*arguments: Any, **named: Any) -> Any:
        (_, database), (_, folder), *rest = signature.bind(*arguments, **named).arguments.items()
        if not (_is_plain(rest) and _is_new(database, folder)):
            return build(*arguments, **named)
        key = database.engine.dialect.name, f"{build.__module__}.{build.__qualname__}", repr(rest)
        if key in _kept:
            return _copied(_kept[key], database, folder)
        result = build(*arguments, **named)
        _keep(key, result, database, folder)
        return result

    return building  # type: ignore[return-value]


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    return isinstance(value, PLAIN)


def _is_new(database: Database, folder: Path) -> bool:
    """Whether this is the test's own database and no table has a row yet."""
    name = database.engine.url.database or ""
    if not (Path(name).parent == folder if database.is_sqlite else name == postgres.TESTED):
        return False
    written = " UNION ALL ".join(f"SELECT 1 FROM {table}" for table in metadata.tables)
    with database.engine.connect() as connection:
        return connection.scalar(text(f"SELECT 1 WHERE EXISTS ({written})")) is None


def _keep(key: tuple[str, ...], result: Any, database: Database, folder: Path) -> None:
    # The last connection that is closed writes SQLite's log back into the file.
    database.dispose()
    kept = Kept.home / str(len(_kept))
    if database.is_sqlite:
        path = Path(str(database.engine.url.database))
        if path.with_name(f"{path.name}-wal").exists():
            return
        shutil.copytree(folder, kept, ignore=shutil.ignore_patterns(path.name))
        shutil.copyfile(path, kept / WORLD)
    else:
        shutil.copytree(folder, kept)
        postgres.copy(str(database.engine.url), postgres.TESTED, f"{WORLD}{len(_kept)}")
    _kept[key] = Kept(kept, _pickled(result, database, folder))


def _copied(kept: Kept, database: Database, folder: Path) -> Any:
    database.dispose()
    shutil.copytree(kept.folder, folder, ignore=shutil.ignore_patterns(WORLD), dirs_exist_ok=True)
    if database.is_sqlite:
        shutil.copyfile(kept.folder / WORLD, str(database.engine.url.database))
    else:
        postgres.copy(str(database.engine.url), f"{WORLD}{kept.folder.name}", postgres.TESTED)
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
