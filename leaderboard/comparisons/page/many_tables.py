"""A comparison of several runs as plain values and as tables: every pair, every run, means in print."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.comparisons.page.many import (
    BaselinePair,
    Choice,
    Comparison,
    ComparisonRow,
    ManyComparison,
    Pair,
    compare,
)
from leaderboard.comparisons.page.pair_tables import short_p, span
from leaderboard.core.policy import Viewer
from leaderboard.errors import Conflict
from leaderboard.scoring.ops.evaluations.shown import computed_as, rests_on
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import needed_words
from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, PairTable, in_order
from leaderboard.stats.standing import MOST_RUNS, decided, letters
from leaderboard.tables.record import (
    DAGGER,
    DOUBLE_DAGGER,
    Column,
    Files,
    Place,
    Table,
    columns_from,
    counted,
)

BETTER, WORSE = DAGGER, DOUBLE_DAGGER
AT = f"{100 * LEVEL:g}%"


@dataclass(frozen=True, eq=False, slots=True)
class MeasureOfRuns:
    """One measure with the printed means of the runs, all pairs, and comparisons with the baseline."""

    measure: str
    version: int
    digits: int
    lower_is_better: bool
    means: Sequence[float]
    table: PairTable
    against: AgainstBaseline | None = None

    @property
    def tells_apart(self) -> bool:
        """Whether the test could find any pair significantly different."""
        return len(self.means) > 1 and self.table.reachable

    @property
    def reachable(self) -> bool:
        """Whether any pair of interest could be significant: with the baseline if there is one."""
        return self.tells_apart if self.against is None else self.against.reachable

    def in_order(self, order: Sequence[int]) -> "MeasureOfRuns":
        """The same comparison with the runs reordered by a permutation of indices."""
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
    """Table of the runs in the given order, with means and a caption on the method.

    judgments: the basis of the scores as text, such as `qrels revision 3, as trec_eval 10 computes them`.
    All measures have the same baseline, if any. With up to 15 runs and no baseline, runs that share a letter
    are not significantly different; with more, daggers mark those significantly worse than the best.
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
    """The mark or letters after each run's mean."""
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
    """The meaning of the marks, or why there are none."""
    silent = [measure.measure for measure in measures if not measure.reachable]
    sentences = []
    if len(silent) < len(measures):
        sentences.append(_meaning(runs, measures[0]))
    if silent and len(runs) > 1:
        title = measures[0].table.method.title
        where = "" if len(silent) == len(measures) else f" by {', '.join(silent)}"
        sentences.append(
            f"With so few topics this test ({title}) cannot find any pair significantly different at {AT}"
            f"{where}."
        )
    return sentences


def _meaning(runs: Sequence[str], measure: MeasureOfRuns) -> str:
    method = measure.table.method
    drawn = f", {measure.table.resamples} resamples" if measure.table.resamples else ""
    title = f"{method.title}{drawn}"
    every = counted(len(measure.table.p), "pair")
    if measure.against is not None:
        baseline = runs[measure.against.baseline]
        over = every if method.correction.name in BOTH_IN_ONE else counted(len(runs) - 1, "pair")
        return (
            f"{BETTER} significantly better and {WORSE} worse than {baseline} at {AT} ({title}, over {over})."
        )
    if len(runs) <= MOST_RUNS:
        return (
            f"Two runs share a letter exactly when they are not significantly different at {AT} ({title}, "
            f"over {every}); this relation is not transitive."
        )
    return f"{BETTER} significantly worse than the best at {AT} ({title}, over {every})."


NOT_YET = "The comparison is not computed yet. Start it on its page first."
COUNTS = {
    "beats": ("Wins", "Of these runs, those it is significantly better than"),
    "beaten_by": ("Losses", "Of these runs, those that are significantly better than it"),
    "undecided": ("Undecided", "Of these runs, those it is not significantly different from"),
}
"""Counts of verdicts: key -> head and title."""
VERDICTS = {1: "better", -1: "worse", 0: "undecided"}


