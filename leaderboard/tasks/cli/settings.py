"""`leaderboard task set`, `show` and more: what the settings page of a task does, from the command line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from leaderboard.core.cli.actions import command
from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.policy import OPERATOR, ROLES
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.board_measures import TopicText
from leaderboard.tasks.ops import organise, roles, settings
from leaderboard.tasks.ops.organise import TaskCopy
from leaderboard.tasks.page import settings as pages
from leaderboard.trec.topics import topics as trec_topics

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
    with opened(data) as (database, _):
        with database.write() as session:
            wanted = name or pages.settings_page(session, OPERATOR, slug).task
            made = organise.clone(session, OPERATOR, slug, TaskCopy(new, wanted, revision))
            roles.adopt(session, OPERATOR)
        click.echo(
            f"{made} is a draft cloned from {slug}. Publish it with `leaderboard task publish {made}`."
        )


@click.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@click.option(
    "--map",
    "topic_fields",
    default="",
    metavar="FIELDS",
    help="Fields to read from the topics file, as in id=qid,title=query [by their names].",
)
@click.option("--dry-run", is_flag=True, help="Print how FILE would be read; store nothing.")
@data_option
def topics(slug: str, file: Path, topic_fields: str, dry_run: bool, data: Path | None) -> None:
    """Replace the topics of a task without runs by those of FILE."""
    new = trec_topics.read(file, topic_fields)
    click.echo(str(new))
    if dry_run:
        return
    with opened(data) as (database, _):
        with database.write() as session:
            board_measures.replace(session, OPERATOR, slug, new)
        click.echo(f"{slug} has {len(new.topics)} topics.")


@click.command()
@click.argument("slug")
@click.argument("topic_id")
@click.option("--title", help="New title.  [one of the three is required]")
@click.option("--description", help="New description.  [one of the three is required]")
@click.option("--narrative", help="New narrative.  [one of the three is required]")
@data_option
def topic(slug: str, topic_id: str, data: Path | None, **parts: str | None) -> None:
    """Correct the text of a topic; omitted parts do not change, and no score depends on it."""
    given = {part: text for part, text in parts.items() if text is not None}
    if not given:
        raise click.UsageError("Give --title, --description or --narrative.")
    with opened(data) as (database, _):
        with database.write() as session:
            _, old = pages.topic_form(session, OPERATOR, slug, topic_id)
            text = TopicText(old.title, old.description, old.narrative)
            board_measures.correct(session, OPERATOR, slug, topic_id, replace(text, **given))
        click.echo(f"Topic {topic_id} of {slug}: {' and '.join(given)} corrected.")


@click.command()
@click.argument("slug")
@click.argument("account")
@click.option("--role", type=click.Choice(ROLES), default="organiser", show_default=True)
@data_option
def organiser(slug: str, account: str, role: str, data: Path | None) -> None:
    """Let an account organise a task, coordinate its assessors, or see everything."""
    acts = {"organiser": "organises", "coordinator": "coordinates the assessors of", "reader": "reads"}
    with opened(data) as (database, _):
        with database.write() as session:
            roles.give(session, OPERATOR, slug, account, role)
        click.echo(f"{account} {acts[role]} {slug}.")


SAYS: dict[str, Callable[..., str]] = {
    "date_task": lambda done, slug: f"{slug} accepts runs {done.asked.span}.",
    "publish_task": lambda done, slug: f"{slug} is published.",
    "unpublish_task": lambda done, slug: f"{slug} is a draft.",
    "archive_task": lambda done, slug: f"{slug} is {done.done}.",
    "discard_task": lambda done, slug: f"{slug} was deleted.",
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
    for action in (*organise.DESK, *organise.LIFE)
    if action.name in SAYS
)
COMMANDS = (set_, show, clone, *LIFE, topics, topic, organiser)
