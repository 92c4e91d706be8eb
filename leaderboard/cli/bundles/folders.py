"""`leaderboard import` of a folder that no program laid out: what was understood, and the task made of it."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.pages.bundles.understood import UnderstoodTask, of_folder
from leaderboard.services.bundles import found, making
from leaderboard.services.bundles.found import FoundChoice
from leaderboard.services.bundles.making import FolderRequest
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.policy import OPERATOR
from leaderboard.services.tasks import roles

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
        task = making.prepared(files, understood, answers.wanted, Path(folder))
    click.echo("\n".join(page(of_folder(understood, task))))
    if answers.dry_run:
        click.echo("A dry run: nothing was stored.")
        return
    if understood.doubts and not answers.is_sure:
        raise Invalid("Nothing was stored. Where all this is right, say --yes.")
    with database.write() as session:
        making.make(session, OPERATOR, files, task, understood.runs, answers.wanted.limits)
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
