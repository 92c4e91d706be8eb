"""`leaderboard nuggets`: nuggets and labels of an answer task, as a new revision of its judgments."""

from pathlib import Path
from typing import Any

import click

from leaderboard.core.cli.site import FILE, data_option, note_option
from leaderboard.qrels.cli.qrels import propose
from leaderboard.qrels.ops import sending
from leaderboard.qrels.page.revisions.rank_changes import Preview
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.trec.nuggets.packing import PARTS

MOST_TOPICS = 20
"""Maximum number of topics named in a warning."""


@click.group()
def nuggets() -> None:
    """Nuggets and labels of an answer task; see also `qrels list` and `qrels export`."""


@nuggets.command()
@click.argument("slug")
@click.option("--nuggets", type=FILE, help="Nugget set, one line per topic.")
@click.option("--assignments", type=FILE, help="Nugget assignments, one line per run and topic.")
@click.option("--support", type=FILE, help="Labels for whether cited documents support their segments.")
@click.option("--argue", type=FILE, help="Auto-ARGUE's judgments, instead of assignments.")
@click.option(
    "--made-by",
    "makers",
    multiple=True,
    metavar="[PART=]KIND[:NAME]",
    help="Who made a part, or all of them: human, machine:NAME, or both:NAME for a machine edited by people; "
    "repeatable.  [human]",
)
@click.option(
    "--leave-out/--keep-all",
    "leaves_out",
    default=None,
    help="Whether measures of vital nuggets exclude topics without any. [unchanged]",
)
@click.option("--line", default=MAIN, show_default=True, help="Name of a separate judgment series.")
@note_option
@click.option(
    "--preview", "only_preview", is_flag=True, help="Show how the files were read, without adding anything."
)
@click.option("--yes", is_flag=True, help="Add without asking for confirmation.")
@data_option
def add(
    slug: str,
    makers: tuple[str, ...],
    leaves_out: bool | None,
    line: str,
    note: str,
    only_preview: bool,
    yes: bool,
    data: Path | None,
    **files: Path | None,
) -> None:
    """Show how the files were read, add a revision and queue all runs for scoring.

    Asks for confirmation at a terminal only. Parts that are not given stay unchanged.
    """
    values = {"holds": "nuggets", "leaves_out": leaves_out, "line": line, "note": note, **_made_by(makers)}
    preview, revision = propose(
        data, slug, sending.SEND, values, files, _tell, only_preview=only_preview, yes=yes
    )
    of_answers = preview.of_answers
    if revision is None or of_answers is None:
        return
    where = slug if line == MAIN else f"judgment series {line} of {slug}"
    click.echo(
        f"Revision {revision.number} of {where}: {of_answers.nuggets} nuggets, "
        f"{revision.judgments} labels of {of_answers.runs} runs on {revision.topics} topics."
    )
    click.echo(f"{revision.jobs} runs are queued for scoring under it.")


def _made_by(given: tuple[str, ...]) -> dict[str, Any]:
    """Who made the named parts, or all of them; later values win."""
    by: dict[str, str] = {}
    names: dict[str, str] = {}
    for text in given:
        named, equals, rest = text.partition("=")
        kind, _, name = (rest if equals else text).partition(":")
        if equals and named not in PARTS:
            raise click.UsageError(f"--made-by must name one of {', '.join(PARTS)}, not {named!r}.")
        parts = [named] if equals else PARTS
        by |= dict.fromkeys(parts, kind.strip())
        names |= dict.fromkeys(parts, name)
    return {"by": by, "names": names}


def _tell(preview: Preview) -> None:
    """Print how the files were read to stderr, since stdout is for the result alone."""
    of = preview.of_answers
    assert of is not None, "the draft is of answers"
    for part, made_by in of.made_by:
        click.echo(f"{part[:1].upper()}{part[1:]} by {made_by}.", err=True)
    for what, topics in (("vital nuggets", of.without_vital), ("nuggets", of.without_nuggets)):
        if topics:
            more = " ..." if len(topics) > MOST_TOPICS else ""
            click.echo(f"warning: topics without {what}: {' '.join(topics[:MOST_TOPICS])}{more}", err=True)
    for note in of.notes:
        click.echo(f"warning: {note.rule} {note.remedy}".rstrip(), err=True)
