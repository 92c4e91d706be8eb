"""A comparison of runs as a LaTeX table: means, the best in bold, marks for what is significant."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, PairTable
from leaderboard.stats.pairs.table_order import in_order
from leaderboard.stats.standing.letters import MOST_RUNS, letters
from leaderboard.stats.standing.standing import decided
from leaderboard.tables.latex import booktabs, escaped

ALPHA = 0.05
BETTER, WORSE = r"$^{\dagger}$", r"$^{\ddagger}$"


@dataclass(frozen=True, eq=False, slots=True)
class MeasureOfRuns:
    """One column: a measure, the means of the runs as it prints them, all pairs of them, the baseline's."""

    measure: str
    version: int
    digits: int
    lower_is_better: bool
    means: Sequence[float]
    table: PairTable
    against: AgainstBaseline | None = None

    def in_order(self, order: Sequence[int]) -> "MeasureOfRuns":
        """The same with the runs in this order, which names each by its place once."""
        against = self.against
        if against is not None:
            against = replace(
                against,
                baseline=list(order).index(against.baseline),
                adjusted=against.adjusted[list(order)],
                verdicts=against.verdicts[list(order)],
            )
        means = [self.means[place] for place in order]
        return replace(self, means=means, table=in_order(self.table, order), against=against)


def latex_table(
    runs: Sequence[str],
    columns: Sequence[MeasureOfRuns],
    *,
    topics: int,
    judgments: str,
    alpha: float = ALPHA,
) -> str:
    """The runs, in the order given, as a booktabs table with a caption that says how it was made.

    judgments says in words what the scores rest on, such as `qrels revision 3, as trec_eval 10 computes
    them`. Where columns have a baseline, all have the same one. With up to 15 runs and no baseline, runs
    that share a letter cannot be told apart; with more, daggers mark those worse than the best.
    """
    marks = [_marks(column, alpha) for column in columns]
    rows = [
        [escaped(run), *(_cell(column, own, place) for column, own in zip(columns, marks, strict=True))]
        for place, run in enumerate(runs)
    ]
    heads = ["Run", *(_head(column) for column in columns)]
    caption = _caption(runs, columns, topics, judgments, alpha)
    return booktabs(heads, rows, "l" * len(heads), caption)


def _head(column: MeasureOfRuns) -> str:
    return escaped(column.measure) + (r" ($\downarrow$)" if column.lower_is_better else "")


def _cell(column: MeasureOfRuns, marks: Sequence[str], place: int) -> str:
    shown = [f"{mean:.{column.digits}f}" for mean in column.means]
    best = min(column.means) if column.lower_is_better else max(column.means)
    text = rf"\textbf{{{shown[place]}}}" if column.means[place] == best else shown[place]
    return text + marks[place]


def _marks(column: MeasureOfRuns, alpha: float) -> list[str]:
    """What stands behind each run's mean."""
    if column.against is not None:
        signs = {1: BETTER, -1: WORSE, 0: ""}
        return [signs[verdict] for verdict in column.against.verdicts.tolist()]
    if not _says_something(column):
        return [""] * len(column.means)
    verdicts = decided(column.table, alpha)
    if len(column.means) <= MOST_RUNS:
        return [rf"$^{{\mathrm{{{each}}}}}$" for each in letters(verdicts == 0)]
    best = int(np.argmin(column.means) if column.lower_is_better else np.argmax(column.means))
    return [BETTER if verdict > 0 else "" for verdict in verdicts[best].tolist()]


def _says_something(column: MeasureOfRuns) -> bool:
    return len(column.means) > 1 and column.table.reachable


def _caption(
    runs: Sequence[str], columns: Sequence[MeasureOfRuns], topics: int, judgments: str, alpha: float
) -> str:
    measures = ", ".join(f"{escaped(each.measure)} (version {each.version})" for each in columns)
    said = [
        f"Means of {len(runs)} {'run' if len(runs) == 1 else 'runs'} over {topics} "
        f"{'topic' if topics == 1 else 'topics'}, by {measures}; {escaped(judgments)}.",
        "The best mean of each measure is bold.",
        *_meaning(runs, columns, alpha),
    ]
    return " ".join(said)


def _meaning(runs: Sequence[str], columns: Sequence[MeasureOfRuns], alpha: float) -> list[str]:
    """What the marks mean, and where there are none, why."""
    silent = [column.measure for column in columns if not _reachable(column)]
    found = []
    if len(silent) < len(columns):
        found.append(_marks_in_words(runs, columns[0], alpha))
    if silent and len(runs) > 1:
        level = _percent(alpha)
        title = escaped(columns[0].table.method.title)
        where = "" if len(silent) == len(columns) else f" by {escaped(', '.join(silent))}"
        found.append(f"With so few topics this test ({title}) can tell no pair apart at {level}{where}.")
    return found


def _reachable(column: MeasureOfRuns) -> bool:
    return column.against.reachable if column.against is not None else _says_something(column)


def _marks_in_words(runs: Sequence[str], column: MeasureOfRuns, alpha: float) -> str:
    level = _percent(alpha)
    method = column.table.method
    drawn = f", {column.table.resamples} resamples" if column.table.resamples else ""
    title = escaped(f"{method.title}{drawn}")
    every = len(column.table.p)
    if column.against is not None:
        name = escaped(runs[column.against.baseline])
        few = every if method.correction.name in BOTH_IN_ONE else len(runs) - 1
        return f"{BETTER} better and {WORSE} worse than {name} at {level} ({title}, over {_count(few)})."
    if len(runs) <= MOST_RUNS:
        return (
            f"Two runs share a letter exactly when they cannot be told apart at {level} ({title}, over "
            f"{_count(every)}); this is not handed on from pair to pair."
        )
    return f"{BETTER} worse than the best at {level} ({title}, over {_count(every)})."


def _percent(alpha: float) -> str:
    return rf"{100 * alpha:g}\%"


def _count(pairs: int) -> str:
    return f"{pairs} {'pair' if pairs == 1 else 'pairs'}"
