"""`leaderboard import`: a task made from an export, or from a folder of files."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from leaderboard.bundles.ops import found, imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.found import FolderRequest, FoundChoice
from leaderboard.bundles.ops.imports import ImportedTask
from leaderboard.bundles.ops.opening import BundleFiles
from leaderboard.bundles.page import UnderstoodTask, of_folder
from leaderboard.core.cli.site import FILE, data_option, keep_private, opened
from leaderboard.core.policy import OPERATOR, ORGANISER
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.runs.ops.prepare import suggested_name
from leaderboard.tables.record import counted
from leaderboard.tasks.ops import datasets, roles
from leaderboard.tasks.ops.datasets import DatasetRequest, DatasetTask
from leaderboard.tasks.page import settings as pages
from leaderboard.trec.read.lines import Limits

MOST_LISTED = 20
"""Lines of a kind that the page has."""


def _from_folder(
    database: Database,
    files: BundleFiles,
    choice: FoundChoice,
    request: FolderRequest,
    organiser: str | None,
    *,
    is_sure: bool,
    dry_run: bool,
) -> None:
    """Print what the folder was understood as, then make the task unless something is in doubt."""
    understood = found.look(files, choice, lambda path: click.echo(f"  {path}", err=True))
    with tempfile.TemporaryDirectory(prefix="topics-") as folder:
        task = found.prepared(files, understood, request, Path(folder))
    click.echo("\n".join(page(of_folder(understood, task))))
    if dry_run:
        click.echo("Dry run: nothing was stored.")
        return
    if understood.doubts and not is_sure:
        raise Invalid("Nothing was stored. If everything above is right, use --yes.")
    with database.write() as session:
        found.make_bundle(session, OPERATOR, files, task, understood.runs, request.limits)
        _give_to(session, request.slug, organiser)
    click.echo(f"Task {request.slug} is published; its {len(understood.runs):,} runs are queued for scoring.")


def _from_dataset(
    database: Database, request: DatasetRequest, organiser: str | None, *, dry_run: bool
) -> None:
    """Read the dataset, say what is in it, and make the task."""
    with tempfile.TemporaryDirectory(prefix="dataset-") as folder:
        prepared = datasets.prepare(request, Path(folder), _told)
    click.echo("\n".join(_dataset_lines(request, prepared)))
    if dry_run:
        click.echo("Dry run: nothing was stored.")
        return
    with database.write() as session:
        datasets.make(session, OPERATOR, prepared)
        _give_to(session, request.slug, organiser)
    click.echo(f"Task {request.slug} is published.")


def _dataset_lines(request: DatasetRequest, prepared: DatasetTask) -> list[str]:
    task, qrels = prepared.task, prepared.task.qrels
    stored = f"{prepared.documents.count:,} documents" if prepared.documents else "no documents stored"
    return [
        f"{request.name} ({request.slug}), of {request.dataset}",
        f"Topics: {len(task.topics.topics):,}.",
        f"Judgments: {qrels.size:,} of {len(qrels.topics):,} topics." if qrels else "Judgments: none.",
        f"Collection: {prepared.collection}, {stored}.",
        f"Measures: {', '.join(task.measures)}; ranked by {task.primary}.",
    ]


def _give_to(session: Session, slug: str, organiser: str | None) -> None:
    if organiser:
        roles.give(session, OPERATOR, slug, organiser, ORGANISER)
    else:
        roles.adopt(session, OPERATOR)


def page(understood: UnderstoodTask) -> Iterator[str]:
    """The one-page preview of a folder import."""
    yield f"{understood.name} ({understood.slug})"
    yield from (f"{head}: {text.removesuffix('.')}." for head, text in understood.facts)
    yield from _listed(
        [f"{run.name} ({run.team}): {run.topics:,} topics, {run.path}" for run in understood.runs]
    )
    if understood.left_out:
        yield "Not imported:"
        yield from _listed([f"{why}: {paths}" for why, paths in understood.left_out])
    yield from (f"Please check: {doubt}" for doubt in understood.doubts)


def _listed(items: list[str]) -> Iterator[str]:
    yield from (f"  {item}" for item in items[:MOST_LISTED])
    if len(items) > MOST_LISTED:
        yield f"  and {len(items) - MOST_LISTED:,} more"


def _source(context: click.Context, parameter: click.Parameter, value: str) -> Path | str:
    """An existing path, or the id of an ir_datasets dataset."""
    if value.startswith(datasets.PREFIX):
        return value
    path: Path = click.Path(exists=True, path_type=Path).convert(value, parameter, context)
    return path


@click.command("import")
@click.argument("source", callback=_source)
@click.option("--slug", default="", help="Slug of the task [from the export, else the folder name].")
@click.option("--map", "map_file", type=FILE, help="Map file of an export with pseudonyms, to restore names.")
@click.option("--organiser", help="Account that organises the task [the only organiser account].")
@click.option("--dry-run", is_flag=True, help="Show a preview and store nothing.")
@click.option("--name", default="", help="Folder: name of the task [the slug].")
@click.option("--topics", default="", help="Folder: topics file.")
@click.option("--qrels", default="", help="Folder: qrels file.")
@click.option(
    "--team", default=found.TEAM, show_default=True, help="Team of runs missing from the team list."
)
@click.option("--no-documents", is_flag=True, help="ir_datasets: do not import document texts.")
@click.option("--yes", "is_sure", is_flag=True, help="Folder: import even if findings need confirmation.")
@data_option
def import_(
    source: Path | str,
    slug: str,
    map_file: Path | None,
    data: Path | None,
    no_documents: bool,
    **options: Any,
) -> None:
    """Import a task from SOURCE, a folder, .zip or .tar.gz: an export, or topics, qrels and runs.

    ir_datasets:ID imports a dataset of ir_datasets with its documents, for example ir_datasets:vaswani.

    A mirror of one task is an export of its public data. All checksums of an export are verified first. For
    any other folder, a one-page preview shows the role of each file, detected from content and usual names;
    findings that need confirmation need --yes. Everything is stored, or nothing is. Runs are scored again,
    which reproduces the leaderboard of an export.
    """
    organiser, dry_run, name = options["organiser"], options["dry_run"], options["name"]
    if isinstance(source, str):
        dataset = source.removeprefix(datasets.PREFIX)
        slug = slug or re.sub("[/._]", "-", dataset.lower())
        of_dataset = DatasetRequest(
            dataset=dataset, slug=slug, name=name or dataset, has_documents=not no_documents
        )
        with opened(data) as (database, settings):
            keep_private(settings)
            _from_dataset(database, of_dataset, organiser, dry_run=dry_run)
        return
    with opened(data) as (database, settings), opening.opened(opening.in_mirror(source)) as files:
        keep_private(settings)
        limits = Limits(plain_bytes=settings.plain_bytes)
        if files.is_bundle:
            opening.require_whole(files)
            request = ImportRequest(slug=slug, names=_names(map_file), limits=limits)
            _from_export(database, files, request, organiser, dry_run=dry_run)
            return
        roles_of_files = {part: options[part] for part in ("topics", "qrels", "team")}
        slug = slug or re.sub("[._]", "-", suggested_name(source.resolve().name).lower())
        _from_folder(
            database,
            files,
            FoundChoice(**roles_of_files, limits=limits),
            FolderRequest(slug=slug, name=name or slug, limits=limits),
            organiser,
            is_sure=options["is_sure"],
            dry_run=dry_run,
        )


class _NotKept(Exception):
    """Ends the transaction of a dry run without a change."""


def _from_export(
    database: Database, files: BundleFiles, request: ImportRequest, organiser: str | None, *, dry_run: bool
) -> None:
    try:
        with database.write() as session:
            task = imports.bring_in(session, OPERATOR, files, request, _told)
            _give_to(session, task.slug, organiser)
            people = [row.name for row in pages.people(session, OPERATOR, task.slug).people]
            if dry_run:
                raise _NotKept
    except _NotKept:
        click.echo("Dry run: nothing was stored. Without --dry-run:")
    click.echo("\n".join(_lines(task, people)))


def _lines(task: ImportedTask, people: list[str]) -> list[str]:
    lines = [f"Task {task.slug}: {task.runs:,} runs, {task.revisions:,} revisions of judgments."]
    if task.teams_known:
        lines.append(f"Runs added to existing teams: {', '.join(task.teams_known)}.")
    if task.teams_new:
        lines.append(f"Teams created without members: {', '.join(task.teams_new)}.")
    if task.unscored:
        lines.append(
            f"Labels of {counted(task.unscored, 'judge')} cannot be scored again, because the runs of their "
            "reference are not on this site. Their imported leaderboards are used unchanged."
        )
    lines += task.left_behind
    lines.append(f"Organisers: {', '.join(people) or 'none yet'}.")
    lines.append(f"{task.jobs:,} evaluations are queued; they reproduce the exported leaderboard.")
    return lines


def _names(path: Path | None) -> dict[str, str]:
    """Pseudonym -> name of teams and of runs, of the file that an export wrote with --map."""
    if path is None:
        return {}
    try:
        pseudonyms = json.loads(path.read_text(encoding="utf-8"))
        named = (*pseudonyms["teams"], *pseudonyms["runs"], *pseudonyms.get("references", []))
        return {each["pseudonym"]: each["name"] for each in named}
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not a map written by `leaderboard export --map`.") from error


def _told(what: str) -> None:
    click.echo(f"  {what}", err=True)
