"""`leaderboard task phase`: the phases of a task, as on its page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from leaderboard.cli.site import data_option, opened
from leaderboard.db.engine import Database
from leaderboard.pages.tasks import phases as pages
from leaderboard.services.policy import OPERATOR
from leaderboard.services.runs.admission import KINDS
from leaderboard.services.tasks import dates, phases
from leaderboard.services.tasks.phases import PhasePlan
from leaderboard.tables.words import utc_time

LIMITS = ("runs_per_day", "runs_in_all", "account_runs_per_day", "account_runs_in_all", "largest_bytes")


@click.group()
def phase() -> None:
    """The phases of a task: when it takes runs, on which topics, who sees their scores."""


def _options(command: Any) -> Any:
    """The options that say what a phase is."""
    for option in (
        click.option("--opens", help="Takes runs from then on, such as 2026-05-01T12:00 or 2026-05-01."),
        click.option("--closes", help="Takes runs until then; a day to its end."),
        click.option("--zone", help="Time zone of these dates: UTC, AoE or a name [UTC]."),
        click.option("--topics", help="all, half, or ids separated by commas [all]."),
        click.option("--seed", help="Seed of a random half [drawn]."),
        click.option("--visibility", type=click.Choice(["open", "blind", "sealed"]), help="[as the task]"),
        click.option("--at-close", type=click.Choice(list(phases.CLOSES)), help="What then happens [open]."),
        click.option("--reveal", help="A sealed one shows its scores from then on [by `reveal`]."),
        click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="[every kind]"),
        click.option("--ranked/--unranked", default=None, help="Whether its runs have ranks [ranked]."),
        *(click.option(f"--{name.replace('_', '-')}", type=int, help="[no limit]") for name in LIMITS),
        data_option,
    ):
        command = option(command)
    return command


@phase.command()
@click.argument("slug")
@click.argument("name")
@_options
def add(slug: str, name: str, data: Path | None, **given: Any) -> None:
    """Add a phase to a task."""
    with opened(data) as (database, _):
        with database.write() as session:
            phases.add(session, OPERATOR, slug, _plan(PhasePlan(name=name), given))
        click.echo(f"{slug} has a phase {name}.")
        _warn(database, slug)


@phase.command()
@click.argument("slug")
@click.argument("name")
@click.option("--name", "new_name", help="Another name.")
@click.option("--reason", default="", help="Why a deadline moves; participants read it.")
@_options
def change(slug: str, name: str, new_name: str | None, reason: str, data: Path | None, **given: Any) -> None:
    """Change what is given of a phase, and leave the rest as it is."""
    with opened(data) as (database, _):
        with database.write() as session:
            page = pages.phases_page(session, OPERATOR, slug)
            row = next((row for row in page.rows if row.name == name), None)
            plan = _plan(PhasePlan(name=new_name or name) if row is None else _as_it_is(row, new_name), given)
            phases.change(session, OPERATOR, slug, name, plan, reason)
        click.echo(f"{slug}: {plan.name} was changed.")
        _warn(database, slug)


@phase.command()
@click.argument("slug")
@click.argument("name")
@data_option
def remove(slug: str, name: str, data: Path | None) -> None:
    """Take a phase away that has no runs."""
    with opened(data) as (database, _):
        with database.write() as session:
            phases.remove(session, OPERATOR, slug, name)
        click.echo(f"{slug} has no phase {name} any more.")


@phase.command()
@click.argument("slug")
@click.argument("name")
@data_option
def reveal(slug: str, name: str, data: Path | None) -> None:
    """Show the scores of a closed phase that stays sealed."""
    with opened(data) as (database, _):
        with database.write() as session:
            phases.reveal(session, OPERATOR, slug, name)
        click.echo(f"Everybody sees the scores of {name}.")


@phase.command()
@click.argument("slug")
@click.argument("hours", type=int)
@click.option("--reason", required=True, help="Participants read it.")
@data_option
def extend(slug: str, hours: int, reason: str, data: Path | None) -> None:
    """Move every open deadline by the hours of an outage."""
    with opened(data) as (database, _):
        with database.write() as session:
            moved = phases.extend(session, OPERATOR, slug, hours, reason)
        click.echo(f"Moved by {hours} hours: {moved}.")


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
            until = f"until {utc_time(row.closes_at)}" if row.closes_at else "no deadline"
            seed = f", seed {row.seed}" if row.seed else ""
            click.echo(f"{row.name}\t{row.state}\t{until}\t{row.topics} topics{seed}\t{row.visibility}")


def _warn(database: Database, slug: str) -> None:
    with database.read() as session:
        if warning := pages.phases_page(session, OPERATOR, slug).warning:
            click.echo(warning, err=True)


def _as_it_is(row: pages.PhaseRow, new_name: str | None) -> PhasePlan:
    return PhasePlan(
        name=new_name or row.name,
        opens_at=row.opens_at,
        closes_at=row.closes_at,
        zone=row.zone,
        topics=row.topic_choice,
        topic_list=row.topic_list,
        seed=row.seed,
        visibility=row.own_visibility,
        at_close=row.at_close,
        reveal_at=row.reveal_at,
        kinds=row.kinds,
        ranked=row.ranked,
        **{name: getattr(row, name) for name in LIMITS},
    )


def _plan(plan: PhasePlan, given: dict[str, Any]) -> PhasePlan:
    """The plan with what was given in place of what it says."""
    zone = given["zone"] or plan.zone
    asked = {key: given[key] for key in ("seed", "visibility", "at_close", "ranked", *LIMITS)}
    changes: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    for key, name in (("opens", "opens_at"), ("closes", "closes_at"), ("reveal", "reveal_at")):
        if given[key] is not None:
            changes[name] = dates.read(given[key], zone, key)
    if given["kinds"]:
        changes["kinds"] = given["kinds"]
    if (topics := given["topics"]) is not None:
        is_list = topics not in (phases.ALL, phases.HALF)
        changes |= {"topics": phases.LIST if is_list else topics, "topic_list": topics if is_list else ""}
    return replace(plan, zone=zone, **changes)
