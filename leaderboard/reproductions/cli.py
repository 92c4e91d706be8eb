"""`leaderboard run reproduces`: set the reproduced run from the command line."""

from pathlib import Path

import click

from leaderboard.core.cli.site import data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns


@click.command()
@click.argument("run_id", type=int)
@click.argument("original", type=int, required=False)
@click.option(
    "--baselines",
    type=(int, int),
    metavar="ORIGINAL OWN",
    help="Baselines of the original and of this run, by run number.",
)
@click.option("--undo", is_flag=True, help="Remove the link.  [this or ORIGINAL is required]")
@data_option
def reproduces(
    run_id: int, original: int | None, baselines: tuple[int, int] | None, undo: bool, data: Path | None
) -> None:
    """Link a run to the run it reproduces, by number; it may be in another task."""
    if undo == (original is not None) or (undo and baselines is not None):
        raise click.UsageError("Give the original run, or only --undo.")
    with opened(data) as (database, _), database.write() as session:
        if original is None:
            reproductions.unlink(session, OPERATOR, run_id)
        else:
            reproductions.link(session, OPERATOR, run_id, OriginalRuns(original, *(baselines or ())))
