"""A sent file as one on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile

from leaderboard.trec.read.archives import Source


@contextmanager
def on_disk(source: Source) -> Iterator[Path]:
    """The file as one with a path, for readers that go back or know a file by its first bytes."""
    if isinstance(source, Path):
        yield source
        return
    with NamedTemporaryFile(prefix="sent-") as copy:
        with source.open("rb") as sent:
            copyfileobj(sent, copy)
        copy.flush()
        yield Path(copy.name)
