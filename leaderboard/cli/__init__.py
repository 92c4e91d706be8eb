"""The `leaderboard` command; each subcommand's module is imported when it is called."""

import errno
from typing import TYPE_CHECKING, Any, TypeGuard

import click

from leaderboard import __version__
from leaderboard.errors import LeaderboardError

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError

COMMANDS = {
    "serve": "Run the site: web server and evaluators.",
    "worker": "Run evaluators only, beside a site elsewhere.",
    "health": "Whether the site works, for a container or a script.",
    "install": "Units of systemd for this installation.",
    "collection": "Collections of documents.",
    "task": "Shared tasks: make, change, list, archive.",
    "qrels": "Judgments of a task.",
    "nuggets": "Nuggets and labels of a task of answers.",
    "reference": "What judges of a task are held against.",
    "clicks": "Query logs of a task, and preferences from them.",
    "run": "Runs of a task.",
    "pool": "Which documents to judge: pools of run files or of a task.",
    "suites": "Suites of a site: several tasks with one board.",
    "board": "Print a task's board.",
    "snapshot": "Freeze a task's board, or list those.",
    "mirror": "Write the public pages as files that need no server.",
    "evaluate": "Score run files without a site.",
    "compare": "Compare run files without a site.",
    "suite": "Rank runs over several sets of topics without a site.",
    "reproduce": "How far an experiment came out again, without a site.",
    "agreement": "How well judges agree with a reference.",
    "check": "Check a run file as the upload does.",
    "measures": "List the measures, or explain one.",
    "db": "Look after the database.",
    "objects": "Files as sent in an object store: there and back.",
    "export": "Write a whole task as plain files.",
    "import": "Make a task of an export or a folder.",
    "backup": "Write the whole site to one file.",
    "restore": "Make a site of a backup.",
    "account": "Make accounts, and help people into theirs.",
    "mail": "Try the mail server.",
    "audit": "Read and check the record of acts.",
    "client": "Send runs to a site elsewhere, and read their scores.",
}
"""Name -> what the subcommand is for, in the order of the road they serve."""


class Commands(click.Group):
    """The subcommands by name; what a user got wrong ends in a message on stderr and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands, in the order of the road they serve."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now."""
        try:
            return _of_site(cmd_name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "leaderboard_submit":
                raise
            # A distribution of its own, as most who send runs have no need of a site.
            raise click.ClickException("The client is not installed: pip install ./client") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The subcommands and what each is for, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; what it cannot do is one sentence, and a traceback at the level DEBUG."""
        try:
            return super().invoke(ctx)
        except LeaderboardError as error:
            from leaderboard.cli.failures import Failure

            raise Failure(error) from error
        except Exception as error:
            if not _is_refused(error):
                raise
            import logging

            from leaderboard.cli.failures import sentence

            logging.getLogger(__name__).debug("%s failed", ctx.command_path, exc_info=True)
            raise click.ClickException(sentence(error)) from error


def _is_refused(error: Exception) -> TypeGuard["SQLAlchemyError | OSError"]:
    """Whether the database or the disk refused; a reader that went away is click's to deal with."""
    if isinstance(error, OSError):
        return error.errno != errno.EPIPE
    # Asked by name: no command should wait for SQLAlchemy before it needs it.
    return any(kind.__module__ == "sqlalchemy.exc" for kind in type(error).__mro__)


def _of_site(name: str) -> click.Command | None:
    """A command of a site, imported now."""
    command: click.Command
    match name:
        case "serve":
            from leaderboard.cli.serving.serve import serve as command
        case "worker":
            from leaderboard.cli.serving.serve import worker as command
        case "health":
            from leaderboard.cli.serving.health import health as command
        case "install":
            from leaderboard.cli.serving.install import install as command
        case "collection":
            from leaderboard.cli.collections import collection as command
        case "task":
            from leaderboard.cli.tasks import task as command
        case "qrels":
            from leaderboard.cli.qrels import qrels as command
        case "nuggets":
            from leaderboard.cli.nuggets import nuggets as command
        case "reference":
            from leaderboard.cli.editing.reference import reference as command
        case "clicks":
            from leaderboard.cli.clicks import clicks as command
        case "run":
            from leaderboard.cli.runs import run as command
        case "suites":
            from leaderboard.cli.ranked.suites import suites as command
        case "board":
            from leaderboard.cli.boards import board as command
        case "snapshot":
            from leaderboard.cli.ranked.snapshots import snapshot as command
        case "mirror":
            from leaderboard.cli.mirror import mirror as command
        case "db":
            from leaderboard.cli.db import db as command
        case "objects":
            from leaderboard.cli.objects import objects as command
        case "export":
            from leaderboard.cli.bundles.export import export as command
        case "import":
            from leaderboard.cli.bundles.imports import import_ as command
        case "backup":
            from leaderboard.cli.backups import backup as command
        case "restore":
            from leaderboard.cli.backups import restore as command
        case "account":
            from leaderboard.cli.accounts import account as command
        case "mail":
            from leaderboard.cli.serving.mail import mail as command
        case "audit":
            from leaderboard.cli.audit import audit as command
        case _:
            return _without_site(name)
    return command


def _without_site(name: str) -> click.Command | None:
    """A command that needs no site, imported now."""
    command: click.Command
    match name:
        case "pool":
            from leaderboard.cli.pools import pool as command
        case "evaluate":
            from leaderboard.cli.files.evaluate import evaluate as command
        case "compare":
            from leaderboard.cli.files.compare import compare as command
        case "suite":
            from leaderboard.cli.files.suite import suite as command
        case "reproduce":
            from leaderboard.cli.files.reproduce import reproduce as command
        case "agreement":
            from leaderboard.cli.files.agreement import agreement as command
        case "check":
            from leaderboard.cli.files.check import check as command
        case "measures":
            from leaderboard.cli.measures.measures import measures as command
        case "client":
            from leaderboard_submit.cli import main as command
        case _:
            return None
    return command


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        # Imported here: no other command should wait for numpy before it needs it.
        from leaderboard.trec.read import kernel

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
