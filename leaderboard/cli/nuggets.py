"""`leaderboard nuggets`: nuggets and labels of a task of answers, as a new revision of its judgments."""

import sys
from pathlib import Path
from typing import cast

import click

from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.cli.usual import note_option
from leaderboard.pages.nuggets.facts import AnswersFacts
from leaderboard.pages.revisions import rank_changes
from leaderboard.services import revisions
from leaderboard.services.nuggets import reading
from leaderboard.services.nuggets.reading import PartFile, maker
from leaderboard.services.policy import OPERATOR
from leaderboard.services.qrels.files import MAIN
from leaderboard.trec.nuggets.packing import PARTS, MadeBy, Part

MOST_TOPICS = 20
"""Topics that are named of those that lack something."""


@click.group()
def nuggets() -> None:
    """Nuggets and labels of a task of answers; `qrels list` and `qrels export` show what there is."""


@nuggets.command()
@click.argument("slug")
@click.option("--nuggets", type=FILE, help="Nugget set, one line a topic.")
@click.option("--assignments", type=FILE, help="Whether answers hold the nuggets, one line a run and topic.")
@click.option("--support", type=FILE, help="Whether cited documents bear their segments out.")
@click.option("--argue", type=FILE, help="Auto-ARGUE's judgments, in place of assignments.")
@click.option(
    "--made-by",
    "makers",
    multiple=True,
    metavar="[PART=]KIND[:NAME]",
    help="Who made a part, or all of them: human, machine:NAME, or both:NAME for a machine edited by people; "
    "may come several times.  [human]",
)
@click.option(
    "--leave-out/--keep-all",
    "leaves_out",
    default=None,
    help="Whether measures of vital nuggets are over topics without any.  [as before]",
)
@click.option("--line", default=MAIN, show_default=True, help="Another line than the board's, by its name.")
@note_option
@click.option("--preview", "only_preview", is_flag=True, help="Say what was understood, and add nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before adding.")
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
    **sent: Path | None,
) -> None:
    """Say what was understood, add a revision and queue the scoring of every run under it.

    Asked for at a terminal only. Parts that are not given stay as they are.
    """
    files = {part: PartFile(path, path.name) for part in PARTS if (path := sent[part]) is not None}
    with opened(data) as (database, _):
        with database.read() as session:
            prepared = reading.prepare(
                session, OPERATOR, slug, files, _made_by(makers), leaves_out=leaves_out, line=line
            )
        with database.write() as session:
            token = revisions.keep_draft(session, OPERATOR, slug, prepared, note or "a preview", line=line)
        with database.read() as session:
            found = rank_changes.preview(session, OPERATOR, slug, token)
        assert found.of_answers is not None, "the draft is of answers"
        _tell(found.of_answers)
        asked = not yes and not found.refused and sys.stdin.isatty() and not only_preview
        if only_preview or (asked and not click.confirm("Add it?")):
            with database.write() as session:
                revisions.discard(session, OPERATOR, slug, token)
            return
        with database.write() as session:
            made = revisions.publish(session, OPERATOR, slug, token, base=found.base)
        held, where = found.of_answers, slug if line == MAIN else f"line {line} of {slug}"
        click.echo(
            f"Revision {made.number} of {where}: {held.nuggets} nuggets, {made.judgments} labels of "
            f"{held.runs} runs on {made.topics} topics."
        )
        click.echo(f"{made.jobs} runs are queued for scoring under it.")


def _made_by(given: tuple[str, ...]) -> dict[Part, MadeBy]:
    """Who made each part that is named, or all; later words win."""
    found: dict[Part, MadeBy] = {}
    for text in given:
        named, equals, rest = text.partition("=")
        kind, _, name = (rest if equals else text).partition(":")
        if equals and named not in PARTS:
            raise click.UsageError(f"--made-by names one of {', '.join(PARTS)}, not {named!r}.")
        made = maker(kind.strip(), name)
        found.update(dict.fromkeys([cast(Part, named)] if equals else PARTS, made))
    return found


def _tell(of: AnswersFacts) -> None:
    """What was understood, on the error stream: the result alone goes to the other one."""
    for part, made_by in of.made_by:
        click.echo(f"{part[:1].upper()}{part[1:]} by {made_by}.", err=True)
    for what, topics in (("vital nuggets", of.without_vital), ("nuggets", of.without_nuggets)):
        if topics:
            more = " ..." if len(topics) > MOST_TOPICS else ""
            click.echo(f"warning: topics without {what}: {' '.join(topics[:MOST_TOPICS])}{more}", err=True)
    for note in of.notes:
        click.echo(f"warning: {note.rule} {note.remedy}".rstrip(), err=True)
