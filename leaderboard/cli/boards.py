"""`leaderboard board`: a board in the terminal or as a file."""

import json
from pathlib import Path

import click

from leaderboard.cli.site import data_option, opened
from leaderboard.services import boards
from leaderboard.services.boards import Board
from leaderboard.services.policy import OPERATOR


@click.command()
@click.argument("slug")
@click.option("--measure", help="Rank by this measure [the task's primary].")
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True
)
@data_option
def board(slug: str, measure: str | None, form: str, data: Path | None) -> None:
    """Print a task's board."""
    with opened(data) as (database, _), database.read() as session:
        shown = boards.board(session, OPERATOR, slug, measure)
    click.echo({"table": _table, "json": _json, "csv": _csv}[form](shown), nl=False)


def _json(shown: Board) -> str:
    return json.dumps(boards.as_json(shown), indent=2, ensure_ascii=False) + "\n"
