"""`leaderboard suite`: the board of runs over the members of a suite, without a site."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leaderboard.core.cli.kinds import DIALECT, EXISTING, LEVEL, mapping_option, tell_notes

if TYPE_CHECKING:
    from leaderboard.suites.ops.rows import SuiteBoard

MOST_LINES = 100
"""Rows of changes and of pairs that are printed for people."""
_RUN = click.Path(exists=True, path_type=Path)
_BY = ("mean", "macro", "micro", "borda", "mean-rank")


def _groups(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(value.split("=", 1)) for value in values]
    for pair in pairs:
        if len(pair) != 2 or pair[0] not in ("domain", "language", "lag"):
            raise click.BadParameter("use domain=NAME, language=NAME or lag=NAME.")
    return tuple((key, value) for key, value in pairs)


@click.command()
@click.argument("suite", type=EXISTING)
@click.argument("runs", metavar="RUN...", type=_RUN, nargs=-1, required=True)
@click.option(
    "--rank-by",
    "by",
    type=click.Choice(_BY),
    default="mean",
    show_default=True,
    help="Statistic that ranks the runs.",
)
@click.option(
    "--group",
    "groups",
    metavar="KIND=NAME",
    multiple=True,
    callback=_groups,
    help="Only members of this domain, language or lag; repeatable.",
)
@click.option(
    "--members",
    "drawn",
    type=click.Choice(["these", "like-these"]),
    default="these",
    show_default=True,
    help="Confidence of ranks: over these members, or over similar ones.",
)
@click.option("--baseline", metavar="RUN", default="", help="Report gains over this run. [the suite's]")
@click.option("--bootstrap", is_flag=True, help="Intervals of pairs by bootstrap instead of t.")
@click.option(
    "--table",
    "name",
    type=click.Choice(["board", "changes", "pairs"]),
    default="board",
    show_default=True,
    help="Table to print, for CSV and LaTeX.",
)
@LEVEL
@DIALECT
@mapping_option("the members' judgments")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json", "csv", "latex"]),
    default="text",
    show_default=True,
)
def suite(
    suite: Path,
    runs: tuple[Path, ...],
    by: str,
    groups: tuple[tuple[str, str], ...],
    drawn: str,
    baseline: str,
    bootstrap: bool,
    name: str,
    level: int,
    dialect: str,
    mapping: tuple[str, ...],
    layout: str,
) -> None:
    """Rank RUNs over the members of SUITE.

    SUITE is a TOML file that names the members. A RUN is a folder, zip or tar with one run per member, such
    as snapshot-1/run.txt.gz. A RUN with any error is rejected as a whole.
    """
    from leaderboard.suites.ops.rows import SuiteBoardRequest, suite_board
    from leaderboard.trec.read.forms import asked as mapped
    from leaderboard.trec.suites import read_suite, score_suite

    read = read_suite(suite)
    topics = "shared topics" if read.shared_topics else "topics"
    request = SuiteBoardRequest(
        by=by.replace("-", "_"),  # type: ignore[arg-type]
        drawn="members" if drawn == "like-these" else topics,  # type: ignore[arg-type]
        groups=groups,
        baseline=baseline,
        bootstrap=bootstrap,
    )
    scores = score_suite(read, runs, level=level, dialect=int(dialect), mapping=mapped(mapping))
    board = suite_board(scores, request)
    tell_notes(board.scores.read_as)
    click.echo(_text(board, name, layout, dialect), nl=False)


def _text(board: "SuiteBoard", name: str, layout: str, dialect: str) -> str:
    from leaderboard.suites.ops.rows import remarks
    from leaderboard.suites.page import SUITE_TABLES
    from leaderboard.tables.latex import latex_text
    from leaderboard.tables.record import csv_text, json_text

    if layout == "json":
        return json_text(_facts(board, dialect))
    if layout == "text":
        return _in_words(board, dialect)
    table = SUITE_TABLES[name](board)
    if layout == "csv":
        return csv_text(table)
    return latex_text(replace(table, legend=" ".join([table.legend, *remarks(board)]).strip()))


def _facts(board: "SuiteBoard", dialect: str) -> dict[str, Any]:
    """All that the command knows, as plain values at full precision."""
    from leaderboard.suites.ops.rows import remarks
    from leaderboard.suites.page import SUITE_TABLES

    measures = board.scores.measures
    return {
        "suite": board.scores.suite.name,
        "dialect": f"trec_eval {dialect}",
        "rank_by": board.asked.by,
        "drawn_anew": board.asked.drawn,
        "members": [
            {
                "member": member.name,
                "measure": measures[member.name].key,
                "measure_version": measures[member.name].measure.version,
                "topics": len(board.scores.topics[member.name]),
                **member.groups,
            }
            for member in board.members
        ],
        "remarks": list(remarks(board)),
        **{name: table(board).facts() for name, table in SUITE_TABLES.items()},
    }


def _in_words(board: "SuiteBoard", dialect: str) -> str:
    from leaderboard.suites.ops.rows import remarks
    from leaderboard.suites.page import NOT_DEFINED, board_table, change_table, pair_table
    from leaderboard.tables.markdown import table_lines

    ranked, changes, pairs = board_table(board), change_table(board), pair_table(board)
    lines = [f"{ranked.caption} As trec_eval {dialect}.", *remarks(board), "", *table_lines(ranked, "-")]
    if ranked.legend:
        lines += ["", ranked.legend]
    for table, absent in ((changes, NOT_DEFINED), (pairs, "")):
        if len(table.rows) > MOST_LINES:
            lines += ["", f"{table.caption} {len(table.rows):,} rows: --table {table.name[6:]} --format csv."]
        elif table.rows:
            lines += ["", table.caption, "", *table_lines(table, absent)]
    return "\n".join([*lines, ""])
