"""`leaderboard collection`: collections and their documents."""

from pathlib import Path

import click

from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.scoring.ops import collections


@click.group()
def collection() -> None:
    """Collections of documents."""


@collection.command()
@click.argument("name")
@click.option("--documents", type=FILE, help="BEIR corpus.jsonl, TREC SGML or TSV; .gz .bz2 .xz .zst too.")
@click.option(
    "--size", type=click.IntRange(min=1), help="Number of documents in the collection, if no file is given."
)
@click.option(
    "--link", "link_template", default="", help="Address of a document, with {docno} as placeholder."
)
@data_option
def add(name: str, documents: Path | None, size: int | None, link_template: str, data: Path | None) -> None:
    """Add a collection, with the text of its documents if it may be shown."""
    with opened(data) as (database, _):
        prepared = collections.prepare(documents) if documents else None
        with database.write() as session:
            row = collections.add(
                session, OPERATOR, name, documents=prepared, size=size, link_template=link_template
            )
        click.echo(f"Collection {row.name!r}: {row.stored} documents stored, size {row.size or 'unknown'}.")


@collection.command("list")
@data_option
def list_(data: Path | None) -> None:
    """List all collections."""
    with opened(data) as (database, _), database.read() as session:
        for row in collections.listing(session):
            click.echo(f"{row.name}\t{row.size or ''}\t{row.stored}\t{row.link_template}")
