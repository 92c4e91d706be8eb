"""`leaderboard import` of a folder that no program laid out: what was understood, and the task made of it."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.services.bundles import found, making
from leaderboard.services.bundles.found import FoundChoice, FoundTask
from leaderboard.services.bundles.making import FolderRequest
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.policy import OPERATOR
from leaderboard.services.tasks import roles

MOST_LISTED = 20
"""Lines of a kind that the page has."""
MOST_NAMED = 3
"""Files that are named of those left out for one reason."""


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
    click.echo("\n".join(page(understood, answers.wanted)))
    with tempfile.TemporaryDirectory(prefix="topics-") as folder:
        task = making.prepared(files, understood, answers.wanted, Path(folder))
    click.echo(f"Measures: {', '.join(task.measures)}; ranked by {task.primary}.")
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


def page(understood: FoundTask, wanted: FolderRequest) -> list[str]:
    """What the folder was understood as, on one page."""
    source = understood.topics_path or "the judgments, without titles"
    lines = [
        f"{wanted.name} ({wanted.slug})",
        f"Topics: {len(understood.topics):,}, from {source}.",
        _judgments(understood),
        f"Runs: {len(understood.runs):,}, at most {understood.depth:,} documents a topic.",
        *_listed([f"{run.name} ({run.team}): {run.topics:,} topics, {run.path}" for run in understood.runs]),
    ]
    if understood.list_path:
        lines.append(f"Teams: from {understood.list_path}.")
    if understood.left_out:
        count = len(understood.left_out)
        lines.append(f"Left out: {count:,} {'file' if count == 1 else 'files'}.")
        lines += _listed(_reasons(understood))
    lines += (f"How it was read: {note}" for note in understood.read_as)
    return [*lines, *(f"Look at this: {doubt}" for doubt in understood.doubts)]


def _judgments(understood: FoundTask) -> str:
    if not understood.qrels_path:
        return "Judgments: none; runs wait for them."
    unknown = len(set(understood.judged) - set(understood.topics))
    more = f"; {unknown:,} of them are no topics" if unknown else ""
    return (
        f"Judgments: {understood.judgments:,} of {len(understood.judged):,} topics, "
        f"from {understood.qrels_path}{more}."
    )


def _reasons(understood: FoundTask) -> list[str]:
    """Why files were left out, each reason with the files that it holds for."""
    reasons: dict[str, list[str]] = {}
    for path, why in understood.left_out.items():
        reasons.setdefault(why, []).append(path)
    return [
        f"{why}: {', '.join(paths[:MOST_NAMED])}"
        + (f" and {len(paths) - MOST_NAMED:,} more" if len(paths) > MOST_NAMED else "")
        for why, paths in reasons.items()
    ]


def _listed(items: list[str]) -> list[str]:
    more = [f"  and {len(items) - MOST_LISTED:,} more"] if len(items) > MOST_LISTED else []
    return [*(f"  {item}" for item in items[:MOST_LISTED]), *more]
