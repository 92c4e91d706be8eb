"""A comparison of runs as a table in print: means, the best in bold, marks for what is significant."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, PairTable
from leaderboard.stats.pairs.table_order import in_order
from leaderboard.stats.standing.letters import MOST_RUNS, letters
from leaderboard.stats.standing.standing import decided
from leaderboard.tables.cells import DAGGER, DOUBLE_DAGGER
from leaderboard.tables.record import Column, Table
from leaderboard.tables.words import counted

BETTER, WORSE = DAGGER, DOUBLE_DAGGER
AT = f"{100 * LEVEL:g}%"


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

    @property
    def tells_apart(self) -> bool:
        """Whether the test could tell any pair of the runs apart."""
        return len(self.means) > 1 and self.table.reachable

    @property
    def reachable(self) -> bool:
        """The same of the pairs that are of interest: those with the baseline where there is one."""
        return self.tells_apart if self.against is None else self.against.reachable

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


def means_table(
    runs: Sequence[str], measures: Sequence[MeasureOfRuns], *, name: str, topics: int, judgments: str
) -> Table[int]:
    """The places of the runs, in the order given, with their means and a caption that says how it was made.

    judgments says in words what the scores rest on, such as `qrels revision 3, as trec_eval 10 computes
    them`. Where measures have a baseline, all have the same one. With up to 15 runs and no baseline, runs
    that share a letter cannot be told apart; with more, daggers mark those worse than the best.
    """
    run: Column[int] = Column("run", lambda place: runs[place], "Run")
    return Table(
        name,
        _caption(len(runs), measures, topics, judgments),
        [run, *(_column(measure) for measure in measures)],
        range(len(runs)),
        legend=" ".join(_legend(runs, measures)),
    )


def _column(measure: MeasureOfRuns) -> Column[int]:
    best = min(measure.means) if measure.lower_is_better else max(measure.means)
    marks = _marks(measure)
    return Column(
        measure.measure,
        lambda place: measure.means[place],
        digits=measure.digits,
        lower_is_better=measure.lower_is_better,
        bold=lambda place: measure.means[place] == best,
        mark=lambda place: marks[place],
    )


def _marks(measure: MeasureOfRuns) -> list[str]:
    """What stands behind each run's mean."""
    if measure.against is not None:
        signs = {1: BETTER, -1: WORSE, 0: ""}
        return [signs[verdict] for verdict in measure.against.verdicts.tolist()]
    if not measure.tells_apart:
        return [""] * len(measure.means)
    verdicts = decided(measure.table)
    if len(measure.means) <= MOST_RUNS:
        return list(letters(verdicts == 0))
    best = int(np.argmin(measure.means) if measure.lower_is_better else np.argmax(measure.means))
    return [BETTER if verdict > 0 else "" for verdict in verdicts[best].tolist()]


def _caption(runs: int, measures: Sequence[MeasureOfRuns], topics: int, judgments: str) -> str:
    named = ", ".join(f"{measure.measure} (version {measure.version})" for measure in measures)
    return (
        f"Means of {counted(runs, 'run')} over {counted(topics, 'topic')}, by {named}; {judgments}. "
        "The best mean of each measure is bold."
    )


def _legend(runs: Sequence[str], measures: Sequence[MeasureOfRuns]) -> list[str]:
    """What the marks mean, and where there are none, why."""
    silent = [measure.measure for measure in measures if not measure.reachable]
    sentences = []
    if len(silent) < len(measures):
        sentences.append(_meaning(runs, measures[0]))
    if silent and len(runs) > 1:
        title = measures[0].table.method.title
        where = "" if len(silent) == len(measures) else f" by {', '.join(silent)}"
        sentences.append(f"With so few topics this test ({title}) can tell no pair apart at {AT}{where}.")
    return sentences


def _meaning(runs: Sequence[str], measure: MeasureOfRuns) -> str:
    method = measure.table.method
    drawn = f", {measure.table.resamples} resamples" if measure.table.resamples else ""
    title = f"{method.title}{drawn}"
    every = counted(len(measure.table.p), "pair")
    if measure.against is not None:
        baseline = runs[measure.against.baseline]
        over = every if method.correction.name in BOTH_IN_ONE else counted(len(runs) - 1, "pair")
        return f"{BETTER} better and {WORSE} worse than {baseline} at {AT} ({title}, over {over})."
    if len(runs) <= MOST_RUNS:
        return (
            f"Two runs share a letter exactly when they cannot be told apart at {AT} ({title}, over "
            f"{every}); this is not handed on from pair to pair."
        )
    return f"{BETTER} worse than the best at {AT} ({title}, over {every})."
