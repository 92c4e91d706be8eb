"""`leaderboard reference`: publish the reference of judges as a new revision."""

from pathlib import Path

import click

from leaderboard.core.cli.site import FILE, data_option, note_option
from leaderboard.judges.ops import imported
from leaderboard.judges.ops.sending import PreparedReference
from leaderboard.qrels.cli.qrels import propose
from leaderboard.qrels.page.revisions.rank_changes import Preview
from leaderboard.trec.boards.packing import KeptReference


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
    preview, revision = propose(
        data,
        slug,
        imported.CHOOSE if board is None else imported.SEND,
        {"source": source, "measure": measure, "is_machine": is_machine, "note": note},
        {"board": board, "declared": declared},
        _tell,
        only_preview=only_preview,
        yes=yes,
        question="Choose this reference?",
    )
    if revision is not None:
        runs = len(_kept(preview).reference.runs)
        click.echo(f"Reference {revision.number} of {slug}: {runs} runs on {revision.topics} topics.")
        click.echo(f"{revision.jobs} judges are queued for scoring against it.")


def _tell(preview: Preview) -> None:
    for warning in preview.read_as:
        click.echo(f"warning: {warning}", err=True)
    kept = _kept(preview)
    runs, topics = len(kept.reference.runs), len(kept.reference.topics)
    click.echo(f"{runs} runs on {topics} topics by {kept.reference.measure}, {kept.source}", err=True)


def _kept(preview: Preview) -> KeptReference:
    assert isinstance(preview.prepared, PreparedReference), "the draft is a reference"
    return preview.prepared.kept
