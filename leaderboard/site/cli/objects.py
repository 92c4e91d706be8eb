"""`leaderboard objects`: move submitted files to an object store and back."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from leaderboard.core.cli.site import data_option, opened
from leaderboard.db.engine import Database
from leaderboard.site.ops import objects as objects_services


@click.group()
def objects() -> None:
    """Move submitted files to an object store (LEADERBOARD_OBJECTS_URL) and back."""


@objects.command()
@data_option
def show(data: Path | None) -> None:
    """Show the number of files in the object store and of files still to move there."""
    with opened(data) as (database, settings), database.read() as session:
        kept = objects_services.count_moves(session)
        waiting = (
            len(objects_services.due_moves(session, settings.objects_bytes)) if settings.objects_bytes else 0
        )
    click.echo(
        f"{kept.files:,} files are in the object store ({kept.bytes:,} bytes); {waiting:,} are still to be "
        "moved there."
    )


@objects.command()
@data_option
def out(data: Path | None) -> None:
    """Move files larger than LEADERBOARD_OBJECTS_BYTES into the object store; works while the site runs."""
    with opened(data) as (database, settings):
        objects_services.store_of(database)
        with database.read() as session:
            waiting = (
                objects_services.due_moves(session, settings.objects_bytes) if settings.objects_bytes else []
            )
        moved = _moved(database, waiting, objects_services.move_out)
    click.echo(f"{moved:,} files moved into the object store.")


@objects.command("in")
@data_option
def in_(data: Path | None) -> None:
    """Move all files back into the database; their objects are deleted after LEADERBOARD_OBJECTS_KEEP_DAYS.

    Evaluators with LEADERBOARD_OBJECTS_URL would move them out again: first restart these with
    LEADERBOARD_OBJECTS_BYTES=0.
    """
    with opened(data) as (database, _):
        objects_services.store_of(database)
        with database.read() as session:
            kept = objects_services.kept_elsewhere(session)
        moved = _moved(database, kept, objects_services.move_back)
    click.echo(f"{moved:,} files moved into the database.")


def _moved(database: Database, uploads: Sequence[int], move: Callable[[Database, int], bool]) -> int:
    with click.progressbar(uploads, label="files", file=sys.stderr) as shown:
        return sum(move(database, upload_id) for upload_id in shown)
