"""`leaderboard board`: print a leaderboard in the terminal or as a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import EditionBefore, Row
from leaderboard.boards.page import snapshot, tables
from leaderboard.core.cli.site import data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.errors import Invalid
from leaderboard.judging.page.combined import COMBINED_FILES, CombinedChoice, CombinedPage, combined_page
from leaderboard.scoring.ops.statistics.standings import Place
from leaderboard.tables.latex import latex_text
from leaderboard.tables.markdown import markdown_text
from leaderboard.tables.record import Files, Page, csv_text

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

BOARD_FILES = Files(facts=tables.board_facts, tables={"runs": tables.board_table})
PLACE_HEADS = ("", "rank range", "wins", "losses, at least", "undecided")


@click.command()
@click.argument("slug")
@click.option("--measure", help="Rank by this measure [the task's primary].")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "tex", "md"]),
    default="table",
    show_default=True,
)
@click.option("--one-per-team", is_flag=True, help="Show one run per team: its primary run, else its best.")
@click.option("--group", help="Show only runs of this group, ranked within it.")
@click.option(
    "--methods",
    "paper",
    is_flag=False,
    flag_value="txt",
    type=click.Choice(["txt", "tex", "bib"]),
    help="Print a methods statement for a paper: text (default), LaTeX, or BibTeX of its citations.",
)
@click.option("--combined", is_flag=True, help="Print the combined board of people and a machine.")
@click.option("--line", help="Rank by another judgment series of answers, with its agreement with the board.")
@data_option
def board(
    slug: str,
    measure: str | None,
    form: str,
    one_per_team: bool,
    group: str | None,
    paper: str | None,
    combined: bool,
    line: str | None,
    data: Path | None,
) -> None:
    """Print a task's leaderboard; a star marks runs that may be the best."""
    with opened(data) as (database, _), database.read() as session:
        if (combined or line) and (one_per_team or group or paper):
            which = "The combined board" if combined else "A board of another judgment series"
            raise Invalid(f"{which} shows all ranked runs and takes no --group, --one-per-team or --methods.")
        if line:
            click.echo(_by_line(session, slug, line, measure, form), nl=False)
            return
        if combined:
            page = combined_page(session, OPERATOR, slug, CombinedChoice(measure))
            click.echo(_combined(page) if form == "table" else _file(COMBINED_FILES, page, form), nl=False)
            return
        shown = boards.board(session, OPERATOR, slug, measure, one_per_team=one_per_team, group=group)
    if paper:
        methods = snapshot.methods(shown)
        click.echo({"txt": methods.plain, "tex": methods.latex, "bib": methods.bibtex}[paper], nl=False)
        return
    click.echo(_table(shown) if form == "table" else _file(BOARD_FILES, shown, form), nl=False)


def _by_line(session: "Session", slug: str, name: str, measure: str | None, form: str) -> str:
    """The board of another judgment series in a format; imports the modules of answers and judges late."""
    from leaderboard.answers.page.nuggets import line as nuggets_line
    from leaderboard.answers.page.nuggets.line import line_page, number_of

    page = line_page(session, OPERATOR, slug, number_of(session, OPERATOR, slug, name), measure)
    if form != "table":
        return _file(nuggets_line.LINE_FILES, page, form)
    table = nuggets_line.runs_table(page)
    return "\n".join((table.caption, *nuggets_line.in_words(page), markdown_text(table)))


def _file(files: Files[Page], page: Page, form: str) -> str:
    if form == "json":
        return json.dumps(files.facts(page), indent=2, ensure_ascii=False) + "\n"
    return {"csv": csv_text, "tex": latex_text, "md": markdown_text}[form](files.table(page, None))


def _combined(page: CombinedPage) -> str:
    if page.board is None or page.sample is None or page.column is None:
        return "\n".join((f"{page.task}: no combined board yet.", *page.refused, ""))
    sample, digits = page.sample, page.column.digits
    lines = [["", "run", "team", page.column.key, "machine", "people", *PLACE_HEADS]]
    lines += [
        [
            str(row.rank or ""),
            row.name,
            row.team,
            *(f"{value:.{digits}f}" for value in (row.score, row.machine, row.people)),
            *_place(row.place),
        ]
        for row in page.board.rows
    ]
    says = (
        f"{page.task}: combined board of people and {sample.machine or 'a machine'}, sample {sample.number} "
        f"(seed {sample.seed}): {sample.judged} of {sample.drawn} drawn documents judged, "
        f"{sample.finished} of {sample.topics} topics done."
    )
    return "\n".join((says, _aligned(lines), ""))


def _table(shown: Board) -> str:
    digits = {column.key: column.digits for column in shown.measures}
    since = [f"since edition {shown.before.number}"] if shown.before else []
    lines = [["", "run", "team", *digits, *(PLACE_HEADS if shown.places else ()), *since]]
    for row in shown.rows:
        scores = [_digits(row.scores[key], places, row.state) for key, places in digits.items()]
        place = _place(shown.places.get(row.run_id)) if shown.places else ()
        moved = [_moved(shown.before, row)] if shown.before else []
        lines.append([str(row.rank or ""), row.run, row.team, *scores, *place, *moved])
    return "\n".join([caption(shown), *shown.sentences, _aligned(lines), ""])


def _aligned(lines: list[list[str]]) -> str:
    """Align cells in columns: names to the left, numbers to the right."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if 0 < place < 3 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _place(place: Place | None) -> tuple[str, ...]:
    if place is None:
        return ("",) * len(PLACE_HEADS)
    best = "*" if place.best_set else ""
    ranks = f"{place.rank_low}-{place.rank_high}"
    open_which = "+" if place.beaten_by and not place.named else ""
    return (best, ranks, str(place.beats), f"{place.beaten_by}{open_which}", str(place.undecided))


def _moved(before: EditionBefore, row: Row) -> str:
    """Return `+2` for a run that rose by two ranks, `=` for no change; empty for a run without a rank."""
    if row.run_id not in before.moved:
        return ""
    places = before.moved[row.run_id]
    return "new" if places is None else f"{places:+d}" if places else "="


def caption(shown: Board) -> str:
    """The judgments behind the scores, in one line."""
    basis = shown.basis
    if basis is None:
        return f"{shown.task}: no judgments yet; runs are unranked."
    left_out = f"; {basis.left_out}" if basis.left_out else ""
    dialect = f", as trec_eval {basis.dialect}" if basis.dialect else ""
    return (
        f"{shown.task}: by {shown.sorted_by}, qrels revision {basis.revision} ({basis.origin} judgments), "
        f"{basis.topics} topics{dialect}{left_out}."
    )


def _digits(value: float | None, places: int, state: str) -> str:
    return state if value is None else f"{value:.{places}f}"
