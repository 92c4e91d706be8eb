"""`leaderboard run`: runs added in bulk from the command line."""

import sys
from pathlib import Path

import click

from leaderboard.cli import Failure
from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.db.engine import Database
from leaderboard.errors import LeaderboardError
from leaderboard.services import admission, prepared_runs, primary_runs, teams, uploads
from leaderboard.services.admission import KINDS, Wishes
from leaderboard.services.policy import OPERATOR
from leaderboard.settings import Settings
from leaderboard.trec.lines import Limits


@click.group()
def run() -> None:
    """Runs."""


@run.command()
@click.argument("slug")
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("--team", required=True, help="Team the runs belong to; made where there is none.")
@click.option("--kind", type=click.Choice(KINDS), default="official", show_default=True)
@click.option("--name-from", type=click.Choice(["file", "tag"]), default="file", show_default=True)
@data_option
def add(slug: str, files: tuple[Path, ...], team: str, kind: str, name_from: str, data: Path | None) -> None:
    """Add run files; one that is rejected does not stop the others, and the exit code is 1 at the end."""
    messages: list[str] = []
    failed = 0
    with opened(data) as (database, settings):
        with database.write() as session:
            team_id = teams.ensure(session, OPERATOR, team)
        with click.progressbar(files, label="Adding runs", file=sys.stderr, hidden=len(files) == 1) as shown:
            for file in shown:
                fine, message = _add_one(database, settings, slug, team_id, file, kind, name_from == "tag")
                messages.append(message)
                failed += not fine
    for message in messages:
        click.echo(message, err=message.startswith("rejected"))
    if failed:
        raise click.exceptions.Exit(1)


@run.command()
@click.argument("run_id", type=int)
@data_option
def primary(run_id: int, data: Path | None) -> None:
    """Make a run its team's primary one: it stands for the team where a board shows one run a team."""
    with opened(data) as (database, _), database.write() as session:
        primary_runs.declare(session, OPERATOR, run_id)


def _add_one(
    database: Database, settings: Settings, slug: str, team_id: int, file: Path, kind: str, by_tag: bool
) -> tuple[bool, str]:
    """Whether the file was accepted, and what to print about it."""
    try:
        with database.read() as session:
            rules = admission.rules_for(session, OPERATOR, slug, team_id)
        prepared = prepared_runs.prepare(file, file.name, rules, Limits(plain_bytes=settings.plain_bytes))
        name = prepared_runs.suggested_name(file.name)
        if by_tag and prepared.run is not None:
            name = prepared.run.tag
        with database.write() as session:
            done = uploads.submit(
                session, OPERATOR, slug, team_id, prepared, Wishes(name, kind), limit_s=settings.job_limit_s
            )
    except LeaderboardError as error:
        return False, f"rejected  {file}: {Failure(error).message}"
    report = done.report
    assert report is not None
    notes = [f"    warning: {warning}" for warning in report.warnings]
    if report.accepted:
        return True, "\n".join([f"accepted  {file} as {name} (run {done.run_id})", *notes])
    problems = [f"    {problem}" for problem in report.problems]
    return False, "\n".join([f"rejected  {file}", *problems, *notes])
