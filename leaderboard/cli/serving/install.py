"""`leaderboard install`: what a machine needs to run this installation at every boot."""

import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

import click

from leaderboard.errors import Conflict, Invalid

UNITS = Path(__file__).with_name("units")
USER = "leaderboard"


@click.group()
def install() -> None:
    """Write system files that run this installation at every boot."""


@install.command()
@click.option(
    "--print",
    "is_printed",
    is_flag=True,
    help="Print both units without writing files.  [required without --to]",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Write the units to this folder, such as /etc/systemd/system.  [required without --print]",
)
@click.option("--user", default=USER, show_default=True, help="System account that runs the site.")
@click.option("--force", is_flag=True, help="Replace existing units that differ.")
def systemd(is_printed: bool, folder: Path | None, user: str, force: bool) -> None:
    """Write the units leaderboard.service and leaderboard-worker@.service for this installation."""
    if is_printed is (folder is not None):
        raise click.UsageError("Use --print, or --to with a folder.")
    written = units(program(), user)
    if folder is None:
        click.echo("\n".join(f"# {name}\n{text}" for name, text in written.items()), nl=False)
        return
    _write(folder, written, force=force)
    click.echo(f"Next: useradd --system --home-dir /var/lib/leaderboard {user}; systemctl daemon-reload;")
    click.echo("      systemctl enable --now leaderboard.service. Settings: /etc/leaderboard/leaderboard.env")


def program() -> Path:
    """The command of this installation; raises Invalid where it has none."""
    command = Path(sys.executable).with_name("leaderboard")
    if not command.is_file():
        raise Invalid(f"{command} does not exist. Run this command from the installation to be started.")
    return command


def units(program: Path, user: str) -> Mapping[str, str]:
    """Name -> text of each unit, which runs the command at that path as that system account."""
    # Files under /home can be read where homes are read-only, and are not found where they are hidden.
    is_in_a_home = any(program.is_relative_to(home) for home in ("/home", "/root", "/run/user"))
    values = {"program": _quoted(program), "user": user, "home": "read-only" if is_in_a_home else "yes"}
    return {
        path.name: Template(path.read_text(encoding="utf-8")).substitute(values)
        for path in sorted(UNITS.iterdir())
    }


def _quoted(path: Path) -> str:
    """A path as systemd reads it in a command."""
    text = str(path).replace("%", "%%").replace("$", "$$")
    return text if "\\" not in text and '"' not in text and " " not in text else _in_quotes(text)


def _in_quotes(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _write(folder: Path, written: Mapping[str, str], *, force: bool) -> None:
    """Write all of them or none; raises Conflict where another unit would be lost."""
    others = [
        name
        for name, text in written.items()
        if (folder / name).exists() and (folder / name).read_text(encoding="utf-8") != text
    ]
    if others and not force:
        raise Conflict(
            f"{folder} has {' and '.join(others)} with different content. Use --force to replace them."
        )
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
        click.echo(f"Wrote {folder / name}")