def facts(page: ManyComparison) -> dict[str, Any]:
    """The comparison as plain values at full precision; there are no pairs until they are computed."""
    base = page.runs[page.baseline].run if page.baseline is not None else None
    return {
        "task": page.slug,
        "measure": page.measure.key,
        "measure_version": page.measure.version,
        "direction": page.measure.direction,
        "topics": page.topics,
        "edition": page.basis.edition,
        "revision": page.basis.revision,
        "dialect": page.basis.dialect,
        "method": page.method.key,
        "method_version": page.method.version,
        "alpha": LEVEL,
        "resamples": page.resamples,
        "reachable": page.reachable,
        "state": page.state,
        "remarks": list(page.remarks),
        "baseline": base.name if base else None,
        "runs": [_run_facts(row) for row in page.runs],
        "pairs": [_pair_facts(row) for row in _pairs(page).facts()],
    }


def pairs(page: ManyComparison) -> Table[Pair]:
    """Table of all pairs in run order; raises Conflict until computed."""
    if page.state != "done":
        raise Conflict(NOT_YET)
    return _pairs(page)


def runs(page: ManyComparison) -> Table[ComparisonRow]:
    """Table of the runs, best first, with letters and comparisons with the baseline or each other."""
    digits = page.measure.digits
    has_baseline = page.baseline is not None and bool(page.pairs)
    letters: Column[ComparisonRow] = Column("letters", lambda row: row.letters, "Letters")
    return Table(
        f"{page.slug}-compared-runs",
        f"{page.task}: mean {page.measure.key}, {_under(page)}; {page.measure.direction} is better.",
        columns_from(
            ComparisonRow,
            "run.name run.run_id run.team run.kind",
            Column(page.measure.key, lambda row: row.mean, digits=digits),
            *([letters] if page.has_letters and page.baseline is None else []),
            *(_against_baseline(page) if has_baseline else _among_the_others() if page.pairs else ()),
        ),
        page.runs,
    )


def alike(page: ManyComparison) -> Table[Pair]:
    """Table of pairs by decreasing overlap of rankings."""
    pairs_with_overlap = [pair for pair in page.pairs if pair.overlap is not None]
    return Table(
        f"{page.slug}-overlaps",
        f"{page.task}: mean RBO over the topics for which at least one run has documents.",
        [*_names(page), Column("rbo", lambda pair: pair.overlap, "RBO", digits=3)],
        sorted(pairs_with_overlap, key=lambda pair: -(pair.overlap or 0.0)),
    )


FILES = Files(facts=facts, tables={"pairs": pairs, "runs": runs, "overlaps": alike})


def means(
    session: Session, viewer: Viewer, slug: str, choice: Choice, measures: Sequence[str | None] = (None,)
) -> Table[int]:
    """Table of the runs by some measures, best first by the first measure, for print.

    Raises Conflict while a comparison is not computed yet, and what compare raises.
    """
    compared = [compare(session, viewer, slug, replace(choice, measure=measure)) for measure in measures]
    scores, basis = compared[0].table, compared[0].table.basis
    order = [run.run_id for run in scores.runs]
    return means_table(
        [run.name for run in scores.runs],
        [_measure(comparison).in_order(_places(comparison, order)) for comparison in compared],
        name=f"{slug}-comparison",
        topics=len(scores.topics),
        judgments=f"{basis.qrels}{computed_as(basis.dialect)}",
    )


def _pairs(page: ManyComparison) -> Table[Pair]:
    names = [row.run.name for row in page.runs]
    digits = page.measure.digits

    def better(pair: Pair) -> str | None:
        return {1: names[pair.first], -1: names[pair.second]}.get(pair.verdict)

    return Table(
        f"{page.slug}-comparison",
        (
            f"{page.task}: all pairs of {len(names)} runs by {page.measure.key}, {_under(page)}; "
            f"{page.method.title}, {LEVEL:.1%}."
        ),
        columns_from(
            Pair,
            *_names(page),
            Column("difference", lambda pair: pair.difference, "Difference", digits=digits),
            Column("low", lambda pair: pair.low, "Lowest", digits=digits),
            Column("high", lambda pair: pair.high, "Highest", digits=digits),
            "effect p adjusted",
            Column("better", better, "Better"),
            Column("topics_needed", lambda pair: pair.needed, "Topics needed", digits=0),
            "overlap",
        ),
        page.pairs,
    )


