"""`leaderboard import`: a task made of an export."""

import json
from pathlib import Path

import click

from leaderboard.cli.site import data_option, keep_private, opened
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.pages.tasks import settings as pages
from leaderboard.services.bundles import imports, opening
from leaderboard.services.bundles.imports import ImportedTask, ImportRequest
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.policy import OPERATOR
from leaderboard.services.tasks import roles
from leaderboard.trec.read.lines import Limits

SOURCE = click.Path(exists=True, path_type=Path)


@click.command("import")
@click.argument("source", type=SOURCE)
@click.option("--slug", default="", help="Slug of the task [the one in the export].")
@click.option("--map", "map_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The map of an export with pseudonyms: its names take their place.")  # fmt: skip
@click.option("--organiser", help="Account that organises it in the browser [the only organiser there is].")
@click.option("--dry-run", is_flag=True, help="Say what would be made, and make nothing.")
@data_option
def import_(
    source: Path, slug: str, map_file: Path | None, organiser: str | None, dry_run: bool, data: Path | None
) -> None:
    """Make the task of SOURCE, which `leaderboard export` wrote: a folder, a .zip or a .tar.gz.

    Every digest is checked before anything is stored, and all of it is stored or nothing. Its runs are scored
    anew; the board is the same once that is done.
    """
    with opened(data) as (database, settings), opening.opened(source) as files:
        keep_private(settings)
        if not files.is_bundle:
            raise Invalid(f"{source} is no export of a task: it has no bundle.json and SHA256SUMS.")
        opening.require_whole(files)
        wanted = ImportRequest(
            slug=slug, names=_names(map_file), limits=Limits(plain_bytes=settings.plain_bytes)
        )
        _bring_in(database, files, wanted, organiser, dry_run=dry_run)


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
            people = [row.name for row in pages.people(session, OPERATOR, made.slug).rows]
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
    lines.append(f"Organised in the browser by: {', '.join(people) or 'nobody yet'}.")
    lines.append(f"{made.jobs:,} evaluations wait; the board is the same once they are done.")
    return lines


def _names(path: Path | None) -> dict[str, str]:
    """Pseudonym -> name of teams and runs, of the file that an export wrote with --map."""
    if path is None:
        return {}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return {each["pseudonym"]: each["name"] for kind in ("teams", "runs") for each in known[kind]}
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not a map that `leaderboard export --map` wrote.") from error


def _told(what: str) -> None:
    click.echo(f"  {what}", err=True)
