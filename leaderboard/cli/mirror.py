"""`leaderboard mirror`: the site's public pages as files."""

import sys
from dataclasses import replace
from pathlib import Path

import click
from sqlalchemy import select

from leaderboard.application import create_app, load_templates
from leaderboard.core import policy
from leaderboard.core.cli.site import data_option, opened, site_address
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run
from leaderboard.mirror import mirror as mirrors

EVERY = 25
"""Addresses between two lines of progress."""


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--task", "slug", help="Include only this task, with its runs and the measures.")
@data_option
def mirror(folder: Path, slug: str | None, data: Path | None) -> None:
    """Write every public page, table, figure and file to FOLDER, to read without a server.

    Links are relative, so the folder can be moved; any web server can serve it. Pages are those that a
    visitor sees now. The mirror includes variants by measure, edition, phase, pair and document, but not
    sorted or filtered tables. An earlier mirror in FOLDER is replaced when the new one is complete.
    """
    with opened(data) as (database, settings):
        # Each page is requested once, and not by visitors, who have limits.
        app = create_app(replace(settings, kept_bytes=0, computed_pages=0, access_log=False), database)
        load_templates(app, settings.data)
        only = (slug, runs_of(database, slug)) if slug else None
        record = mirrors.write(app, folder, site_address(settings), only, _tell)
    click.echo(
        f"\r{record.pages:,} pages and {record.files - record.pages:,} other files in {folder}, ", nl=False
    )
    click.echo(f"{record.size / 2**20:,.1f} MB. Start at {folder / 'index.html'}.")
    if record.left_out:
        click.echo(f"{len(record.left_out):,} addresses that are not public are listed in {mirrors.RECORD}.")


def runs_of(database: Database, slug: str) -> frozenset[int]:
    """Ids of a task's runs, whose pages do not have its slug in their address.

    Raises NotFound where no visitor may know of the task; each run's page says who may see it.
    """
    with database.read() as session:
        task, _ = policy.visible_task(session, ANONYMOUS, slug)
        return frozenset(session.scalars(select(Run.id).where(Run.task_id == task.id)))


def _tell(done: int, total: int) -> None:
    if sys.stderr.isatty() and (done % EVERY == 0 or done == total):
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {total:,} addresses", end=end, file=sys.stderr, flush=True)
