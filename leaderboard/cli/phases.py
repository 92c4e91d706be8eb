"""`leaderboard task phase`: the phases of a task, as on its page."""

from pathlib import Path

import click

from leaderboard.cli.actions import command
from leaderboard.cli.site import data_option, opened
from leaderboard.pages.tasks import phases as pages
from leaderboard.services.policy import OPERATOR
from leaderboard.services.tasks import phases
from leaderboard.tables.words import utc_time


@click.group()
def phase() -> None:
    """The phases of a task: when it takes runs, on which topics, who sees their scores."""


for _action in phases.ACTIONS:
    phase.add_command(command(_action))


@phase.command("list")
@click.argument("slug")
@data_option
def list_(slug: str, data: Path | None) -> None:
    """List the phases of a task."""
    with opened(data) as (database, _), database.read() as session:
        page = pages.phases_page(session, OPERATOR, slug)
        if page.warning:
            click.echo(page.warning, err=True)
        for row in page.rows:
            plan = row.plan
            until = f"until {utc_time(plan.closes_at)}" if plan.closes_at else "no deadline"
            seed = f", seed {plan.seed}" if plan.seed else ""
            click.echo(f"{row.name}\t{row.state}\t{until}\t{row.topics} topics{seed}\t{row.visibility}")
