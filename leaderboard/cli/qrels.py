"""`leaderboard qrels`: revisions of a task's judgments."""

from pathlib import Path

import click

from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.services import qrels as service
from leaderboard.services.policy import OPERATOR


@click.group()
def qrels() -> None:
    """Judgments of a task."""


@qrels.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@click.option("--note", required=True, help="What changed and why; shown beside the revision.")
@click.option("--origin", type=click.Choice(["human", "machine"]), help="Who judged [first revision: human].")
@click.option("--origin-name", default="", help="Which machine judged.")
@data_option
def add(slug: str, file: Path, note: str, origin: str | None, origin_name: str, data: Path | None) -> None:
    """Add a revision and queue the scoring of every run; the board switches when all are scored."""
    with opened(data) as (database, settings):
        prepared = service.prepare(file)
        with database.write() as session:
            revision = service.revise(
                session,
                OPERATOR,
                slug,
                prepared,
                note,
                origin=origin,
                origin_name=origin_name,
                limit_s=settings.job_limit_s,
            )
        change = revision.change
        for warning in revision.warnings:
            click.echo(f"warning: {warning}", err=True)
        changes = f"{change.added} added, {change.changed} changed, {change.removed} removed"
        click.echo(
            f"Revision {revision.number} of {slug}: {revision.judgments} judgments on "
            f"{revision.topics} topics ({changes})."
        )
        click.echo(f"{revision.jobs} runs are queued for scoring under it.")
