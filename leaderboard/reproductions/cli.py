"""`leaderboard run reproduces`: set the reproduced run from the command line."""

from pathlib import Path

import click

from leaderboard.core.cli.actions import acting
from leaderboard.core.cli.site import data_option
from leaderboard.reproductions import ops as reproductions


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
    of, own = baselines or (None, None)
    runs = {"original": original, "original_baseline": of, "baseline": own}
    with acting(data) as do:
        do(reproductions.UNLINK if undo else reproductions.LINK, runs, run_id=run_id)
