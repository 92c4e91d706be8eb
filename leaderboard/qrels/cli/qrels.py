"""`leaderboard qrels`: revisions of a task's judgments."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leaderboard.core.cli.actions import acting
from leaderboard.core.cli.kinds import mapping_option, tell_notes
from leaderboard.core.cli.site import FILE, data_option, note_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.qrels.ops import revisions, sending
from leaderboard.qrels.page.revisions import lists, rank_changes
from leaderboard.qrels.page.revisions import revision as revisions_revision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leaderboard.core.actions import Action
    from leaderboard.qrels.ops.revisions import Revision
    from leaderboard.qrels.page.revisions.judgment_changes import LeftOutChange
    from leaderboard.qrels.page.revisions.rank_changes import Preview, RankChanges

MOST_RUNS = 20
"""Number of runs listed in a preview."""
ALONE = ("no_distractors", "earlier", "leave_out_query", "no_left_out")
"""Fields that make a revision without a file."""


@click.group()
def qrels() -> None:
    """Judgments of a task."""


@qrels.command()
@click.argument("slug")
@click.argument("file", type=FILE, required=False)
@note_option
@click.option("--preferences", is_flag=True, help="FILE contains preferences: topic, better, worse, weight.")
@click.option(
    "--second-column",
    "second",
    type=click.Choice(["subtopics", "rounds"]),
    help="Meaning of the second column of FILE. [detected]",
)
@mapping_option("FILE", has_topics=True)
@click.option(
    "--distractors", type=FILE, help="Docnos known to be irrelevant to every topic, one per line. [unchanged]"
)
@click.option("--no-distractors", is_flag=True, help="Remove the list of distractors.")
@click.option(
    "--leave-out",
    type=FILE,
    help="Documents left out by topic: topic and docno per line, qrels, or BRIGHT topics. [unchanged]",
)
@click.option("--leave-out-query", is_flag=True, help="Leave out the document whose docno is the topic id.")
@click.option("--no-leave-out", "no_left_out", is_flag=True, help="Leave no documents out.")
@click.option(
    "--changed-docnos", type=FILE, help="Changed docnos of these documents: old and new docno per line."
)
@click.option(
    "--earlier", default="", help="Leave out all documents judged in revisions of these numbers, such as 1,2."
)
@click.option("--later", type=int, help="Without FILE: the revision whose new judgments are used. [newest]")
@click.option("--origin", type=click.Choice(["human", "machine"]), help="Who judged. [first revision: human]")
@click.option("--origin-name", default="", help="Name of the machine that judged.")
@click.option("--line", default="main", show_default=True, help="Name of a separate judgment series.")
@click.option(
    "--preview", "only_preview", is_flag=True, help="Show what would change, without adding anything."
)
@click.option("--yes", is_flag=True, help="Add without asking for confirmation.")
@data_option
def add(
    slug: str,
    file: Path | None,
    preferences: bool,
    mapping: tuple[str, ...],
    distractors: Path | None,
    leave_out: Path | None,
    changed_docnos: Path | None,
    only_preview: bool,
    yes: bool,
    data: Path | None,
    **given: Any,
) -> None:
    """Show the changes of FILE, add a revision and queue all runs for scoring.

    Asks for confirmation at a terminal only. The board switches when all runs are scored. Without FILE, the
    newest judgments stay and only distractors or documents left out change; with --earlier, only new
    judgments are used.
    """
    if not any((file, distractors, leave_out, *map(given.get, ALONE))):
        raise click.UsageError("Give a file of judgments, --distractors, --leave-out or --earlier.")
    files = {
        "qrels": file,
        "distractors": distractors,
        "left_out": leave_out,
        "changed_docnos": changed_docnos,
    }
    holds = {"holds": "preference" if preferences else "graded", "map": "\n".join(mapping)}
    values = holds | {name: value for name, value in given.items() if value is not None}

    def tell(preview: "Preview") -> None:
        # Without a file, the notes are those on the newest judgments.
        tell_notes(preview.read_as if file else ())
        _tell(preview)

    _, revision = propose(data, slug, sending.SEND, values, files, tell, only_preview=only_preview, yes=yes)
    if revision is not None:
        line = given["line"]
        _tell_made(revision, slug if line == "main" else f"judgment series {line} of {slug}")


def propose(
    data: Path | None,
    slug: str,
    action: "Action",
    values: "Mapping[str, Any]",
    files: "Mapping[str, Path | None]",
    tell: "Callable[[Preview], None]",
    *,
    only_preview: bool,
    yes: bool,
    question: str = "Add this revision?",
) -> "tuple[Preview, Revision | None]":
    """The preview of a draft, and the revision; None where it was only previewed, or was not confirmed.

    action: stores the draft. Asks at a terminal only.
    """
    with acting(data) as do:
        token = do(action, {**values, "note": values["note"] or "a preview"}, files, slug=slug).result
    # Another transaction, so that no writer waits for the preview and for who confirms it.
    with acting(data) as do:
        with do.reading() as session:
            preview = rank_changes.preview(session, OPERATOR, slug, token)
        tell(preview)
        is_asked = not yes and not preview.refused and sys.stdin.isatty() and not only_preview
        if only_preview or (is_asked and not click.confirm(question)):
            do(revisions.DISCARD, slug=slug, token=token)
            return preview, None
        return preview, do(revisions.PUBLISH, {"base": preview.base}, slug=slug, token=token).result


@qrels.command("list")
@click.argument("slug")
@data_option
def list_(slug: str, data: Path | None) -> None:
    """List the revisions of a task's judgments, newest first."""
    with opened(data) as (database, _), database.read() as session:
        for row in lists.revision_list(session, OPERATOR, slug).rows:
            click.echo(f"{row.number}\t{row.judgments}\t{row.topics}\t{row.state}\t{row.note}")


