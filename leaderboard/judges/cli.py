"""`leaderboard reference`: publish the reference of judges as a new revision."""

from functools import partial
from pathlib import Path

import click

from leaderboard.core.cli.site import FILE, data_option, note_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.judges.ops import imported
from leaderboard.qrels.cli.qrels import propose
from leaderboard.qrels.ops import revisions


@click.group()
def reference() -> None:
    """The reference of a judge task; `qrels list` shows earlier ones."""


@reference.command("set")
@click.argument("slug")
@click.option(
    "--task",
    "source",
    default="",
    help="Slug of the task whose board becomes the reference.  [this or --file is required]",
)
@click.option(
    "--file", "board", type=FILE, help="Board file to use instead of a task.  [this or --task is required]"
)
@click.option("--measure", default="", help="Measure of the board  [its ranking measure, or its only one].")
@click.option(
    "--declared", type=FILE, help="CSV of facts that the runs of a board file declare: run,team,llm,reranker."
)
@click.option("--machine", "is_machine", is_flag=True, help="The board file was judged by a machine.")
@note_option
@click.option("--preview", "only_preview", is_flag=True, help="Check the reference without choosing it.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
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
    """Choose a task's board, or a board file, and queue the scoring of every judge against it.

    Asks for confirmation only at a terminal. The reference is a fixed copy: later changes of that board do
    not affect it.
    """
    if bool(source) == (board is not None):
        raise click.UsageError("Name either a task (--task) or a board file (--file).")
    if board is None and (declared is not None or is_machine):
        raise click.UsageError(
            "--declared and --machine apply only to a board file; a task provides both itself."
        )
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
        what = f"{len(kept.runs)} runs on {len(kept.topics)} topics by {kept.measure}, {prepared.kept.source}"
        _, revision = propose(
            database,
            slug,
            partial(revisions.keep_draft, prepared=prepared, note=note or "a preview"),
            lambda _: click.echo(what, err=True),
            only_preview=only_preview,
            yes=yes,
            question="Choose this reference?",
        )
        if revision is not None:
            click.echo(
                f"Reference {revision.number} of {slug}: {len(kept.runs)} runs on {len(kept.topics)} topics."
            )
            click.echo(f"{revision.jobs} judges are queued for scoring against it.")
