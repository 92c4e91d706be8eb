"""`leaderboard snapshot`: freeze a board under a permanent address."""

from pathlib import Path

import click

from leaderboard.boards.ops import snapshots
from leaderboard.boards.page import history
from leaderboard.core.cli.site import data_option, opened
from leaderboard.core.policy import OPERATOR


@click.command()
@click.argument("slug")
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the task's snapshots, newest first, without freezing the board.",
)
@data_option
def snapshot(slug: str, listing: bool, data: Path | None) -> None:
    """Freeze a task's board as the public sees it now, and print the snapshot's address.

    Freezing the same board again returns the same snapshot. Drafts, sealed tasks and tasks without
    judgments cannot be frozen.
    """
    with opened(data) as (database, _):
        if listing:
            with database.read() as session:
                rows = history.history(session, OPERATOR, slug).snapshots
            for row in rows:
                click.echo(
                    f"/snapshots/{row.address}\tedition {row.edition}\t{row.created_at:%Y-%m-%d %H:%M} UTC"
                )
            return
        with database.read() as session:
            frozen = snapshots.freeze(session, OPERATOR, slug)
        with database.write() as session:
            address = snapshots.keep(session, OPERATOR, frozen)
        click.echo(f"/snapshots/{address}\nsha256 {frozen.sha256}")
