"""`leaderboard clicks`: query logs of a task, and the preferences inferred from clicks."""

from pathlib import Path

import click

from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.judging.ops import clicks as clicks_services
from leaderboard.judging.page import clicks as pages
from leaderboard.pooling.clicks import READINGS
from leaderboard.trec.read.lines import Limits


@click.group()
def clicks() -> None:
    """Query logs of a task, and the preferences inferred from clicks."""


@clicks.command("import")
@click.argument("slug")
@click.argument("file", type=FILE)
@click.option("--no-user", is_flag=True, help="Discard user ids instead of storing keyed hashes.")
@data_option
def add(slug: str, file: Path, no_user: bool, data: Path | None) -> None:
    """Import a query log: CSV or JSON lines with user, query or topic, document, rank, clicked, time.

    A query matches a topic of the task if it equals the topic's id or exact title; user and time are
    optional. Users are replaced by keyed hashes while the file is read, or discarded.
    """
    with opened(data) as (database, settings):
        with database.write() as session:
            rules = clicks_services.rules_for(session, OPERATOR, slug)
        limits = Limits(plain_bytes=settings.plain_bytes)
        prepared = clicks_services.prepare_import(
            file, file.name, rules, keep_users=not no_user, limits=limits
        )
        with database.write() as session:
            done = clicks_services.add_import(session, OPERATOR, slug, prepared)
    click.echo(f"Log {done.number} of {slug}: {done.sessions} sessions on {done.topics} topics.")
    if done.ignored:
        click.echo(f"warning: unknown columns: {', '.join(done.ignored)}", err=True)
    if done.unknown_rows:
        click.echo(f"warning: {done.unknown_rows} of {done.rows} rows match no topic of the task:", err=True)
        for text, rows in done.unknown.items():
            click.echo(f"  {rows}\t{text}", err=True)


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
@click.argument("number", type=int)
@data_option
def remove(slug: str, number: int, data: Path | None) -> None:
    """Delete an imported log; revisions made from it are kept."""
    with opened(data) as (database, _), database.write() as session:
        clicks_services.remove_import(session, OPERATOR, slug, number)


@clicks.command()
@click.argument("slug")
@click.option(
    "--rule",
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
@click.option("--p", help="Maximum p of the two-sided sign test [any].")
@click.option("--log", "logs", multiple=True, help="Number of a log; repeatable [all].")
@click.option("--publish", metavar="NOTE", help="Publish them as a preference revision with this note.")
@data_option
def preferences(
    slug: str,
    rule: str,
    least: str,
    count: str,
    keep: str,
    p: str | None,
    logs: tuple[str, ...],
    publish: str | None,
    data: Path | None,
) -> None:
    """Print the preferences inferred from clicks, as a preference file: topic, better, worse, weight."""
    choice = clicks_services.preference_choice(rule, least, keep, count, p, logs)
    with opened(data) as (database, _):
        with database.read() as session:
            from_clicks = clicks_services.find_preference(session, OPERATOR, slug, choice)
        if publish is None:
            click.echo(clicks_services.as_file(from_clicks), nl=False)
            return
        with database.write() as session:
            done = clicks_services.publish_preferences(session, OPERATOR, slug, from_clicks, publish)
    click.echo(f"Revision {done.number} of {slug}: {len(from_clicks.preferences)} preferences from clicks.")
