"""A board as a LaTeX table: ranks, means, the best in bold, marks for what is clearly below the best."""

from collections.abc import Sequence

from leaderboard.pages.boards.view import View
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.statistics.standings import ALPHA, Standing
from leaderboard.tables.latex import ABSENT, booktabs, escaped
from leaderboard.tables.latex import DAGGER as BETTER

BOUND_HEADS = ("Lowest", "Highest")


def table(shown: Board, view: View) -> str:
    """The rows and measures of a view as a booktabs table with a caption that says how it was made."""
    rows = view.all_rows
    best = {each.key: _best(rows, each) for each in view.measures}
    below = _below_the_best(shown)
    heads = ["Rank", "Run", "Team", *(_head(each) for each in view.measures)]
    if view.bounds:
        heads += BOUND_HEADS
    lines = [
        [
            str(row.rank) if row.rank is not None else ABSENT,
            escaped(row.run),
            escaped(row.team) or ABSENT,
            *(_cell(shown, row, each, best[each.key], below) for each in view.measures),
            *(_bounds(shown, view, row) if view.bounds else ()),
        ]
        for row in rows
    ]
    columns = f"rll{'r' * (len(heads) - 3)}"
    return booktabs(heads, lines, columns, _caption(shown, view, below), f"tab:{shown.slug}")


def _head(each: MeasureColumn) -> str:
    return escaped(each.key) + (r" ($\downarrow$)" if each.direction == "lower" else "")


def _best(rows: Sequence[Row], each: MeasureColumn) -> float | None:
    """The best value among the rows, None where neither high nor low is better."""
    values = [value for row in rows if (value := row.scores[each.key]) is not None]
    if each.direction == "none" or not values:
        return None
    return min(values) if each.direction == "lower" else max(values)


def _below_the_best(shown: Board) -> frozenset[int]:
    """The ranked runs that the first one can be told to be better than."""
    standing = shown.standing
    first = next((row.run_id for row in shown.rows if row.rank == 1), None)
    if not isinstance(standing, Standing) or standing.topics < 2 or first is None:
        return frozenset()
    others = (run_id for run_id in standing.run_ids if run_id != first)
    return frozenset(each for each in others if standing.pair(first, each).told_apart)


def _cell(shown: Board, row: Row, each: MeasureColumn, best: float | None, below: frozenset[int]) -> str:
    value = row.scores[each.key]
    if value is None:
        return ABSENT
    text = f"{value:.{_digits(shown, each)}f}"
    mark = BETTER if each.key == shown.sorted_by and row.run_id in below else ""
    return (rf"\textbf{{{text}}}" if value == best else text) + mark


def _bounds(shown: Board, view: View, row: Row) -> tuple[str, ...]:
    found = view.bounds.get(row.run_id)
    if found is None:
        return (ABSENT,) * len(BOUND_HEADS)
    digits = next(each.digits for each in shown.measures if each.key == shown.sorted_by)
    return f"{found.low:.{digits}f}", f"{found.high:.{digits}f}"


def _digits(shown: Board, each: MeasureColumn) -> int:
    return shown.sight.decimals or each.digits


def _caption(shown: Board, view: View, below: frozenset[int]) -> str:
    basis = shown.basis
    if basis is None:
        return escaped(f"Runs of {shown.task}, not scored yet.")
    measures = ", ".join(f"{each.key} (version {each.version})" for each in view.measures)
    some = "" if view.listed == view.total else f" ({view.listed} of them listed)"
    digest = f" (SHA-256 {basis.revision_sha256[:16]}...)" if basis.revision_sha256 else ""
    topics = f"{basis.topics} {'topic' if basis.topics == 1 else 'topics'}"
    said = [
        f"The {view.total} {'run' if view.total == 1 else 'runs'}{some} of {shown.task}, ranked by "
        f"{shown.ranked_by}, over {topics}, by {measures}; edition {basis.edition}, qrels revision "
        f"{basis.revision}{digest}, as trec_eval {basis.dialect} computes them.",
        "The best value of each measure is bold.",
    ]
    if any(row.rank is None for row in view.all_rows):
        said.append("Baselines and other runs out of competition have no rank.")
    if view.bounds:
        said.append(f"Lowest and highest {shown.sorted_by} that the unjudged documents leave possible.")
    text = escaped(" ".join(said))
    return f"{text} {_marks(shown.standing)}" if below and isinstance(shown.standing, Standing) else text


def _marks(standing: Standing) -> str:
    title = escaped(standing.method.title)
    return rf"{BETTER} worse than the first at {100 * ALPHA:g}\% ({title}, over {standing.pairs} pairs)."
