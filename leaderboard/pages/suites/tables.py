"""The tables of a suite: its board, the changes between its members, its pairs of runs."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from leaderboard.services.statistics.sentences import needed_words
from leaderboard.services.suites.rows import (
    BoardRow,
    ChangeRow,
    PairRow,
    SuiteBoard,
    board_rows,
    change_rows,
    drawn_noun,
    pair_rows,
)
from leaderboard.stats.suites.board import MEANS, By
from leaderboard.tables.cells import DOT
from leaderboard.tables.record import Column, Place, Table, columns_from
from leaderboard.tables.words import counted

HEADS: dict[By, str] = {
    "mean": "mean",
    "macro": "macro",
    "micro": "micro",
    "borda": "Borda",
    "mean_rank": "mean rank",
}
NAMES: dict[By, str] = {
    "mean": "the mean over members",
    "macro": "the mean of the means within groups",
    "micro": "the mean over all topics of all members",
    "borda": "Borda points",
    "mean_rank": "the mean rank",
}
NOT_DEFINED = "not defined"
"""What stands for a number whose denominator is 0."""
_OF_A_SITE: tuple[Column[BoardRow], ...] = (
    Column("run_id", attrgetter("run_id"), shown=Place.DATA),
    Column("team", attrgetter("team"), shown=Place.DATA | Place.PRINT),
    Column("kind", attrgetter("kind"), shown=Place.DATA),
)
LIST_COLUMNS: tuple[Column[Any], ...] = (
    Column("slug", attrgetter("slug"), "Suite", shown=~Place.PAGE),
    Column("title", attrgetter("title"), "Title"),
    Column("members", lambda row: len(row.members), "Members", digits=0),
)


def board_table(
    of: SuiteBoard, rows: Sequence[BoardRow] | None = None, *, on_site: bool = False
) -> Table[BoardRow]:
    """One row a run: rank, its range, the aggregates, the mean of each member; on a site with its team.

    rows: where they were made before.
    """
    head = str.capitalize if on_site else str
    aggregates = {name: _aggregate(name, of, head(HEADS[name])) for name in _shown(of)}
    # What ranks comes first on a page, where a phone shows three columns.
    first = [aggregates.pop(of.asked.by)] if on_site else []
    members = [_member(number, member.name, of) for number, member in enumerate(of.members)]
    return Table(
        "suite",
        caption(of),
        columns_from(
            BoardRow,
            Column("rank", attrgetter("rank"), head("rank"), digits=0),
            Column("run", attrgetter("run"), head("run"), mark=lambda row: DOT if row.may_be_best else ""),
            *(_OF_A_SITE if on_site else ()),
            *first,
            *([_ranks(on_site, head("ranks"))] if of.board.verdicts else []),
            "low high may_be_best",
            *(members if on_site else ()),
            Column(
                "members",
                attrgetter("present"),
                head("members"),
                words=lambda row: f"{row.present} of {row.members}",
            ),
            *aggregates.values(),
            *(() if on_site else members),
        ),
        board_rows(of) if rows is None else rows,
        legend=f"{DOT} may be the best on {_elsewhere(of)} (95 % for all that is said)."
        if of.board.verdicts and of.board.verdicts.may_be_best.any()
        else "",
    )


def change_table(of: SuiteBoard, rows: Sequence[ChangeRow] | None = None) -> Table[ChangeRow]:
    """One row a run and member: what became of it and of its gain since the reference."""
    return Table(
        "suite-changes",
        f"Changes from {of.scores.suite.reference or 'no reference'}.",
        [
            Column("run", attrgetter("run")),
            Column("member", attrgetter("member"), shown=~Place.PAGE),
            _number(
                "RI_reference", lambda row: row.change.effect and row.change.effect.ri_original, "RI there"
            ),
            _number("RI", lambda row: row.change.effect and row.change.effect.ri_other, "RI here"),
            _number("DRI", lambda row: row.change.effect and row.change.effect.dri),
            _number("ER", lambda row: row.change.effect and row.change.effect.er),
            _number("RC", lambda row: row.change.rc),
            _number("mean_of_both", lambda row: row.change.mean_of_both, "mean of both"),
            _number("p", attrgetter("change.p")),
        ],
        change_rows(of) if rows is None else rows,
    )


def pair_table(of: SuiteBoard, rows: Sequence[PairRow] | None = None) -> Table[PairRow]:
    """One row a pair of complete runs: how sure their difference is."""
    names = ("difference", "error", "freedom", "t", "p", "adjusted", "low", "high")
    heads = {"error": "SE", "freedom": "df", "adjusted": "p (Holm)"}
    noun, units = drawn_noun(of), of.board.pairs.units if of.board.pairs else 0
    return Table(
        "suite-pairs",
        f"Pairs by {_name(of)}: {_elsewhere(of)}.",
        [
            Column("a", attrgetter("a")),
            Column("b", attrgetter("b")),
            *(Column(name, attrgetter(name), heads.get(name, ""), digits=4) for name in names),
            Column("better", attrgetter("better")),
            Column(
                f"{noun}s_needed",
                attrgetter("needed"),
                f"{noun}s needed",
                title=f"About how many {noun}s like these would decide it with 80% power",
                words=lambda row: None if row.better else needed_words(row.needed, units, noun),
                digits=0,
            ),
        ],
        pair_rows(of) if rows is None else rows,
    )


TABLES: dict[str, Callable[[SuiteBoard], Table[Any]]] = {
    "board": board_table,
    "changes": change_table,
    "pairs": pair_table,
}


def caption(of: SuiteBoard) -> str:
    """What the board shows, in a line."""
    runs, members = len(of.scores.runs), len(of.members)
    measures = {of.scores.measures[member.name].key for member in of.members}
    measure = f" by {measures.pop()}" if len(measures) == 1 else ""
    name = of.scores.suite.name
    return (
        f"{name}: {counted(runs, 'run')} over {counted(members, 'member')}{measure}, ranked by {_name(of)}."
    )


def _name(of: SuiteBoard) -> str:
    grouped = f" (by {of.scores.suite.macro})" if of.asked.by == "macro" else ""
    return NAMES[of.asked.by] + grouped


def _elsewhere(of: SuiteBoard) -> str:
    """What the differences are told of."""
    names = {
        "topics": "other topics in these members",
        "members": "members like these",
        "shared topics": "other topics, shared by these members",
    }
    return names[of.asked.drawn]


def _shown(of: SuiteBoard) -> list[By]:
    """The aggregates that have a column: macro means where there are groups, micro ones where asked for."""
    shown: list[By] = ["mean", "borda", "mean_rank"]
    if of.scores.suite.macro:
        shown.insert(1, "macro")
    if of.asked.by == "micro":
        shown.insert(1, "micro")
    return shown


def _ranks(on_site: bool, head: str) -> Column[BoardRow]:
    return Column(
        "ranks",
        attrgetter("low"),
        head,
        words=lambda row: None if row.low is None else f"{row.low}-{row.high}",
        shown=Place.PRINT | Place.PAGE if on_site else Place.PRINT,
    )


def _aggregate(name: By, of: SuiteBoard, head: str) -> Column[BoardRow]:
    lower = name == "mean_rank" or (name in MEANS and of.lower_is_better)
    return Column(
        name, lambda row: row.values[name], head, digits=1 if name == "borda" else 4, lower_is_better=lower
    )


def _member(number: int, name: str, of: SuiteBoard) -> Column[BoardRow]:
    digits, lower = of.scores.measures[name].measure.digits, of.lower_is_better
    return Column(name, lambda row: row.means[number], digits=digits, lower_is_better=lower, group="member")


def _number(key: str, value: Callable[[ChangeRow], Any], head: str = "") -> Column[ChangeRow]:
    return Column(key, value, head, digits=4)
