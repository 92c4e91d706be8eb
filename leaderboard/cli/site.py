"""What commands on a site's database share: where it is, and that its schema fits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.settings import Settings

DATA = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the SQLite database [LEADERBOARD_DATA, else ./leaderboard-data].",
)

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file that must be there."""


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The --data option every command on a site takes."""
    return DATA(command)


@contextmanager
def opened(data: Path | None) -> Iterator[tuple[Database, Settings]]:
    """The site's database, refused where its schema does not fit this program."""
    settings = Settings.from_env(data=data)
    database = open_database(settings)
    try:
        schema.require_head(database)
        yield database, settings
    finally:
        database.dispose()


def open_database(settings: Settings) -> Database:
    """The database of the settings; the data folder is made, readable by its owner only, where needed."""
    if not settings.database_url:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Database(settings.url)
