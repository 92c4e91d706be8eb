"""The `leaderboard` command; each subcommand's module is imported when it is called."""

from importlib import import_module
from typing import Any

import click

from leaderboard import __version__
from leaderboard.errors import Invalid, LeaderboardError

COMMANDS = {
    "serve": "leaderboard.cli.serve:serve",
    "worker": "leaderboard.cli.serve:worker",
    "collection": "leaderboard.cli.collections:collection",
    "task": "leaderboard.cli.tasks:task",
    "qrels": "leaderboard.cli.qrels:qrels",
    "run": "leaderboard.cli.runs:run",
    "board": "leaderboard.cli.boards:board",
    "evaluate": "leaderboard.cli.evaluate:evaluate",
    "check": "leaderboard.cli.check:check",
    "measures": "leaderboard.cli.measures:measures",
    "db": "leaderboard.cli.db:db",
    "account": "leaderboard.cli.accounts:account",
}


class Commands(click.Group):
    """The subcommands by name; what a user got wrong ends in a message on stderr and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands, in the order of the road they serve."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except LeaderboardError as error:
            raise Failure(error) from error


class Failure(click.ClickException):
    """A LeaderboardError as the terminal shows it: its message, then each problem on a line."""

    def __init__(self, error: LeaderboardError) -> None:
        lines = [error.message]
        if isinstance(error, Invalid):
            lines += [f"  {problem}" for problem in error.problems if str(problem) not in error.message]
        super().__init__("\n".join(lines))


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        # Imported here: no other command should wait for numpy before it needs it.
        kernel = import_module("leaderboard.trec.kernel")
        click.echo(f"leaderboard {__version__} ({kernel.name()} kernel)")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and which kernel reads runs, then exit.",
)
def main() -> None:
    """Run and use a leaderboard for information-retrieval shared tasks."""
