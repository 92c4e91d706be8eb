"""`leaderboard task logo` and `task picture`: what the page of settings does, from the command line."""

from pathlib import Path

import click

from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.picture_kinds import LOGO, PICTURE, PictureKind
from leaderboard.core.policy import OPERATOR
from leaderboard.tasks.ops.pictures import pictures, prepare
from leaderboard.tasks.ops.pictures.pictures import PictureRequest


def _command(kind: PictureKind, about: str) -> click.Command:
    @click.command(kind.name, help=about)
    @click.argument("slug")
    @click.argument("file", type=FILE, required=False)
    @click.option(
        "--alt",
        default="",
        help="Alternative text, for screen readers.  [required with FILE; without FILE it replaces the text]",
    )
    @click.option("--remove", is_flag=True, help="Remove it.  [this, FILE or --alt is required]")
    @click.option("--reason", default="", help="Reason; shown to participants of a published task.")
    @data_option
    def command(slug: str, file: Path | None, alt: str, remove: bool, reason: str, data: Path | None) -> None:
        if remove == bool(file or alt):
            raise click.UsageError("Give FILE, --alt or both, or only --remove.")
        with opened(data) as (database, _):
            prepared = prepare.prepare(file, kind) if file else None
            picture_request = PictureRequest(kind=kind, alt=alt, picture=prepared, reason=reason)
            with database.write() as session:
                if remove:
                    pictures.remove(session, OPERATOR, slug, picture_request)
                    said = f"{slug} no longer has a {kind.name}."
                else:
                    picture = pictures.put(session, OPERATOR, slug, picture_request)
                    size = f"{picture.width} x {picture.height} pixels"
                    said = f"{slug} has a {kind.name} of {size}: {picture.alt}"
            click.echo(said)

    return command


COMMANDS = (
    _command(LOGO, "Set a task's logo, shown small on its pages and on the front page."),
    _command(PICTURE, "Set a task's picture, shown wide on its About page."),
)
