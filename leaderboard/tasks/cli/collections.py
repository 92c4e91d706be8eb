"""`leaderboard collection`: collections and their documents."""

from pathlib import Path

import click

from leaderboard.core.cli.actions import command
from leaderboard.core.cli.site import data_option, opened
from leaderboard.scoring.ops import collections


@click.group()
def collection() -> None:
    """Collections of documents."""


collection.add_command(
    command(collections.ADD, takes="BEIR corpus.jsonl, TREC SGML or TSV; .gz .bz2 .xz .zst too.")
)


@collection.command("list")
@data_option
def list_(data: Path | None) -> None:
    """List all collections."""
    with opened(data) as (database, _), database.read() as session:
        for row in collections.listing(session):
            click.echo(f"{row.name}\t{row.size or ''}\t{row.stored}\t{row.link_template}")
