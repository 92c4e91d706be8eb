"""`leaderboard run`: runs added in bulk from the command line, and what is said of them."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from leaderboard.cli import Failure
from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.db.engine import Database
from leaderboard.errors import LeaderboardError
from leaderboard.services.accounts import teams
from leaderboard.services.policy import OPERATOR
from leaderboard.services.runs import admission, marks, prepare, uploads, withdrawals
from leaderboard.services.runs import describe as run_descriptions
from leaderboard.services.runs.admission import KINDS, RunRequest
from leaderboard.services.runs.uploads import Delivery
from leaderboard.settings import Settings
from leaderboard.trec.facts import fields
from leaderboard.trec.facts.fields import FIELDS, FactValue
from leaderboard.trec.read.lines import Limits


def fact_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each thing that may be said of a run, such as --latency "12.5 ms"."""
    for fact in reversed(FIELDS):
        hint = f"{fact.title}. {fact.hint}"
        kind = click.Choice(["", *fact.choices]) if fact.choices else None
        shown = f"[{'|'.join(fact.choices)}]" if fact.choices else None
        command = click.option(fact.option, fact.key, type=kind, metavar=shown, help=hint)(command)
    return command


def _given(facts: Mapping[str, str | None]) -> dict[str, str]:
    return {key: text for key, text in facts.items() if text is not None}


@click.group()
def run() -> None:
    """Runs."""


@run.command()
@click.argument("slug")
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("--team", required=True, help="Team the runs belong to; made where there is none.")
@click.option("--kind", type=click.Choice(KINDS), default="official", show_default=True)
@click.option("--name-from", type=click.Choice(["file", "tag"]), default="file", show_default=True)
@fact_options
@data_option
def add(
    slug: str,
    files: tuple[Path, ...],
    team: str,
    kind: str,
    name_from: str,
    data: Path | None,
    **facts: str | None,
) -> None:
    """Add run files; one that is rejected does not stop the others, and the exit code is 1 at the end.

    What the options say of type, code, latency and so on is said of each of the files.
    """
    read = fields.read(_given(facts))
    messages: list[str] = []
    failed = 0
    with opened(data) as (database, settings):
        with database.write() as session:
            team_id = teams.ensure(session, OPERATOR, team)
        with click.progressbar(files, label="Adding runs", file=sys.stderr, hidden=len(files) == 1) as shown:
            for file in shown:
                fine, message = _add_one(
                    database, settings, slug, team_id, file, kind, name_from == "tag", read
                )
                messages.append(message)
                failed += not fine
    for message in messages:
        click.echo(message, err=message.startswith("rejected"))
    if failed:
        raise click.exceptions.Exit(1)


@run.command()
@click.argument("run_id", type=int)
@click.option("--undo", is_flag=True, help="Take the mark back.")
@data_option
def primary(run_id: int, undo: bool, data: Path | None) -> None:
    """Mark a run for its team: it counts at the end or, where all runs count, is the team's primary one."""
    with opened(data) as (database, _), database.write() as session:
        (marks.unmark if undo else marks.mark)(session, OPERATOR, run_id)


@run.command()
@click.argument("run_id", type=int)
@click.option("--why", required=True, help="The reason; it stays on the run's page.")
@data_option
def withdraw(run_id: int, why: str, data: Path | None) -> None:
    """Take a run off the board; its file and scores are kept."""
    with opened(data) as (database, _), database.write() as session:
        withdrawals.withdraw(session, OPERATOR, run_id, why)


@run.command()
@click.argument("run_id", type=int)
@data_option
def restore(run_id: int, data: Path | None) -> None:
    """Put a withdrawn run back on the board."""
    with opened(data) as (database, _), database.write() as session:
        withdrawals.restore(session, OPERATOR, run_id)


@run.command()
@click.argument("run_id", type=int)
@fact_options
@data_option
def describe(run_id: int, data: Path | None, **facts: str | None) -> None:
    """Correct what is said about a run; an empty value takes it back. The rankings never change."""
    with opened(data) as (database, _), database.write() as session:
        changed = run_descriptions.describe(session, OPERATOR, run_id, _given(facts))
    click.echo(
        f"Run {run_id}: {', '.join(changed)} changed." if changed else f"Run {run_id}: nothing changed."
    )


def _add_one(
    database: Database,
    settings: Settings,
    slug: str,
    team_id: int,
    file: Path,
    kind: str,
    by_tag: bool,
    facts: Mapping[str, FactValue],
) -> tuple[bool, str]:
    """Whether the file was accepted, and what to print about it."""
    try:
        with database.read() as session:
            rules = admission.rules_for(session, OPERATOR, slug, team_id)
        prepared = prepare.prepare(file, file.name, rules, Limits(plain_bytes=settings.plain_bytes))
        name = prepare.suggested_name(file.name)
        if by_tag and prepared.run is not None:
            name = prepared.run.tag
        with database.write() as session:
            delivery = Delivery(
                sender=OPERATOR,
                slug=slug,
                team_id=team_id,
                file=prepared,
                wishes=RunRequest(name, kind, facts=facts),
            )
            done = uploads.submit(session, delivery)
    except LeaderboardError as error:
        return False, f"rejected  {file}: {Failure(error).message}"
    report = done.report
    assert report is not None
    notes = [f"    warning: {warning}" for warning in report.warnings]
    if report.accepted:
        return True, "\n".join([f"accepted  {file} as {name} (run {done.run_id})", *notes])
    problems = [f"    {problem}" for problem in report.problems]
    return False, "\n".join([f"rejected  {file}", *problems, *notes])
