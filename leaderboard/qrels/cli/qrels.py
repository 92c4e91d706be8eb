"""`leaderboard qrels`: revisions of a task's judgments."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leaderboard.core import policy
from leaderboard.core.cli.kinds import mapping_option, tell_notes
from leaderboard.core.cli.site import FILE, data_option, note_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.page.revisions import lists, rank_changes
from leaderboard.qrels.page.revisions import revision as revisions_revision
from leaderboard.scoring.ops.qrels import files as service
from leaderboard.trec.qrels.align import read_distractors
from leaderboard.trec.read import forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    from leaderboard.core.policy import Viewer
    from leaderboard.db.engine import Database
    from leaderboard.qrels.ops.revisions import Revision
    from leaderboard.qrels.page.revisions.judgment_changes import LeftOutChange
    from leaderboard.qrels.page.revisions.rank_changes import Preview, RankChanges

MOST_RUNS = 20
"""Number of runs listed in a preview."""


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
@click.option("--no-leave-out", is_flag=True, help="Leave no documents out.")
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
    note: str,
    preferences: bool,
    second_column: str | None,
    mapping: tuple[str, ...],
    distractors: Path | None,
    no_distractors: bool,
    leave_out: Path | None,
    leave_out_query: bool,
    no_leave_out: bool,
    changed_docnos: Path | None,
    earlier: str,
    later: int | None,
    origin: str | None,
    origin_name: str,
    line: str,
    only_preview: bool,
    yes: bool,
    data: Path | None,
) -> None:
    """Show the changes of FILE, add a revision and queue all runs for scoring.

    Asks for confirmation at a terminal only. The board switches when all runs are scored. Without FILE, the
    newest judgments stay and only distractors or documents left out change; with --earlier, only new
    judgments are used.
    """
    options = (distractors, no_distractors, leave_out, leave_out_query, no_leave_out, earlier)
    if file is None and not any(options):
        raise click.UsageError("Give a file of judgments, --distractors, --leave-out or --earlier.")
    with opened(data) as (database, _):
        with database.read() as session:
            asked = forms.asked(mapping, policy.own_task(session, OPERATOR, slug).dialect)
        prepared = _prepared(file, preferences, second_column or "", asked) if file is not None else None
        others = frozenset() if no_distractors else read_distractors(distractors) if distractors else None
        leaving_out = revisions.read_left_out(
            *(leave_out, changed_docnos),
            earlier=revisions.numbers(earlier),
            later=later,
            drop=no_leave_out,
            query=leave_out_query,
        )
        keep = partial(
            revisions.keep_draft,
            prepared=prepared,
            note=note or "a preview",
            line=line,
            distractors=others,
            left_out=leaving_out,
            origin=origin,
            origin_name=origin_name,
        )
        _, revision = propose(database, slug, keep, _tell, only_preview=only_preview, yes=yes)
        if revision is not None:
            _tell_made(revision, slug if line == "main" else f"judgment series {line} of {slug}")


def propose(
    database: "Database",
    slug: str,
    keep: "Callable[[Session, Viewer, str], str]",
    tell: "Callable[[Preview], None]",
    *,
    only_preview: bool,
    yes: bool,
    question: str = "Add this revision?",
) -> "tuple[Preview, Revision | None]":
    """The preview of a draft, and the revision; None where it was only previewed, or was not confirmed.

    keep: stores the draft. Asks at a terminal only.
    """
    with database.write() as session:
        token = keep(session, OPERATOR, slug)
    with database.read() as session:
        preview = rank_changes.preview(session, OPERATOR, slug, token)
    tell(preview)
    is_asked = not yes and not preview.refused and sys.stdin.isatty() and not only_preview
    is_wanted = not only_preview and (not is_asked or click.confirm(question))
    with database.write() as session:
        if is_wanted:
            return preview, revisions.publish(session, OPERATOR, slug, token, base=preview.base)
        revisions.discard(session, OPERATOR, slug, token)
        return preview, None


def _prepared(file: Path, is_preference: bool, second: str, asked: forms.Asked) -> service.PreparedQrels:
    """The judgments of a file; notes on reading go to stderr."""
    kind = "preference" if is_preference else "graded"
    prepared = service.prepare(file, kind=kind, second=second, asked=asked)
    tell_notes(prepared.warnings)
    return prepared


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
