"""`leaderboard clicks`: query logs of a task, and the preferences their clicks show."""

from pathlib import Path

import click

from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.pages import clicks as pages
from leaderboard.pooling.clicks import READINGS
from leaderboard.services import clicks as clicks_services
from leaderboard.services.policy import OPERATOR
from leaderboard.trec.read.lines import Limits


@click.group()
def clicks() -> None:
    """Query logs of a task, and the preferences their clicks show."""


@clicks.command("import")
@click.argument("slug")
@click.argument("file", type=FILE)
@click.option("--no-user", is_flag=True, help="Drop the users instead of keeping keyed hashes of them.")
@data_option
def add(slug: str, file: Path, no_user: bool, data: Path | None) -> None:
    """Import a query log: CSV or JSON lines with user, query or topic, document, rank, clicked, time.

    A query is one of the task's topics if it is a topic's id or its exact title; user and time may be
    missing. Users are replaced by keyed hashes while the file is read, or dropped.
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
        click.echo(f"warning: columns that are not known: {', '.join(done.ignored)}", err=True)
    if done.unknown_rows:
        click.echo(f"warning: {done.unknown_rows} of {done.rows} rows are of no topic of the task:", err=True)
        for text, rows in done.unknown.items():
            click.echo(f"  {rows}\t{text}", err=True)


@clicks.command("list")
@click.argument("slug")
@data_option
def show(slug: str, data: Path | None) -> None:
    """List the imported logs: number, sessions, rows of no topic, day, file."""
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
    """Delete an imported log; revisions made of it stay."""
    with opened(data) as (database, _), database.write() as session:
        clicks_services.remove_import(session, OPERATOR, slug, number)


@clicks.command()
@click.argument("slug")
@click.option(
    "--rule",
    type=click.Choice(list(READINGS)),
    default="skip-above",
    show_default=True,
    help="How a click is read.",
)
@click.option(
    "--least",
    default=str(clicks_services.LEAST),
    show_default=True,
    help="Sessions that must show a preference.",
)
@click.option("--count", type=click.Choice(["sessions", "users"]), default="sessions", show_default=True)
@click.option("--keep", type=click.Choice(["majority", "both"]), default="majority", show_default=True)
@click.option("--p", help="Largest p of the two-sided sign test [any].")
@click.option("--log", "logs", multiple=True, help="Number of a log; several may be named [all].")
@click.option("--publish", metavar="NOTE", help="Make them a preference revision with this note.")
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
    """Print the preferences that clicks show, as a preference file: topic, better, worse, weight."""
    choice = clicks_services.preference_choice(rule, least, keep, count, p, logs)
    with opened(data) as (database, _):
        with database.read() as session:
            found = clicks_services.find_preference(session, OPERATOR, slug, choice)
        if publish is None:
            click.echo(clicks_services.as_file(found), nl=False)
            return
        with database.write() as session:
            done = clicks_services.publish_preferences(session, OPERATOR, slug, found, publish)
    click.echo(f"Revision {done.number} of {slug}: {len(found.preferences)} preferences from clicks.")
