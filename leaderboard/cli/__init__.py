"""The `leaderboard` command; each subcommand's module is imported when it is called."""

import errno
from importlib import import_module
from typing import Any

import click

from leaderboard import __version__
from leaderboard.errors import Invalid, LeaderboardError

COMMANDS = {
    "serve": ("leaderboard.cli.serving.serve:serve", "Run the site: web server and evaluators."),
    "worker": ("leaderboard.cli.serving.serve:worker", "Run evaluators only, beside a site elsewhere."),
    "health": (
        "leaderboard.cli.serving.health:health",
        "Whether the site works, for a container or a script.",
    ),
    "install": ("leaderboard.cli.serving.install:install", "Units of systemd for this installation."),
    "collection": ("leaderboard.cli.collections:collection", "Collections of documents."),
    "task": ("leaderboard.cli.tasks:task", "Shared tasks: make, change, list, archive."),
    "qrels": ("leaderboard.cli.qrels:qrels", "Judgments of a task."),
    "nuggets": ("leaderboard.cli.nuggets:nuggets", "Nuggets and labels of a task of answers."),
    "reference": ("leaderboard.cli.editing.reference:reference", "What judges of a task are held against."),
    "clicks": ("leaderboard.cli.clicks:clicks", "Query logs of a task, and preferences from them."),
    "run": ("leaderboard.cli.runs:run", "Runs of a task."),
    "pool": ("leaderboard.cli.pools:pool", "Which documents to judge: pools of run files or of a task."),
    "suites": ("leaderboard.cli.ranked.suites:suites", "Suites of a site: several tasks with one board."),
    "board": ("leaderboard.cli.boards:board", "Print a task's board."),
    "snapshot": ("leaderboard.cli.ranked.snapshots:snapshot", "Freeze a task's board, or list those."),
    "mirror": ("leaderboard.cli.mirror:mirror", "Write the public pages as files that need no server."),
    "evaluate": ("leaderboard.cli.files.evaluate:evaluate", "Score run files without a site."),
    "compare": ("leaderboard.cli.files.compare:compare", "Compare run files without a site."),
    "suite": ("leaderboard.cli.files.suite:suite", "Rank runs over several sets of topics without a site."),
    "reproduce": (
        "leaderboard.cli.files.reproduce:reproduce",
        "How far an experiment came out again, without a site.",
    ),
    "agreement": ("leaderboard.cli.files.agreement:agreement", "How well judges agree with a reference."),
    "check": ("leaderboard.cli.files.check:check", "Check a run file as the upload does."),
    "measures": ("leaderboard.cli.measures.measures:measures", "List the measures, or explain one."),
    "db": ("leaderboard.cli.db:db", "Look after the database."),
    "objects": ("leaderboard.cli.objects:objects", "Files as sent in an object store: there and back."),
    "export": ("leaderboard.cli.bundles.export:export", "Write a whole task as plain files."),
    "import": ("leaderboard.cli.bundles.imports:import_", "Make a task of an export or a folder."),
    "backup": ("leaderboard.cli.backups:backup", "Write the whole site to one file."),
    "restore": ("leaderboard.cli.backups:restore", "Make a site of a backup."),
    "account": ("leaderboard.cli.accounts:account", "Make accounts, and help people into theirs."),
    "mail": ("leaderboard.cli.serving.mail:mail", "Try the mail server."),
    "audit": ("leaderboard.cli.audit:audit", "Read and check the record of acts."),
    "client": ("leaderboard_submit.cli:main", "Send runs to a site elsewhere, and read their scores."),
}
"""Name -> where the subcommand is, and what it is for."""


class Commands(click.Group):
    """The subcommands by name; what a user got wrong ends in a message on stderr and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands, in the order of the road they serve."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        try:
            command: click.Command = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "leaderboard_submit":
                raise
            # A distribution of its own, as most who send runs have no need of a site.
            raise click.ClickException("The client is not installed: pip install ./client") from None
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The subcommands and what each is for, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; what it cannot do is one sentence, and a traceback at the level DEBUG."""
        try:
            return super().invoke(ctx)
        except LeaderboardError as error:
            raise Failure(error) from error
        except Exception as error:
            if not _is_refused(error):
                raise
            logging = import_module("logging")
            logging.getLogger(__name__).debug("%s failed", ctx.command_path, exc_info=True)
            failures = import_module("leaderboard.cli.failures")
            raise click.ClickException(failures.sentence(error)) from error


def _is_refused(error: Exception) -> bool:
    """Whether the database or the disk refused; a reader that went away is click's to deal with."""
    if isinstance(error, OSError):
        return error.errno != errno.EPIPE
    # Asked by name: no command should wait for SQLAlchemy before it needs it.
    return any(kind.__module__ == "sqlalchemy.exc" for kind in type(error).__mro__)


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
        kernel = import_module("leaderboard.trec.read.kernel")
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
