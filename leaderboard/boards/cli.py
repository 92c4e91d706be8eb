"""`leaderboard snapshot`: freeze a board under a permanent address."""

from pathlib import Path

import click

from leaderboard.boards.ops import snapshots
from leaderboard.boards.page import history
from leaderboard.core.cli.actions import acting
from leaderboard.core.cli.site import data_option
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
    with acting(data) as do:
        if listing:
            with do.reading() as session:
                rows = history.history(session, OPERATOR, slug).snapshots
            for row in rows:
                click.echo(
                    f"/snapshots/{row.address}\tedition {row.edition}\t{row.created_at:%Y-%m-%d %H:%M} UTC"
                )
            return
        address, sha256 = do(snapshots.KEEP, slug=slug).result
    click.echo(f"/snapshots/{address}\nsha256 {sha256}")
