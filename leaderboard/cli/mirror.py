"""`leaderboard mirror`: the site's public pages as files."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from leaderboard.cli.site import data_option, opened, site_address
from leaderboard.db.engine import Database
from leaderboard.mirror import mirror as mirrors
from leaderboard.pages import bundles
from leaderboard.services.policy import ANONYMOUS
from leaderboard.web import create_app, load_templates

EVERY = 25
"""Addresses between two lines of progress."""


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--task", "slug", help="Only this task, with its runs and the measures.")
@data_option
def mirror(folder: Path, slug: str | None, data: Path | None) -> None:
    """Write every public page, table, figure and file into FOLDER, to be read without a server.

    Links lead among the files, wherever the folder lies; any web server can serve it. Pages are as a visitor
    is shown them now: of parameters, measure, edition, phase, pairs and documents are followed, sorted and
    filtered tables are not. An earlier mirror in FOLDER is replaced once the new one is whole.
    """
    with opened(data) as (database, settings):
        # Each page is asked for once, and by nobody who could ask for too many.
        app = create_app(replace(settings, kept_bytes=0, computed_pages=0, access_log=False), database)
        load_templates(app, settings.data)
        only = (slug, _runs(database, slug)) if slug else None
        record = mirrors.write(app, folder, site_address(settings), only, _tell)
    click.echo(
        f"\r{record.pages:,} pages and {record.files - record.pages:,} other files in {folder}, ", nl=False
    )
    click.echo(f"{record.size / 2**20:,.1f} MB; begin at {folder / 'index.html'}.")
    if record.left_out:
        click.echo(f"{len(record.left_out):,} addresses that visitors are not shown are in {mirrors.RECORD}.")


def _runs(database: Database, slug: str) -> frozenset[int]:
    with database.read() as session:
        return bundles.runs_of(session, ANONYMOUS, slug)


def _tell(done: int, known: int) -> None:
    if sys.stderr.isatty() and (done % EVERY == 0 or done == known):
        end = "\n" if done == known else ""
        print(f"\r{done:,} of {known:,} addresses", end=end, file=sys.stderr, flush=True)
