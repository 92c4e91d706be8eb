"""`leaderboard run`: add runs in bulk from the command line and describe them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import click

from leaderboard import fields
from leaderboard.accounts.ops import teams
from leaderboard.core import policy
from leaderboard.core.cli.actions import acting, chosen, command, options
from leaderboard.core.cli.failures import Failure
from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.errors import LeaderboardError
from leaderboard.runs import slots
from leaderboard.runs.ops import limits as runs_limits
from leaderboard.runs.ops import prepare, uploads, withdrawals
from leaderboard.runs.ops.limits import RULE
from leaderboard.runs.ops.prepare import (
    BY_FOLDER,
    BY_LIST,
    BatchFile,
    BatchRequest,
    FileRequest,
    archive_kind,
    plan,
    read_list,
)
from leaderboard.runs.ops.uploads import Delivery, RunProperties
from leaderboard.runs.page import outward
from leaderboard.runs.page.outward import HubTask, RunAddresses
from leaderboard.scoring.ops import run_facts as run_descriptions
from leaderboard.tables.yaml import yaml_text
from leaderboard.trec.read import bundles
from leaderboard.trec.read.bundles import base_name
from leaderboard.trec.read.lines import Limits


@click.group()
def run() -> None:
    """Runs."""


@run.command()
@click.argument("slug")
@click.argument("files", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
@click.option("--team", help="Team of the runs, created if new.  [this, --list or --by-folder is required]")
@click.option(
    "--list",
    "rows",
    type=FILE,
    help="CSV with the team of each run: run,team,kind,reproduces.  [required without --team]",
)
@click.option(
    "--by-folder", is_flag=True, help="Use each file's folder name as its team.  [required without --team]"
)
@click.option("--name-from", type=click.Choice(["file", "tag"]), default="file", show_default=True)
@options(RunProperties, without=("team_id", "reproduces", "original_baseline", "baseline"))
@data_option
def add(
    slug: str,
    files: tuple[Path, ...],
    team: str | None,
    rows: Path | None,
    by_folder: bool,
    name_from: str,
    data: Path | None,
    **given: Any,
) -> None:
    """Add run files, folders of run files, or zip and tar archives; a rejected file does not stop the others.

    The exit code is 1 if any file was rejected. Options such as type, code and latency apply to each of the
    files.
    """
    if (team is not None) + by_folder + (rows is not None and team is None and not by_folder) != 1:
        raise click.UsageError("Give the team of the runs with --team, --list or --by-folder.")
    whose = 0 if team is not None else BY_FOLDER if by_folder else BY_LIST
    runs = read_list(rows.read_text("utf-8", "replace")) if rows else None
    asked = fields.read(RunProperties, {**chosen(RunProperties, given), "team_id": 1})
    request = BatchRequest(team=whose, names_from=name_from, runs=runs, **asked.told)
    with opened(data) as (database, settings), TemporaryDirectory() as folder:
        limits = Limits(plain_bytes=settings.plain_bytes)
        with database.read() as session:
            task_kind = policy.visible_task(session, OPERATOR, slug)[0].kind
        batch_files = [each for path in files for each in _members(path, Path(folder), limits, task_kind)]
        planned = plan(batch_files, request, most=len(batch_files))
        messages = [f"rejected  {name}: {problem}" for name, problem in planned.refused]
        failed = len(messages)
        alone = len(batch_files) == 1
        with click.progressbar(planned.files, label="Adding runs", file=sys.stderr, hidden=alone) as shown:
            for file in shown:
                fine, message = _add_one(database, slug, file, file.team or team or "", limits)
                messages.append(message)
                failed += not fine
        left = _left(database, slug, team, request.phase) if team is not None else ""
    for message in messages:
        click.echo(message, err=message.startswith("rejected"))
    if left:
        click.echo(f"{team}: {left}. {RULE}")
    if failed:
        raise click.exceptions.Exit(1)


def _left(database: Database, slug: str, team: str, phase: str) -> str:
    """The team's remaining runs, as text; empty if there is no limit."""
    try:
        with database.write() as session:
            team_id = teams.ensure(session, OPERATOR, team)
            return str(runs_limits.admission_quota(session, OPERATOR, slug, team_id, phase))
    except LeaderboardError:
        return ""


