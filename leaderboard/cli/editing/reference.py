"""`leaderboard reference`: what judges of a task are held against, as a new revision."""

import sys
from pathlib import Path

import click

from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.cli.usual import note_option
from leaderboard.pages.revisions import rank_changes
from leaderboard.services import revisions
from leaderboard.services.judges import imported
from leaderboard.services.policy import OPERATOR


@click.group()
def reference() -> None:
    """The reference of a task of judges; `qrels list` shows what was chosen before."""


@reference.command("set")
@click.argument("slug")
@click.option(
    "--task",
    "source",
    default="",
    help="The task whose board it is, by its name in addresses.  [this or --file is required]",
)
@click.option(
    "--file", "board", type=FILE, help="A board file, in place of a task.  [this or --task is required]"
)
@click.option("--measure", default="", help="Measure of the board  [what it is ranked by, or its only one].")
@click.option("--declared", type=FILE, help="CSV of what the runs of a file declare: run,team,llm,reranker.")
@click.option("--machine", "is_machine", is_flag=True, help="A machine judged the board of the file.")
@note_option
@click.option("--preview", "only_preview", is_flag=True, help="Check it, and choose nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before choosing it.")
@data_option
def set_(
    slug: str,
    source: str,
    board: Path | None,
    measure: str,
    declared: Path | None,
    is_machine: bool,
    note: str,
    only_preview: bool,
    yes: bool,
    data: Path | None,
) -> None:
    """Choose the board of a task, or a board file, and queue the scoring of every judge against it.

    Asked for at a terminal only. It is kept as it is now, whatever becomes of that board.
    """
    if bool(source) == (board is not None):
        raise click.UsageError("Name a task (--task) or a board file (--file); one of the two.")
    if board is None and (declared is not None or is_machine):
        raise click.UsageError("--declared and --machine are of a board file; a task says both itself.")
    with opened(data) as (database, _):
        with database.read() as session:
            prepared = (
                imported.from_task(session, OPERATOR, slug, source, measure)
                if board is None
                else imported.from_file(
                    session, OPERATOR, slug, board, board.name, measure, declared, is_machine=is_machine
                )
            )
        kept = prepared.kept.reference
        for warning in prepared.warnings:
            click.echo(f"warning: {warning}", err=True)
        with database.write() as session:
            token = revisions.keep_draft(session, OPERATOR, slug, prepared, note or "a preview")
        with database.read() as session:
            found = rank_changes.preview(session, OPERATOR, slug, token)
        what = f"{len(kept.runs)} runs on {len(kept.topics)} topics by {kept.measure}, {prepared.kept.source}"
        click.echo(what, err=True)
        asked = not yes and not found.refused and sys.stdin.isatty() and not only_preview
        if only_preview or (asked and not click.confirm("Choose it?")):
            with database.write() as session:
                revisions.discard(session, OPERATOR, slug, token)
            return
        with database.write() as session:
            made = revisions.publish(session, OPERATOR, slug, token, base=found.base)
        click.echo(f"Reference {made.number} of {slug}: {len(kept.runs)} runs on {len(kept.topics)} topics.")
        click.echo(f"{made.jobs} judges are queued for scoring against it.")
