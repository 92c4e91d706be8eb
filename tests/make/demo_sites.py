"""Sites with tasks of the demo, scored."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from leaderboard.db.engine import Database
from leaderboard.judges.ops import demo as judges
from leaderboard.site.ops.demo import answers, loading
from tests.make import build

WITH_ANSWERS = (answers, judges)
"""Without the task of rankings, whose scoring takes longest."""


@contextmanager
def demo_database(
    template: Path, folder: Path, tasks: Sequence[ModuleType] = WITH_ANSWERS
) -> Iterator[Database]:
    """A database made of a migrated, empty SQLite file, with these tasks of the demo."""
    path = folder / "demo.sqlite3"
    shutil.copyfile(template, path)
    database = Database(f"sqlite:///{path}")
    loading.load(database, lambda: None, tasks)
    build.drain(database)
    yield database
    database.dispose()
