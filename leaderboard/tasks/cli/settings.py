"""`leaderboard task set`, `show` and more: what the settings page of a task does, from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from leaderboard import fields
from leaderboard.core.cli.actions import acting, chosen, command, options
from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.policy import OPERATOR, ROLES
from leaderboard.scoring.ops.board_measures import TopicFields
from leaderboard.tables.record import utc_time
from leaderboard.tasks.ops import organise, phases, roles, settings
from leaderboard.tasks.page import phases as phase_pages
from leaderboard.tasks.page import settings as pages

set_ = command(
    settings.CHANGE,
    say=lambda outcome, slug: f"{slug}: {outcome.done}." if outcome.result[1] else "Nothing was changed.",
)


@click.command()
@click.argument("slug")
@data_option
def show(slug: str, data: Path | None) -> None:
    """Print every setting of a task with its value."""
    with opened(data) as (database, _), database.read() as session:
        page = pages.settings_page(session, OPERATOR, slug)
        for row in pages.values_table(page).rows:
            is_list = row.kind != "text" or row.name == "measures"
            value = page.values[row.name]
            click.echo(f"{row.name}\t{' '.join(value.split()) if is_list else repr(value)}")
        people = pages.people(session, OPERATOR, slug).people
        click.echo("".join(f"{row.role}\t{row.name}\n" for row in people), nl=False)


@click.command()
@click.argument("slug")
@click.argument("new")
@click.option("--name", help="Name of the clone [that of the task].")
@click.option(
    "--revision",
    default=organise.NEWEST,
    show_default=True,
    help="Qrels revision to copy: a number, or none.",
)
@data_option
def clone(slug: str, new: str, name: str | None, revision: str, data: Path | None) -> None:
    """Clone a task as the draft NEW: topics, settings and judgments, without runs."""
    with acting(data) as do:
        with do.reading() as session:
            name = name or pages.settings_page(session, OPERATOR, slug).task
        do(organise.CLONE, {"slug": new, "name": name, "revision": revision}, slug=slug)
        with do.writing() as session:
            roles.adopt(session, OPERATOR)
    click.echo(f"{new} is a draft cloned from {slug}. Publish it with `leaderboard task publish {new}`.")


@click.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@options(TopicFields)
@click.option("--dry-run", is_flag=True, help="Print how FILE would be read; store nothing.")
@data_option
def topics(slug: str, file: Path, dry_run: bool, data: Path | None, **given: Any) -> None:
    """Replace the topics of a task without runs by those of FILE."""
    values = chosen(TopicFields, given)
    if dry_run:
        click.echo(str(fields.read(TopicFields, values).read(file)))
        return
    with acting(data) as do:
        new = do(organise.REPLACE_TOPICS, values, {"topics": file}, slug=slug).result
    click.echo(f"{new}\n{slug} has {len(new.topics)} topics.")


@click.command()
@click.argument("slug")
@click.argument("account")
@click.option("--role", type=click.Choice(ROLES), default="organiser", show_default=True)
@data_option
def organiser(slug: str, account: str, role: str, data: Path | None) -> None:
    """Let an account organise a task, coordinate its assessors, or see everything."""
    acts = {"organiser": "organises", "coordinator": "coordinates the assessors of", "reader": "reads"}
    with acting(data) as do:
        do(roles.GIVE, {"account": account, "role": role}, slug=slug)
    click.echo(f"{account} {acts[role]} {slug}.")


SAYS: dict[str, Callable[..., str]] = {
    "date_task": lambda done, slug: f"{slug} accepts runs {done.asked.span}.",
    "publish_task": lambda done, slug: f"{slug} is published.",
    "unpublish_task": lambda done, slug: f"{slug} is a draft.",
    "archive_task": lambda done, slug: f"{slug} is {done.done}.",
    "discard_task": lambda done, slug: f"{slug} was deleted.",
    "correct_topic": lambda done, slug, topic_id: f"Topic {topic_id} of {slug} is corrected.",
}
"""Action with a command -> what the command prints."""
ASKS: dict[str, Callable[..., str]] = {"discard_task": lambda slug: f"Delete the draft {slug} permanently?"}
"""Action -> what has to be confirmed first."""
LIFE = tuple(
    command(
        action,
        say=SAYS[action.name],
        asks=ASKS.get(action.name),
        back=organise.UNARCHIVE if action.name == "archive_task" else None,
    )
    for action in (*organise.DESK, *organise.LIFE, *organise.TOPICS)
    if action.name in SAYS
)
COMMANDS = (set_, show, clone, *LIFE, topics, organiser)


@click.group()
def phase() -> None:
    """The phases of a task: dates, topics, visibility."""


for _action in phases.ACTIONS:
    phase.add_command(command(_action))


@phase.command("list")
@click.argument("slug")
@data_option
def list_phases(slug: str, data: Path | None) -> None:
    """List the phases of a task."""
    with opened(data) as (database, _), database.read() as session:
        page = phase_pages.phases_page(session, OPERATOR, slug)
        if page.warning:
            click.echo(page.warning, err=True)
        for row in page.rows:
            plan = row.plan
            until = f"until {utc_time(plan.closes_at)}" if plan.closes_at else "no deadline"
            seed = f", seed {plan.seed}" if plan.seed else ""
            click.echo(f"{row.name}\t{row.state}\t{until}\t{row.topics} topics{seed}\t{row.visibility}")
