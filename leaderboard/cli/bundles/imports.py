"""`leaderboard import`: a task made of an export, or of a folder of files."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from leaderboard.cli.bundles import datasets as dataset_roads
from leaderboard.cli.bundles.datasets import DatasetAnswers
from leaderboard.cli.site import FILE, data_option, keep_private, opened
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.pages.bundles import UnderstoodTask, of_folder
from leaderboard.pages.tasks import settings as pages
from leaderboard.services import datasets
from leaderboard.services.bundles import found, imports, opening
from leaderboard.services.bundles.checking import ImportRequest
from leaderboard.services.bundles.found import FolderRequest, FoundChoice
from leaderboard.services.bundles.imports import ImportedTask
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.datasets import DatasetRequest
from leaderboard.services.policy import OPERATOR
from leaderboard.services.runs.prepare import suggested_name
from leaderboard.services.tasks import roles
from leaderboard.tables.words import counted
from leaderboard.trec.read.lines import Limits

MOST_LISTED = 20
"""Lines of a kind that the page has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the command line says of a folder besides its files."""

    choice: FoundChoice
    wanted: FolderRequest
    organiser: str | None
    is_sure: bool
    dry_run: bool


def bring_in(database: Database, files: BundleFiles, answers: Answers) -> None:
    """Print what the folder was understood as, then make the task unless something is in doubt."""
    understood = found.look(files, answers.choice, lambda path: click.echo(f"  {path}", err=True))
    with tempfile.TemporaryDirectory(prefix="topics-") as folder:
        task = found.prepared(files, understood, answers.wanted, Path(folder))
    click.echo("\n".join(page(of_folder(understood, task))))
    if answers.dry_run:
        click.echo("A dry run: nothing was stored.")
        return
    if understood.doubts and not answers.is_sure:
        raise Invalid("Nothing was stored. Where all this is right, say --yes.")
    with database.write() as session:
        found.make_bundle(session, OPERATOR, files, task, understood.runs, answers.wanted.limits)
        if answers.organiser:
            roles.give(session, OPERATOR, answers.wanted.slug, answers.organiser, "organiser")
        else:
            roles.adopt(session, OPERATOR)
    click.echo(
        f"Task {answers.wanted.slug} is published; its {len(understood.runs):,} runs wait to be scored."
    )


def page(understood: UnderstoodTask) -> Iterator[str]:
    """What the folder was understood as, on one page."""
    yield f"{understood.name} ({understood.slug})"
    yield from (f"{head}: {said.removesuffix('.')}." for head, said in understood.facts)
    yield from _listed(
        [f"{run.name} ({run.team}): {run.topics:,} topics, {run.path}" for run in understood.runs]
    )
    if understood.left_out:
        yield "Left out:"
        yield from _listed([f"{why}: {paths}" for why, paths in understood.left_out])
    yield from (f"Look at this: {doubt}" for doubt in understood.doubts)


def _listed(items: list[str]) -> Iterator[str]:
    yield from (f"  {item}" for item in items[:MOST_LISTED])
    if len(items) > MOST_LISTED:
        yield f"  and {len(items) - MOST_LISTED:,} more"


def _source(context: click.Context, parameter: click.Parameter, value: str) -> Path | str:
    """A path that is there, or the id of a dataset of ir_datasets as it is written."""
    if value.startswith(datasets.PREFIX):
        return value
    path: Path = click.Path(exists=True, path_type=Path).convert(value, parameter, context)
    return path


@click.command("import")
@click.argument("source", callback=_source)
@click.option("--slug", default="", help="Slug of the task [the one in the export, else the folder's name].")
@click.option("--map", "map_file", type=FILE, help="Of an export with pseudonyms: names take their place.")
@click.option("--organiser", help="Account that organises it in the browser [the only organiser there is].")
@click.option("--dry-run", is_flag=True, help="Say what would be made, and make nothing.")
@click.option("--name", default="", help="Of a folder of files: the task's name [the slug].")
@click.option("--topics", default="", help="Of a folder: which file is the topics.")
@click.option("--qrels", default="", help="Of a folder: which file is the judgments.")
@click.option("--team", default=found.TEAM, show_default=True, help="Whose runs are that no list names.")
@click.option(
    "--no-documents", is_flag=True, help="Of a dataset of ir_datasets: without its documents' texts."
)
@click.option("--yes", "is_sure", is_flag=True, help="Of a folder: go on where something is in doubt.")
@data_option
def import_(
    source: Path | str,
    slug: str,
    map_file: Path | None,
    data: Path | None,
    no_documents: bool,
    **options: Any,
) -> None:
    """Make a task of SOURCE, a folder, .zip or .tar.gz: an export, or topics, judgments and runs.

    ir_datasets:ID is a dataset of ir_datasets, such as ir_datasets:vaswani, with its documents.

    A mirror of one task is an export of what everybody reads of it.
    Of what `leaderboard export` wrote every digest is checked first. Of any other folder it is told on one
    page which file is what, by its lines and usual names; where that is in doubt --yes is needed.
    All of it is stored or nothing. Runs are scored anew; an export's board is the same once that is done.
    """
    if isinstance(source, str):
        with opened(data) as (database, settings):
            keep_private(settings)
            dataset_roads.bring_in(database, _dataset(source, slug, no_documents, options))
        return
    with opened(data) as (database, settings), opening.opened(opening.in_mirror(source)) as files:
        keep_private(settings)
        limits = Limits(plain_bytes=settings.plain_bytes)
        if files.is_bundle:
            opening.require_whole(files)
            wanted = ImportRequest(slug=slug, names=_names(map_file), limits=limits)
            _bring_in(database, files, wanted, options["organiser"], dry_run=options["dry_run"])
            return
        bring_in(database, files, _answers(source, slug, limits, **options))


def _dataset(source: str, slug: str, no_documents: bool, options: dict[str, Any]) -> DatasetAnswers:
    dataset = source.removeprefix(datasets.PREFIX)
    slug = slug or dataset.lower().replace("/", "-").replace("_", "-").replace(".", "-")
    wanted = DatasetRequest(
        dataset=dataset, slug=slug, name=options["name"] or dataset, has_documents=not no_documents
    )
    return DatasetAnswers(wanted=wanted, organiser=options["organiser"], dry_run=options["dry_run"])


def _answers(
    source: Path,
    slug: str,
    limits: Limits,
    *,
    organiser: str | None,
    dry_run: bool,
    name: str,
    topics: str,
    qrels: str,
    team: str,
    is_sure: bool,
) -> Answers:
    slug = slug or suggested_name(source.resolve().name).lower().replace(".", "-").replace("_", "-")
    return Answers(
        choice=FoundChoice(topics=topics, qrels=qrels, team=team, limits=limits),
        wanted=FolderRequest(slug=slug, name=name or slug, limits=limits),
        organiser=organiser,
        is_sure=is_sure,
        dry_run=dry_run,
    )


class _NotKept(Exception):
    """Ends the transaction of a dry run without a change."""


def _bring_in(
    database: Database, files: BundleFiles, wanted: ImportRequest, organiser: str | None, *, dry_run: bool
) -> None:
    try:
        with database.write() as session:
            made = imports.bring_in(session, OPERATOR, files, wanted, _told)
            if organiser:
                roles.give(session, OPERATOR, made.slug, organiser, "organiser")
            else:
                roles.adopt(session, OPERATOR)
            people = [row.name for row in pages.people(session, OPERATOR, made.slug).people]
            if dry_run:
                raise _NotKept
    except _NotKept:
        click.echo("A dry run: nothing was stored. Without --dry-run:")
    click.echo("\n".join(_lines(made, people)))


def _lines(made: ImportedTask, people: list[str]) -> list[str]:
    lines = [f"Task {made.slug}: {made.runs:,} runs, {made.revisions:,} revisions of judgments."]
    if made.teams_known:
        lines.append(f"Runs of teams that are here already are theirs now: {', '.join(made.teams_known)}.")
    if made.teams_new:
        lines.append(f"Teams without members, made anew: {', '.join(made.teams_new)}.")
    if made.unscored:
        lines.append(
            f"Labels of {counted(made.unscored, 'judge')} cannot be scored again, as the runs of their "
            "reference are not on this site. The boards that they made count as they came."
        )
    lines += made.left_behind
    lines.append(f"Organised in the browser by: {', '.join(people) or 'nobody yet'}.")
    lines.append(f"{made.jobs:,} evaluations wait; the board is the same once they are done.")
    return lines


def _names(path: Path | None) -> dict[str, str]:
    """Pseudonym -> name of teams and of runs, of the file that an export wrote with --map."""
    if path is None:
        return {}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        named = (*known["teams"], *known["runs"], *known.get("references", []))
        return {each["pseudonym"]: each["name"] for each in named}
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not a map that `leaderboard export --map` wrote.") from error


def _told(what: str) -> None:
    click.echo(f"  {what}", err=True)
