"""The board by another line of judgments as files: its runs, and the agreement with the board by topic."""

from dataclasses import asdict
from typing import Any

from leaderboard.pages.judges.judge import AgreedTopic
from leaderboard.pages.judges.tables import COEFFICIENTS
from leaderboard.pages.nuggets.line import LinePage, LineRow
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.tables.record import Column, Files, Place, Table, columns_from

DIGITS = 4
"""Of coefficients."""


def runs_table(page: LinePage) -> Table[LineRow]:
    """The runs by the line, best first, and where the board has them."""
    by = page.measure
    return Table(
        page.name,
        (
            f"Runs of {page.task} by {by.key} by the judgments of the line {page.line.name}, revision "
            f"{page.line.number}, beside the board."
        ),
        columns_from(
            LineRow,
            "rank name run_id team kind",
            _score(by, "by"),
            _range("ranks", "Ranks", "low", "high"),
            _end("low"),
            _end("high"),
            Column("board", lambda row: row.board_score, "Board", digits=by.digits),
            "board_rank",
            _range("board_ranks", "Its ranks", "board_low", "board_high"),
            _end("board_low"),
            _end("board_high"),
            Column(
                "move",
                lambda row: row.move,
                "Move",
                words=lambda row: None if row.move is None else _signed(row.move),
                digits=0,
                title="By how many ranks the line puts the run higher, of the runs that both rank.",
            ),
            *(_score(measure, "measure") for measure in page.measures if measure != by),
        ),
        page.rows,
    )


def topics_table(page: LinePage) -> Table[AgreedTopic]:
    """The agreement within each topic."""
    return Table(
        f"{page.name}-topics",
        f"Agreement of the line {page.line.name} with the board within each topic of {page.task}.",
        [
            Column("topic", lambda row: row.topic, "Topic"),
            Column(
                "agreement", lambda row: row.agreement, COEFFICIENTS["accuracy"].capitalize(), digits=DIGITS
            ),
        ],
        page.topics,
    )


def facts(page: LinePage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    line, basis = page.line, page.basis
    return {
        "task": page.slug,
        "line": {
            "number": line.line_id,
            "name": line.name,
            "revision": line.number,
            "note": line.note,
            "at": line.at.isoformat(),
            "sha256": line.sha256,
            "topics": len(line.topics),
            "made_by": dict(page.by_line.made_by),
        },
        "board": {
            "edition": basis.edition if basis is not None else None,
            "revision": basis.revision if basis is not None else None,
            "made_by": dict(page.board.made_by) if page.board is not None else {},
        },
        "measure": page.measure.key,
        "agreement": _agreement(page),
        "runs": [
            {**row, "partial": {key: asdict(mean) for key, mean in given.partial.items()}}
            for row, given in zip(runs_table(page).facts(), page.rows, strict=True)
        ],
        "topics": topics_table(page).facts(),
    }


def in_words(page: LinePage) -> tuple[str, ...]:
    """Who made the judgments of both sides, and how far the boards agree, for the command line."""
    sides = ((page.line.name, page.by_line), ("the board", page.board))
    said = [
        f"{name}: {', '.join(f'{part} by {maker}' for part, maker in of.made_by)}."
        for name, of in sides
        if of is not None
    ]
    if page.agreement is None or page.agreement.found.boards is None:
        return (*said, "Fewer than three runs are ranked by both: their agreement is not computed.")
    found = page.agreement.found
    numbers = {name: getattr(found.boards, key) for key, name in COEFFICIENTS.items()}
    told = ", ".join(f"{name} {value:.4f}" for name, value in numbers.items() if value is not None)
    return (*said, f"{len(found.runs)} runs ranked by both, {found.topics} topics: {told}.")


FILES: Files[LinePage] = Files(facts=facts, tables={"runs": runs_table, "topics": topics_table})


def _agreement(page: LinePage) -> dict[str, Any] | None:
    """Coefficients of the boards, pairs by who decides them, and the mean over topics."""
    if page.agreement is None:
        return None
    found = page.agreement.found
    return {
        "runs": len(found.runs),
        "topics": found.topics,
        "left_out": list(found.left_out),
        **{key: getattr(found.boards, key, None) for key in COEFFICIENTS},
        "at_least": found.least,
        "guaranteed": None if found.proved is None else [found.proved.low, found.proved.high],
        "by_topic": found.topic_mean,
        "undefined_topics": found.undefined_topics,
        "decided": None if found.decided is None else asdict(found.decided),
        "test": page.agreement.plan.method.key,
    }


def _score(measure: MeasureColumn, group: str) -> Column[LineRow]:
    return Column(
        measure.key,
        lambda row: row.scores[measure.key],
        measure.short,
        digits=measure.digits,
        title=measure.title,
        group=group,
    )


def _range(key: str, head: str, low: str, high: str) -> Column[LineRow]:
    """A range of ranks as people read it."""

    def words(row: LineRow) -> str | None:
        return None if getattr(row, low) is None else f"{getattr(row, low)}–{getattr(row, high)}"

    return Column(key, words, head, shown=~Place.DATA)


def _end(key: str) -> Column[LineRow]:
    return Column(key, lambda row: getattr(row, key), digits=0, shown=Place.DATA)


def _signed(move: int) -> str:
    return f"{move:+d}".replace("-", "−") if move else "0"