@qrels.command()
@click.argument("slug")
@click.argument("number", type=int)
@click.option("--part", type=click.Choice(revisions_revision.PARTS), default="qrels", show_default=True)
@data_option
def export(slug: str, number: int, part: str, data: Path | None) -> None:
    """Print a revision's judgments, or an additional part."""
    with opened(data) as (database, _), database.read() as session:
        click.echo(revisions_revision.of_revision(session, OPERATOR, slug, number, part), nl=False)


def _tell_made(revision: "Revision", where: str) -> None:
    change = revision.change
    changes = f"{change.added} added, {change.changed} changed, {change.removed} removed"
    click.echo(
        f"Revision {revision.number} of {where}: {revision.judgments} judgments on "
        f"{revision.topics} topics ({changes})."
    )
    click.echo(f"{revision.jobs} runs are queued for scoring under it.")


def _tell(preview: "Preview") -> None:
    """Print the changes of a draft to stderr, since stdout is for the result alone."""
    changes = preview.changes
    if changes.distractors_added or changes.distractors_removed:
        click.echo(
            f"Distractors: {changes.distractors_after} ({changes.distractors_before} before).", err=True
        )
    if changes.left_out is not None:
        _tell_left_out(preview, changes.left_out)
    gained, lost = changes.total.topics_gained, changes.total.topics_lost
    if gained:
        click.echo(f"Topics gained: {' '.join(gained)}", err=True)
    if lost:
        click.echo(f"Topics lost: {' '.join(lost)}", err=True)
    grades = ", ".join(f"grade {grade.grade}: {grade.before} -> {grade.after}" for grade in changes.grades)
    click.echo(grades or f"{changes.before} -> {changes.after} preferences", err=True)
    if changes.unknown:
        click.echo(
            f"warning: judged topics that the task does not have: {' '.join(changes.unknown)}", err=True
        )
    if preview.lacking:
        some, count = ", ".join(preview.lacking[:5]), len(preview.lacking)
        click.echo(f"warning: the collection lacks {count:,} judged documents, for example {some}", err=True)
    if preview.ranks is not None:
        _tell_ranks(preview.ranks)
    elif preview.waiting is not None:
        click.echo("Computing the new ranks takes too long here; see the site.", err=True)


def _tell_left_out(preview: "Preview", change: "LeftOutChange") -> None:
    what = "residual, left out" if change.is_residual else "left out"
    again = f"; {change.repeated} repeated lines ignored" if change.repeated else ""
    topics = f"{len(change.topics)} topic{'' if len(change.topics) == 1 else 's'}"
    click.echo(f"Documents {what}: {change.after} of {topics} ({change.before} before){again}.", err=True)
    if (affected := preview.left_out_of) is not None:
        click.echo(
            f"{affected.runs} of {affected.of} runs contain any of them, {affected.documents} in total.",
            err=True,
        )
    if names := preview.changes.without_relevant:
        click.echo(f"Topics without relevant documents, which score 0: {' '.join(names)}", err=True)


def _tell_ranks(ranks: "RankChanges") -> None:
    tau = "" if ranks.tau is None else f"; tau {ranks.tau:.3f}"
    click.echo(f"{ranks.moved} of {ranks.pairs} ranked runs move by {ranks.measure.key}{tau}.", err=True)
    moved = sorted((row for row in ranks.rows if row.moved), key=lambda row: -abs(row.moved))
    for row in moved[:MOST_RUNS]:
        click.echo(f"  {row.run.name}: {row.old_rank} -> {row.new_rank}", err=True)
