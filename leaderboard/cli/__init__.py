"""The `leaderboard` command; a subcommand's module is imported only when it is called."""

import errno
import gc
import os
import sys
from typing import TYPE_CHECKING, Any, TypeGuard

import click

from leaderboard import __version__
from leaderboard.errors import LeaderboardError

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError

GROUPS = {
    "For researchers (files, no site needed)": {
        "evaluate": "Score run files.",
        "compare": "Compare run files with significance tests.",
        "gate": "Fail a build if a run is worse than a baseline.",
        "suite": "Rank runs over several topic sets.",
        "reproduce": "Measure how well an experiment was reproduced.",
        "agreement": "Measure how well judges agree with a reference.",
        "check": "Check a run file as an upload would.",
        "measures": "List measures, or explain one.",
        "verify": "Recompute the scores of a site, mirror, export or snapshot.",
        "client": "Submit runs to a site and read their scores.",
    },
    "For organisers": {
        "task": "Create, change, list and archive shared tasks.",
        "collection": "Manage document collections.",
        "qrels": "Manage relevance judgments.",
        "nuggets": "Manage nuggets and labels of answers.",
        "reference": "Manage the reference that judges are compared with.",
        "clicks": "Manage query logs and derive preferences.",
        "run": "Import, list and manage runs.",
        "pool": "Create pools of documents to judge.",
        "suites": "Manage suites: one leaderboard over several tasks.",
        "board": "Print the leaderboard of a task.",
        "snapshot": "Freeze a leaderboard, or list snapshots.",
        "export": "Export a whole task as plain files.",
        "import": "Import a task from an export or a folder.",
    },
    "For operators": {
        "serve": "Run the site: web server and evaluators.",
        "worker": "Run evaluators only, for a site on another machine.",
        "health": "Check that the site works, for containers and scripts.",
        "install": "Write systemd units for this installation.",
        "account": "Create and manage accounts.",
        "mirror": "Write the public pages as static files.",
        "backup": "Back up the whole site to one file.",
        "restore": "Restore the site from a backup.",
        "db": "Migrate, check and copy the database.",
        "objects": "Move files to an object store and back.",
        "mail": "Test the mail server.",
        "keys": "List and rotate the keys that the site signs with.",
        "audit": "List and verify the audit log.",
    },
}
"""Group of users -> name of the subcommand -> its help, in the order of `leaderboard --help`."""
COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}
"""Name of the subcommand -> its help."""
OFFLINE = frozenset(("evaluate", "compare", "suite", "reproduce", "agreement", "check", "measures", "client"))
"""Commands that need no site, so they skip loading the list of features."""


class Commands(click.Group):
    """Subcommands by name; user errors end with a message on stderr and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now."""
        try:
            return _command(cmd_name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "leaderboard_submit":
                raise
            # A separate distribution, because most participants do not run a site.
            raise click.ClickException("The client is not installed. Run `pip install ./client`.") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands with their help by group of users, without importing them."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), words) for name, words in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; report a failure in one sentence, with the traceback at level DEBUG."""
        try:
            return super().invoke(ctx)
        except LeaderboardError as error:
            from leaderboard.core.cli.failures import Failure

            raise Failure(error) from error
        except Exception as error:
            if not _is_refused(error):
                raise
            import logging

            from leaderboard.core.cli.failures import sentence

            logging.getLogger(__name__).debug("%s failed", ctx.command_path, exc_info=True)
            raise click.ClickException(sentence(error)) from error


def _is_refused(error: Exception) -> TypeGuard["SQLAlchemyError | OSError"]:
    """Whether the database or the disk failed; click handles a closed pipe itself."""
    if isinstance(error, OSError):
        return error.errno != errno.EPIPE
    # Asked by name: no command should wait for SQLAlchemy before it needs it.
    return any(kind.__module__ == "sqlalchemy.exc" for kind in type(error).__mro__)


def _command(name: str) -> click.Command | None:
    """A subcommand by its name, imported now."""
    command: click.Command
    if name not in OFFLINE:
        from leaderboard import features

        features.register()
    match name:
        case "serve":
            from leaderboard.cli.serving.serve import serve as command
        case "worker":
            from leaderboard.cli.serving.serve import worker as command
        case "health":
            from leaderboard.cli.serving.health import health as command
        case "install":
            from leaderboard.cli.serving.install import install as command
        case "mirror":
            from leaderboard.cli.mirror import mirror as command
        case "verify":
            from leaderboard.verify.cli import verify as command
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
            added = next((feature for feature in features.FEATURES if name in feature.commands), None)
            return added.command(name) if added else None
    return command


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from leaderboard.trec.read import native

        stale = "; the C kernel is out of date, install again to build it" if native.is_stale else ""
        click.echo(f"leaderboard {__version__} ({native.name()} kernel{stale})")
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


def program() -> None:
    """Run the command; one that needs no site ends without tidying up memory, a seventh of its time."""
    # A second thread of NumPy's library waits by spinning, and no command has matrices large enough for it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    ends_at_once = sys.argv[1:2] != ["client"] and not OFFLINE.isdisjoint(sys.argv[1:2])
    if ends_at_once:
        # Imported objects live as long as the process: there is little garbage to look for.
        gc.set_threshold(100_000)
    try:
        main()
    except SystemExit as ended:
        if not (ends_at_once and isinstance(ended.code, int)):
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code)
