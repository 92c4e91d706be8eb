"""Shared parts of site commands: database location and schema check."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leaderboard.errors import Invalid
from leaderboard.settings import DATABASE_FILE, Settings

if TYPE_CHECKING:
    # A process that only starts others should not load SQLAlchemy.
    from leaderboard.db.engine import Database


class UsualCommand(click.Group):
    """The subcommands; without the name of one, the first that was added runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the name of the default subcommand if none is given."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


class RequiredUnless(click.Option):
    """An option that is required unless another one is given; the help says so, as of any required one."""

    def __init__(self, *args: Any, unless: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.unless = unless
        self.help = f"{self.help}  [required unless {unless}]"

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """The value; raises MissingParameter where neither option is given."""
        alternative = next(param.name for param in ctx.command.params if self.unless in param.opts)
        if not opts.get(self.name or "") and alternative not in opts and not ctx.resilient_parsing:
            raise click.MissingParameter(ctx=ctx, param=self)
        return super().handle_parse_result(ctx, opts, args)


note_option = click.option(
    "--note", cls=RequiredUnless, unless="--preview", default="", help="Change note, shown with the revision."
)


DATA = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the SQLite database [LEADERBOARD_DATA, else ./leaderboard-data].",
)

ADDRESS_FILE = "address"

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file that must be there."""


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The --data option every command on a site takes."""
    return DATA(command)


def keep_private(settings: Settings) -> None:
    """Make every file readable by its owner only, from now until the command ends.

    What an earlier version left open in the data folder is closed now; raises Invalid where that fails.
    """
    before = os.umask(0o077)
    click.get_current_context().call_on_close(lambda: os.umask(before))
    if os.name == "posix":
        for path in _own_files(settings):
            _close_to_others(path)


def _own_files(settings: Settings) -> Iterator[Path]:
    """The database with its copies and logs, where it is a file, and the folders of uploads and backups."""
    yield from (settings.data / name for name in ("tmp", "backups") if (settings.data / name).is_dir())
    yield from settings.data.glob(f"{DATABASE_FILE}*")
    if settings.database_url.startswith("sqlite"):
        from sqlalchemy import make_url

        path = Path(make_url(settings.database_url).database or "")
        if path.name:
            yield from path.parent.glob(f"{escape(path.name)}*")


def _close_to_others(path: Path) -> None:
    mode = path.lstat().st_mode
    if mode & 0o077 and not path.is_symlink():
        try:
            path.chmod(mode & 0o700)
        except OSError as error:
            remedy = f"run `chmod go= {path}` as its owner."
            raise Invalid(f"{path} can be read by other users of this machine; {remedy}") from error


def site_address(settings: Settings) -> str:
    """The site's address: as set, else as `serve` left it in the data folder, else the default."""
    file = settings.data / ADDRESS_FILE
    if not settings.public_url and file.is_file():
        return file.read_text(encoding="utf-8").strip()
    return settings.address


def leave_address(settings: Settings) -> str:
    """The address of a site that starts, kept in the data folder for commands that print links."""
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    address = settings.address
    (settings.data / ADDRESS_FILE).write_text(f"{address}\n", encoding="utf-8")
    return address


@contextmanager
def opened(data: Path | None) -> Iterator[tuple["Database", Settings]]:
    """The site's database: a SQLite file that is not there yet is made, another schema is refused."""
    from leaderboard.db import schema

    settings = Settings.from_env(data=data)
    database = open_database(settings)
    try:
        if database.is_sqlite and schema.current(database) is None:
            keep_private(settings)
            schema.upgrade(database)
        schema.require_head(database)
        yield database, settings
    finally:
        database.dispose()


def open_database(settings: Settings) -> "Database":
    """The database of the settings; the data folder is made, readable by its owner only, where needed."""
    from leaderboard.db.engine import Database

    if not settings.database_url:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Database(settings.url, settings.lock_wait_s, pool=settings.pool, objects_url=settings.objects_url)
