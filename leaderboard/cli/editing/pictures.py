"""`leaderboard task logo` and `task picture`: what the page of settings does, from the command line."""

from pathlib import Path

import click

from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.services.pictures import pictures, prepare
from leaderboard.services.pictures.kinds import LOGO, PICTURE, PictureKind
from leaderboard.services.pictures.pictures import PictureRequest
from leaderboard.services.policy import OPERATOR


def _command(kind: PictureKind, about: str) -> click.Command:
    @click.command(kind.name, help=about)
    @click.argument("slug")
    @click.argument("file", type=FILE, required=False)
    @click.option(
        "--alt",
        default="",
        help="What it shows, for screen readers.  [required with FILE; alone it is replaced]",
    )
    @click.option("--remove", is_flag=True, help="Remove it.  [this, FILE or --alt is required]")
    @click.option("--reason", default="", help="Why; participants of a published task read it.")
    @data_option
    def command(slug: str, file: Path | None, alt: str, remove: bool, reason: str, data: Path | None) -> None:
        if remove == bool(file or alt):
            raise click.UsageError("Give a file, --alt, or both; or --remove alone.")
        with opened(data) as (database, _):
            prepared = prepare.prepare(file, kind) if file else None
            wanted = PictureRequest(kind=kind, alt=alt, picture=prepared, reason=reason)
            with database.write() as session:
                if remove:
                    pictures.remove(session, OPERATOR, slug, wanted)
                    said = f"{slug} has no {kind.name} any more."
                else:
                    made = pictures.put(session, OPERATOR, slug, wanted)
                    said = f"{slug} has a {kind.name} of {made.width} x {made.height} pixels: {made.alt}"
            click.echo(said)

    return command


COMMANDS = (
    _command(LOGO, "Give a task a logo, shown small on its pages and on the front page."),
    _command(PICTURE, "Give a task a picture, shown wide on its About page."),
)
