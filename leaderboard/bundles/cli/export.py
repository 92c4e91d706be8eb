"""`leaderboard export`: a whole task as plain files."""

from pathlib import Path

import click

from leaderboard.bundles import page as bundles
from leaderboard.bundles.ops import describing
from leaderboard.core.cli.site import data_option, keep_private, opened, site_address
from leaderboard.core.policy import OPERATOR
from leaderboard.errors import Invalid
from leaderboard.temporary import whole_file

TARGET = click.Path(path_type=Path)


@click.command("export")
@click.argument("slug")
@click.argument("target", type=TARGET)
@click.option(
    "--pseudonyms", is_flag=True, help="Replace names of teams, runs and people with pseudonyms; needs --map."
)
@click.option(
    "--map",
    "map_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the map from pseudonyms to names, outside TARGET.",
)
@data_option
def export(slug: str, target: Path, pseudonyms: bool, map_file: Path | None, data: Path | None) -> None:
    """Export the task SLUG to TARGET as plain files: a .zip, a .tar.gz, or otherwise a folder.

    Topics, judgments of every revision, runs as submitted, teams, pools, labels, announcements, dates,
    settings and scores, with a README that explains each file. `leaderboard import` reads it back.
    """
    if pseudonyms != (map_file is not None):
        raise Invalid("Use --pseudonyms together with --map FILE.")
    if map_file is not None and _is_within(map_file, target):
        raise Invalid(f"{map_file} is inside {target}. Write the map elsewhere.")
    with opened(data) as (database, settings):
        keep_private(settings)
        writer = describing.writer(target, _told)
        site = site_address(settings) if settings.public_url else ""
        names = bundles.export(database, OPERATOR, slug, writer, site=site, is_release=pseudonyms)
    if names is not None and map_file is not None:
        with whole_file(map_file) as file:
            file.write(names.text().encode())
        click.echo(f"{target} contains no names; {map_file} maps pseudonyms to names.")
        return
    click.echo(f"Exported {slug} to {target}.")


def _told(path: str, size: int) -> None:
    click.echo(f"  {path}: {size:,} bytes", err=True)


def _is_within(path: Path, folder: Path) -> bool:
    return path.resolve() == folder.resolve() or folder.resolve() in path.resolve().parents