def _names(page: ManyComparison) -> list[Column[Pair]]:
    names = [row.run.name for row in page.runs]
    return [
        Column("a", lambda pair: names[pair.first], "Run"),
        Column("b", lambda pair: names[pair.second], "Run"),
    ]


def _among_the_others() -> list[Column[ComparisonRow]]:
    return [Column(key, _count_of(key), head, title=title, digits=0) for key, (head, title) in COUNTS.items()]


def _count_of(key: str) -> Any:
    return lambda row: row.counts.get(key)


def _against_baseline(page: ManyComparison) -> list[Column[ComparisonRow]]:
    """Columns that compare a run with the baseline; empty for the baseline itself."""
    assert page.baseline is not None, "asked for only with a baseline"
    digits = page.measure.digits

    def of(value: Any) -> Any:
        return lambda row: None if row.against is None else value(row.against)

    def interval(against: BaselinePair) -> str | None:
        return span(against.pair.low, against.pair.high, digits)

    def effect(against: BaselinePair) -> str | None:
        return None if against.pair.effect is None else f"{against.pair.effect:+.2f}"

    return [
        Column(
            "difference",
            of(lambda against: against.pair.difference),
            "Difference",
            words=of(lambda against: f"{against.pair.difference:+.{digits}f}"),
            digits=digits,
        ),
        Column("low", of(lambda against: against.pair.low), shown=Place.DATA),
        Column("high", of(lambda against: against.pair.high), shown=Place.DATA),
        Column(
            "interval", of(interval), "95% interval", words=of(interval), digits=digits, shown=~Place.DATA
        ),
        Column(
            "effect_size",
            of(lambda against: against.pair.effect),
            "d_z",
            title="Cohen’s d of paired differences: mean over standard deviation",
            words=of(effect),
            digits=2,
        ),
        Column("p", of(lambda against: against.pair.p), shown=Place.DATA),
        Column(
            "adjusted_p",
            of(lambda against: against.adjusted),
            "p",
            words=of(lambda against: short_p(against.adjusted)),
            digits=4,
        ),
        Column(
            "verdict",
            lambda row: None if row.against is None else row.against.verdict,
            f"Compared with {page.runs[page.baseline].run.name}",
            words=lambda row: "the baseline" if row.against is None else VERDICTS[row.against.verdict],
        ),
        Column(
            key="topics_needed",
            head="Topics needed",
            title="Approximate number of topics like these needed to decide it with 80% power",
            value=of(lambda against: against.needed),
            words=of(
                lambda against: needed_words(against.needed, page.topics) if not against.verdict else None
            ),
            digits=0,
        ),
    ]


def _places(comparison: Comparison, order: Sequence[int]) -> list[int]:
    ids = [run.run_id for run in comparison.table.runs]
    return [ids.index(run_id) for run_id in order]


def _measure(comparison: Comparison) -> MeasureOfRuns:
    if isinstance(comparison.standing, WaitingResult):
        raise Conflict(NOT_YET)
    table = comparison.table
    return MeasureOfRuns(
        measure=table.measure.key,
        version=table.measure.version,
        digits=table.measure.digits,
        lower_is_better=table.measure.lower_is_better,
        means=table.means.tolist(),
        table=comparison.standing.table,
        against=comparison.against,
    )


def _run_facts(row: ComparisonRow) -> dict[str, Any]:
    values: dict[str, Any] = {
        "run": row.run.name,
        "run_id": row.run.run_id,
        "team": row.run.team,
        "kind": row.run.kind,
        "mean": row.mean,
        "letters": row.letters or None,
        **{key: row.counts.get(key) for key in COUNTS},
    }
    against = row.against
    if against is not None:
        values["against_baseline"] = {
            "difference": against.pair.difference,
            "interval": [against.pair.low, against.pair.high],
            "effect_size": against.pair.effect,
            "p": against.pair.p,
            "adjusted_p": against.adjusted,
            "verdict": against.verdict,
            "topics_needed": against.needed,
        }
    return values


def _pair_facts(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row.pop("low"), row.pop("high")
    return {**row, "interval": [low, high]}


def _under(page: ManyComparison) -> str:
    return f"under {rests_on(page.basis.revision, page.topics, page.basis.dialect, page.basis.left_out)}"
