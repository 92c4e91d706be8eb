"""`leaderboard task phase`: the phases of a task, as on its page."""

from pathlib import Path

import click

from leaderboard.core.cli.actions import command
from leaderboard.core.cli.site import data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.tables.record import utc_time
from leaderboard.tasks.ops import phases
from leaderboard.tasks.page import phases as pages


@click.group()
def phase() -> None:
    """The phases of a task: dates, topics, visibility."""


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
