"""`leaderboard clicks`: query logs of a task, and the preferences inferred from clicks."""

from pathlib import Path
from typing import Any

import click

from leaderboard.core.actions import Outcome
from leaderboard.core.cli import actions
from leaderboard.core.cli.site import data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.judging.ops import clicks as clicks_services
from leaderboard.judging.page import clicks as pages
from leaderboard.pooling.clicks import READINGS


@click.group()
def clicks() -> None:
    """Query logs of a task, and the preferences inferred from clicks."""


def _imported(outcome: Outcome, slug: str) -> str:
    done = outcome.result
    if done.ignored:
        click.echo(f"warning: unknown columns: {', '.join(done.ignored)}", err=True)
    if done.unknown_rows:
        click.echo(f"warning: {done.unknown_rows} of {done.rows} rows match no topic of the task:", err=True)
        for text, rows in done.unknown.items():
            click.echo(f"  {rows}\t{text}", err=True)
    return f"Log {done.number} of {slug}: {done.sessions} sessions on {done.topics} topics."


_import, _remove = clicks_services.ACTIONS
clicks.add_command(actions.command(_import, say=_imported))
clicks.add_command(actions.command(_remove))


@clicks.command("list")
@click.argument("slug")
@data_option
def show(slug: str, data: Path | None) -> None:
    """List the imported logs: number, sessions, rows without a topic, day, file."""
    with opened(data) as (database, _), database.read() as session:
        logs = pages.logs(session, OPERATOR, slug)
    for row in logs:
        log = row.log
        click.echo(
            f"{log.number}\t{log.sessions}\t{row.unknown_rows}\t{log.created_at:%Y-%m-%d}\t{log.file_name}"
        )


@clicks.command()
@click.argument("slug")
@click.option(
    "--rule",
    "reading",
    type=click.Choice(list(READINGS)),
    default="skip-above",
    show_default=True,
    help="Rule for reading clicks.",
)
@click.option(
    "--least",
    default=str(clicks_services.LEAST),
    show_default=True,
    help="Minimum number of sessions that show a preference.",
)
@click.option("--count", type=click.Choice(["sessions", "users"]), default="sessions", show_default=True)
@click.option("--keep", type=click.Choice(["majority", "both"]), default="majority", show_default=True)
@click.option("--p", default="", help="Maximum p of the two-sided sign test [any].")
@click.option("--log", "logs", multiple=True, help="Number of a log; repeatable [all].")
@click.option("--publish", metavar="NOTE", help="Publish them as a preference revision with this note.")
@data_option
def preferences(slug: str, publish: str | None, data: Path | None, **asked: Any) -> None:
    """Print the preferences inferred from clicks, as a preference file: topic, better, worse, weight."""
    with actions.acting(data) as do:
        if publish is not None:
            revision = do(clicks_services.PUBLISH, {**asked, "note": publish}, slug=slug).result
            text = f"Revision {revision.number} of {slug}: {revision.judgments} preferences from clicks.\n"
        else:
            with do.reading() as session:
                choice = clicks_services.preference_choice(**asked)
                inferred = clicks_services.find_preference(session, OPERATOR, slug, choice)
                text = clicks_services.as_file(inferred)
    click.echo(text, nl=False)
