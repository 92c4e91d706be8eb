"""`leaderboard verify`: recompute what a site, mirror, bundle or snapshot says."""

import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import click

from leaderboard.core.cli.failures import Failure, sentence
from leaderboard.errors import LeaderboardError

DIFFERENT, BROKEN = 1, 2
"""Exit codes: something differs, and no score could be recomputed."""


class _Verify(click.Command):
    """The command: whatever goes wrong ends in its own exit code, as 1 says that something differs."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            raise _Broken(_words(error)) from error


class _Broken(click.ClickException):
    exit_code = BROKEN


def _words(error: Exception) -> str:
    if isinstance(error, LeaderboardError):
        return Failure(error).message
    return sentence(error) if isinstance(error, OSError) else "".join(traceback.format_exception(error))


@click.command(cls=_Verify)
@click.argument("source")
@click.option(
    "--key", help="The site's public key in Base64, or a file of its keys; no other key is accepted."
)
@click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--badge", is_flag=True, help="Print a line to paste, as Markdown and as HTML; needs --by.")
@click.option("--by", metavar="NAME", default="", help="Who verified, for the badge.")
@click.pass_context
def verify(context: click.Context, source: str, key: str | None, layout: str, badge: bool, by: str) -> None:
    """Recompute every score of SOURCE from its public files, and check digests and signatures.

    SOURCE is the address of a site, a task or a snapshot, a bundle (file, folder or address), or a mirror
    (folder or address). Nothing is sent, and your own site is not changed. Exit code 0 if everything is
    equal, 1 if something differs, 2 if no score could be recomputed.
    """
    from leaderboard.verify import report as reports
    from leaderboard.verify import signed, verifying

    if badge != bool(by):
        raise click.UsageError("--badge and --by go together.", context)
    keys = signed.pinned(key) if key else None
    report = verifying.verify(verifying.Asked(source=source, keys=keys), _told)
    _told("")
    if badge and not report.differences and not report.is_empty:
        click.echo(reports.badge(report, by, datetime.now(UTC).date()), nl=False)
    else:
        click.echo(reports.FORMATS[layout](report), nl=False)
    context.exit(BROKEN if report.is_empty else DIFFERENT if report.differences else 0)


def _told(what: str) -> None:
    """One line of progress that overwrites the last."""
    if sys.stderr.isatty():
        print(f"\r{what[:76]:<76}", end="" if what else "\r", file=sys.stderr, flush=True)
