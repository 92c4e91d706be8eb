"""`leaderboard objects`: files as sent in an object store, moved there and back."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from leaderboard.cli.site import data_option, opened
from leaderboard.db.engine import Database
from leaderboard.services import objects as objects_services


@click.group()
def objects() -> None:
    """Files as sent in an object store (LEADERBOARD_OBJECTS_URL)."""


@objects.command()
@data_option
def show(data: Path | None) -> None:
    """Say how many files are in the object store, and how many are to go there."""
    with opened(data) as (database, settings), database.read() as session:
        kept = objects_services.count_moves(session)
        waiting = (
            len(objects_services.due_moves(session, settings.objects_bytes)) if settings.objects_bytes else 0
        )
    click.echo(
        f"{kept.files:,} files are in the object store, {kept.bytes:,} bytes; {waiting:,} are to go there."
    )


@objects.command()
@data_option
def out(data: Path | None) -> None:
    """Move files larger than LEADERBOARD_OBJECTS_BYTES into the object store, while the site runs or not."""
    with opened(data) as (database, settings):
        objects_services.store_of(database)
        with database.read() as session:
            waiting = (
                objects_services.due_moves(session, settings.objects_bytes) if settings.objects_bytes else []
            )
        moved = _moved(database, waiting, objects_services.move_out)
    click.echo(f"{moved:,} files were moved into the object store.")


@objects.command("in")
@data_option
def in_(data: Path | None) -> None:
    """Move all files back into the database; their objects go when LEADERBOARD_OBJECTS_KEEP_DAYS are over.

    Evaluators that have LEADERBOARD_OBJECTS_URL would move them out again: start them with
    LEADERBOARD_OBJECTS_BYTES=0 before.
    """
    with opened(data) as (database, _):
        objects_services.store_of(database)
        with database.read() as session:
            kept = objects_services.kept_elsewhere(session)
        moved = _moved(database, kept, objects_services.move_back)
    click.echo(f"{moved:,} files were moved into the database.")


def _moved(database: Database, uploads: Sequence[int], move: Callable[[Database, int], bool]) -> int:
    with click.progressbar(uploads, label="files", file=sys.stderr) as shown:
        return sum(move(database, upload_id) for upload_id in shown)
