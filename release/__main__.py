"""Checks a version, builds and tries what is released, and tags it: `python -m release 1.2.3 --dry-run`."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import click

from release import trying
from release.checks import CHECKS, Check
from release.places import Release
from release.prepare import prepare
from tests.make.memory import share_templates

ROOT = Path(__file__).resolve().parent.parent


@click.command()
@click.argument("version")
@click.option("--prepare", "preparing", is_flag=True, help="Write what the version states, and stop.")
@click.option("--dry-run", is_flag=True, help="Check, build and try; keep nothing and tag nothing.")
@click.option(
    "--day", type=click.DateTime(["%Y-%m-%d"]), help="The day on which it comes out.  [default: today in UTC]"
)
def main(version: str, preparing: bool, dry_run: bool, day: datetime | None) -> None:
    """Release VERSION from the newest commit, as CONTRIBUTING.md says under "Release a version"."""
    share_templates()
    of = Release(ROOT, version, day.date() if day else today())
    if preparing:
        prepare(of)
        click.echo("Look at the difference and commit it; then run this without --prepare.")
        return
    wrong = sum(_ticked(check, of) for check in CHECKS)
    if wrong:
        raise click.ClickException(f"{version} was not built: {wrong} of {len(CHECKS)} points are open.")
    with _folder(of, dry_run) as folder:
        for command, path in trying.files(of, folder):
            if fault := trying.fault(of, command, path):
                raise click.ClickException(fault)
            click.echo(f"[x] {path.name} is built, installed where nothing was, and works")
    if dry_run:
        click.echo(f"Nothing is tagged: without --dry-run this becomes {of.tag}.")
        return
    of.git("tag", "--annotate", of.tag, "--message", f"Leaderboard {version}")
    click.echo(
        f"{of.tag} is tagged here. Push it, and the workflow builds the wheels: git push origin {of.tag}"
    )


def today() -> date:
    """The day in UTC."""
    return datetime.now(UTC).date()


def _ticked(check: Check, of: Release) -> bool:
    """Print a check and what it found; whether anything is wrong."""
    found = list(check(of))
    first = (check.__doc__ or "").strip().rstrip(".")
    click.echo(f"[{' ' if found else 'x'}] {first}")
    for problem in found:
        click.echo(f"    {problem}")
    return bool(found)


@contextmanager
def _folder(of: Release, dry_run: bool) -> Iterator[Path]:
    """Where the built files go: dist/VERSION, or in a dry run where nobody keeps them."""
    if dry_run:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)
        return
    folder = of.root / "dist" / of.version
    folder.mkdir(parents=True)
    yield folder


if __name__ == "__main__":
    main()
