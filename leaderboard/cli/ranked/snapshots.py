"""`leaderboard snapshot`: a board frozen under an address of its own."""

from pathlib import Path

import click

from leaderboard.cli.site import data_option, opened
from leaderboard.pages.boards import history
from leaderboard.services import snapshots
from leaderboard.services.policy import OPERATOR


@click.command()
@click.argument("slug")
@click.option(
    "--list", "listing", is_flag=True, help="Freeze nothing; list the task's snapshots, newest first."
)
@data_option
def snapshot(slug: str, listing: bool, data: Path | None) -> None:
    """Freeze a task's board as the public sees it now, and print the snapshot's address.

    The same board gives the same snapshot. Nothing is frozen of drafts, of sealed tasks and of tasks
    without judgments.
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
