"""`leaderboard keys`: list and rotate the keys that the site signs with."""

from pathlib import Path

import click

from leaderboard.core.cli.site import data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.signatures import ops as signatures


@click.group()
def keys() -> None:
    """List and rotate the keys with which the site signs its public data."""


@keys.command("list")
@data_option
def show(data: Path | None) -> None:
    """Print each key's name, public half and period of use, newest first."""
    with opened(data) as (database, _), database.read() as session:
        for key in signatures.keys(session):
            click.echo(f"{key.id}\t{key.public}\t{key.since} to {key.until or 'now'}")


@keys.command()
@data_option
def rotate(data: Path | None) -> None:
    """Sign with a new key from now on.

    The old key stays listed, so that earlier signatures can be verified; its private half is deleted.
    """
    with opened(data) as (database, _), database.write() as session:
        key = signatures.rotate(session, OPERATOR)
    click.echo(f"The site signs with key {key} now. Earlier keys stay listed at {signatures.ADDRESS}.")