def _members(path: Path, folder: Path, limits: Limits, task_kind: str) -> Iterator[BatchFile]:
    """The files of a path: the file itself, the files in the folder, or the files in the archive."""
    if path.is_dir():
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        for file in inside:
            name = str(file.relative_to(path.parent))
            if not bundles.is_hidden(name):
                yield BatchFile(name, file)
    elif kind := archive_kind(path, limits, task_kind):
        for bundled_file in bundles.unbundled(path, kind, Path(mkdtemp(dir=folder)), limits):
            yield BatchFile(bundled_file.name, bundled_file.path, bundled_file.problem)
    else:
        yield BatchFile(f"{path.parent.name}/{path.name}", path)


@run.command()
@click.argument("run_id", type=int)
@click.option("--undo", is_flag=True, help="Remove the mark.")
@options(withdrawals.Choice, without=("chosen",))
@data_option
def primary(run_id: int, undo: bool, data: Path | None, **given: Any) -> None:
    """Mark a run for its team: as final or, if all runs count, as the team's primary run."""
    with acting(data) as do:
        do(withdrawals.CHOOSE, chosen(withdrawals.Choice, given) | {"chosen": not undo}, run_id=run_id)


for _action in (withdrawals.WITHDRAW, withdrawals.RESTORE, withdrawals.REVIEW):
    run.add_command(command(_action))
run.add_command(
    command(run_descriptions.DESCRIBE, say=lambda outcome, run_id: f"Run {run_id}: {outcome.done}.")
)
for _added in slots.COMMANDS:
    run.add_command(_added())


@run.command()
@click.argument("run_id", type=int)
@data_option
def results(run_id: int, data: Path | None) -> None:
    """Print a run's scores in the JSON of Every Eval Ever."""
    with opened(data) as (database, _), database.read() as session:
        record = outward.results(session, OPERATOR, run_id, RunAddresses())
    click.echo(json.dumps(record, indent=2, ensure_ascii=False))


@run.command("hub-results")
@click.argument("run_id", type=int)
@click.option("--dataset", required=True, help="Hub data set with the benchmark, as owner/name.")
@click.option("--task", required=True, help="Task id of the benchmark, from the data set's eval.yaml.")
@click.option("-m", "--measure", help="Measure.  [default: the board's first]")
@data_option
def hub_results(run_id: int, dataset: str, task: str, measure: str | None, data: Path | None) -> None:
    """Print a run's score as YAML for the .eval_results/ of a Hugging Face model."""
    on = HubTask(dataset, task)
    with opened(data) as (database, _), database.read() as session:
        entries = outward.hub_results(session, OPERATOR, run_id, RunAddresses(), on, measure)
    click.echo(yaml_text(entries), nl=False)


@run.command()
@click.argument("run_id", type=int)
@data_option
def metadata(run_id: int, data: Path | None) -> None:
    """Print a run's ir_metadata: the header of its file, and its attributes on this site."""
    with opened(data) as (database, _), database.read() as session:
        click.echo(yaml_text(outward.metadata(session, OPERATOR, run_id, RunAddresses())), nl=False)


def _add_one(database: Database, slug: str, file: FileRequest, team: str, limits: Limits) -> tuple[bool, str]:
    """Whether the file was accepted, and what to print about it."""
    try:
        with database.write() as session:
            team_id = teams.ensure(session, OPERATOR, team)
        with database.read() as session:
            rules = runs_limits.rules_for(session, OPERATOR, slug, team_id, file.run.phase)
        prepared = prepare.prepare(file.path, base_name(file.file_name), rules, limits)
        with database.write() as session:
            delivery = Delivery(
                sender=OPERATOR, slug=slug, team_id=team_id, file=prepared, run_request=file.run
            )
            done = uploads.submit(session, delivery)
    except LeaderboardError as error:
        return False, f"rejected  {file.file_name}: {Failure(error).message}"
    report = done.report
    assert report is not None
    notes = [f"    warning: {warning}" for warning in report.warnings]
    if report.accepted:
        return True, "\n".join([f"accepted  {file.file_name} as {file.run.name} (run {done.run_id})", *notes])
    problems = [f"    {problem}" for problem in report.problems]
    return False, "\n".join([f"rejected  {file.file_name}", *problems, *notes])
