"""Comparison of several runs, in pairs or with a baseline, by one test and correction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores import table as scores_table
from leaderboard.boards.page.scores.table import ComparedRun, ScoreTable, comparable, request, score_table
from leaderboard.comparisons.page import pair_tables
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Edition
from leaderboard.errors import Invalid
from leaderboard.fields import Field
from leaderboard.scoring.ops.evaluations.shown import Basis, FloatArray
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead
from leaderboard.scoring.ops.statistics import methods, requests, standings
from leaderboard.scoring.ops.statistics.procedures import ranking_overlaps
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import RankedRun, Standing
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.pairs.baseline import AgainstBaseline, against_baseline
from leaderboard.stats.pairs.condensed import square
from leaderboard.stats.pairs.methods import Method, in_order
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.standing import MOST_RUNS as MOST_LETTERED
from leaderboard.stats.standing import letters, topics_against, topics_of_undecided
from leaderboard.tables.record import Shown, finite

NUMBERS_UP_TO = 12
"""Maximum number of runs for which matrix cells show numbers."""
MOST_RUNS = 200
"""Maximum number of compared runs; a larger matrix is not readable."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings of a comparison."""

    run: Annotated[tuple[int, ...], Field(title="Runs", help="The numbers of the runs to compare.")]
    measure: Annotated[str | None, requests.MEASURE] = None
    method: Annotated[
        str | None,
        Field(
            title="Method", help="The test and the correction, as `test+correction`; default: the task's own."
        ),
    ] = None
    baseline: Annotated[
        int | None, Field(title="Baseline", help="The number of the run that the others are compared with.")
    ] = None
    edition: Annotated[
        int | None,
        Field(title="Edition", help="The number of an edition of the board; default: the current one."),
    ] = None


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """Runs by one measure, best first, with their scores and pairwise comparisons."""

    table: ScoreTable
    method: Method
    standing: Standing | WaitingResult
    """Runs in table order."""
    baseline: int | None
    """Index of the baseline in the table."""
    against: AgainstBaseline | None
    """None without a baseline or before the comparison is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A pair of runs by index in display order; differences are first minus second."""

    first: int
    second: int
    difference: float
    """Difference of the means as printed."""
    low: float | None
    """Paired 95 % interval of this pair alone; None if undefined, as with one topic."""
    high: float | None
    effect: Annotated[float | None, Shown("d_z", key="effect_size", digits=2)]
    """Cohen's d_z, positive if the first is better; None if the difference is constant."""
    p: Annotated[float, Shown("p")]
    adjusted: Annotated[float, Shown("Corrected p", key="adjusted_p")]
    verdict: int
    """1 if the first is significantly better, -1 if worse, 0 if undecided."""
    needed: int | None
    """Approximate number of topics needed to decide the pair with 80 % power; None if already decided, and if
    more would not help."""
    overlap: Annotated[float | None, Shown("RBO", key="rbo", digits=3)]
    """Mean rank-biased overlap of their rankings, once computed."""


@dataclass(frozen=True, slots=True)
class BaselinePair:
    """A run compared with the baseline; p is corrected over the pairs with the baseline."""

    pair: Pair
    """The pair of run minus baseline."""
    adjusted: float
    verdict: int
    needed: int | None
    """Verdict as in Pair, at the level of this correction."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A run with mean, letters, counts of verdicts and comparison with the baseline."""

    run: ComparedRun
    mean: float
    letters: str
    counts: Mapping[str, int]
    """Numbers of wins (beats), losses (beaten_by) and undecided pairs; empty until computed."""
    against: BaselinePair | None


@dataclass(frozen=True, eq=False, kw_only=True)
class ManyComparison(TaskHead):
    """The page of a comparison of several runs, best run first."""

    basis: Basis
    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Measures that can compare runs."""
    method: Method
    choices: tuple[Method, ...]
    topics: int
    runs: tuple[ComparisonRow, ...]
    pairs: tuple[Pair, ...]
    """All pairs in display order; empty until computed."""
    resamples: int | None
    reachable: bool
    """Whether any pair (with the baseline, if any) could have been significant."""
    baseline: int | None
    """Index of the baseline among the runs."""
    waiting: tuple[WaitingResult, ...]
    """Results not computed yet: the comparison, the overlaps of rankings, or both."""
    remarks: tuple[str, ...]
    """Sentences on results and caveats."""

    @property
    def state(self) -> str:
        """State of the comparison: done, absent, queued, running or failed."""
        of_pairs = (job for job in self.waiting if job.request.procedure != ranking_overlaps.PROCEDURE)
        return next((job.state for job in of_pairs), "done")

    @property
    def has_letters(self) -> bool:
        """Whether the runs have letters."""
        return any(row.letters for row in self.runs)

    @cached_property
    def verdicts(self) -> list[list[int]]:
        """1 if the row's run is significantly better than the column's, -1 if worse, else 0."""
        verdicts = [[0] * len(self.runs) for _ in self.runs]
        for pair in self.pairs:
            verdicts[pair.first][pair.second] = pair.verdict
            verdicts[pair.second][pair.first] = -pair.verdict
        return verdicts


def compare(session: Session, viewer: Viewer, slug: str, choice: Choice) -> Comparison:
    """Runs by one measure, best first; a baseline is added if it is not one of them.

    Raises Invalid for one run, too many, or an unknown method, and what score_table raises.
    """
    run_ids = set(choice.run)
    if choice.baseline is not None:
        run_ids.add(choice.baseline)
    if len(run_ids) > MOST_RUNS:
        raise Invalid(f"At most {MOST_RUNS} runs can be compared at once; you selected {len(run_ids)}.")
    scored = score_table(session, viewer, slug, choice.measure, run_ids=run_ids, edition=choice.edition)
    if len(run_ids) < 2:
        raise Invalid("A comparison needs at least two runs; choose another one.")
    by = _method(choice.method or scored.of.comparison)
    means = (scored.sign * scored.means).tolist()
    order = sorted(range(len(scored.runs)), key=lambda place: (-means[place], scored.runs[place].name))
    table = replace(scored, runs=tuple(scored.runs[place] for place in order), scores=scored.scores[order])
    standing = _standing(session, scored, by)
    baseline = next((at for at, run in enumerate(table.runs) if run.run_id == choice.baseline), None)
    against = None
    if isinstance(standing, Standing):
        ids = tuple(run.run_id for run in table.runs)
        pairs = in_order(standing.table, order)
        standing = replace(standing, table=pairs, run_ids=ids, sd=standing.sd[order])
        if baseline is not None:
            against = against_baseline(pairs, table.better, baseline)
    return Comparison(table, by, standing, baseline, against)


def many_comparison(session: Session, viewer: Viewer, slug: str, choice: Choice) -> ManyComparison:
    """The page of a comparison; raises what compare raises."""
    comparison = compare(session, viewer, slug, choice)
    table, standing = comparison.table, comparison.standing
    overlaps = _overlaps(session, table)
    pairs = _pairs(table, standing, overlaps) if isinstance(standing, Standing) else ()
    compared = standing.table if isinstance(standing, Standing) else None
    of_interest = comparison.against or compared
    return ManyComparison(
        **table.head,
        measure=table.measure,
        measures=comparable(
            scores_table.fields_columns_of(session.get_one(Edition, table.source.edition_id))
        ),
        method=comparison.method,
        choices=methods.choices(),
        topics=len(table.topics),
        runs=_runs(comparison, pairs),
        pairs=pairs,
        resamples=compared.resamples if compared else None,
        reachable=of_interest is None or of_interest.reachable,
        baseline=comparison.baseline,
        waiting=tuple(result for result in (standing, overlaps) if isinstance(result, WaitingResult)),
        remarks=pair_tables.remarks(table, standing, comparison.baseline, comparison.against),
    )


COMPUTE = requests.computing(
    "compute_comparison",
    lambda *asked: many_comparison(*asked).waiting,
    "/tasks/<slug>/comparisons",
    "comparisons.compare",
    path="/tasks/<slug>/comparison",
    summary="Start a comparison of several runs",
    more="An evaluator computes it; read the result by GET.",
    record=Choice,
)


def _method(key: str) -> Method:
    by_key = {method.key: method for method in methods.choices()}
    if key not in by_key:
        raise Invalid(f"Runs cannot be compared by {key!r}; choose one of {', '.join(by_key)}.")
    return by_key[key]


def _standing(session: Session, table: ScoreTable, by: Method) -> Standing | WaitingResult:
    """The standing of the runs, ordered by id."""
    ranked = [
        RankedRun(run.run_id, run.ranking_sha256, run.name, mean)
        for run, mean in zip(table.runs, table.means.tolist(), strict=True)
    ]
    key = (table.measure.key, table.measure.version)
    return standings.of_runs(session, table.source, key, table.sign, ranked, by)


def _overlaps(session: Session, table: ScoreTable) -> FloatArray | WaitingResult:
    """Rank-biased overlap of every two runs, (runs, runs), in table order."""
    runs = tuple(sorted(table.runs, key=lambda run: run.run_id))
    by_id = request(replace(table, runs=runs), ranking_overlaps.PROCEDURE, "")
    asked = replace(by_id, measure="", measure_version=0)
    # Overlaps depend only on the rankings, so they are shared by all measures.
    result: Arrays | WaitingResult | None = requests.kept.get(asked.digest)
    if result is None and asked.seconds > requests.AT_ONCE_S:
        result = requests.find(session, asked)
    if isinstance(result, WaitingResult):
        return result
    if result is None:
        arrays = ranking_overlaps.compute(session, asked.run_ids, table.source, lambda share: None)
        result = requests.kept.put(asked.digest, arrays)
    order = [runs.index(run) for run in table.runs]
    overlaps: FloatArray = square(result["rbo"].astype(np.float64), len(runs), mirrored=1, diagonal=1.0)
    return overlaps[np.ix_(order, order)]


def _pairs(scores: ScoreTable, standing: Standing, overlaps: FloatArray | WaitingResult) -> tuple[Pair, ...]:
    table, sign = standing.table, standing.sign
    low, high = (table.low, table.high) if sign > 0 else (-table.high, -table.low)
    verdicts = standing.signs[np.triu_indices(table.runs, 1)].tolist()
    needed = topics_of_undecided(table, standing.verdicts, standing.topics, standing.signs)
    effects = np.full(standing.pairs, np.nan)
    if standing.topics > 1:
        effects = paired_t(scores.better).t / np.sqrt(standing.topics)
    return tuple(
        Pair(
            first=first,
            second=second,
            difference=sign * float(table.difference[at]) + 0.0,
            low=finite(low[at]),
            high=finite(high[at]),
            effect=finite(effects[at]),
            p=float(table.p[at]),
            adjusted=float(table.adjusted[at]),
            verdict=verdicts[at],
            needed=needed[at],
            overlap=None if isinstance(overlaps, WaitingResult) else float(overlaps[first, second]),
        )
        for at, (first, second) in enumerate(combinations(range(table.runs), 2))
    )


def _runs(comparison: Comparison, pairs: tuple[Pair, ...]) -> tuple[ComparisonRow, ...]:
    table, standing = comparison.table, comparison.standing
    lettered = _letters(standing)
    with_baseline = _with_baseline(comparison, pairs)
    return tuple(
        ComparisonRow(run, mean, letter, _counts(standing, at), with_baseline.get(at))
        for at, (run, mean, letter) in enumerate(zip(table.runs, table.means.tolist(), lettered, strict=True))
    )


def _counts(standing: Standing | WaitingResult, at: int) -> dict[str, int]:
    if isinstance(standing, WaitingResult):
        return {}
    signs = standing.signs[at].tolist()
    return {"beats": signs.count(1), "beaten_by": signs.count(-1), "undecided": signs.count(0) - 1}


def _letters(standing: Standing | WaitingResult) -> tuple[str, ...]:
    """Letters of the runs, if few enough and if any pair could differ; otherwise empty."""
    if isinstance(standing, WaitingResult):
        return ("",) * len(standing.request.run_ids)
    table = standing.table
    if table.runs > MOST_LETTERED or not table.reachable:
        return ("",) * table.runs
    return letters(standing.signs == 0)


def _with_baseline(comparison: Comparison, pairs: tuple[Pair, ...]) -> dict[int, BaselinePair]:
    """Index of a run -> comparison with the baseline."""
    against = comparison.against
    if against is None:
        return {}
    rows = {}
    assert isinstance(comparison.standing, Standing), "there is nothing against a baseline before"
    needed = topics_against(comparison.standing.table, against, comparison.standing.topics)
    for pair in pairs:
        if against.baseline in (pair.first, pair.second):
            run = pair if pair.second == against.baseline else turned(pair)
            adjusted, verdict = float(against.adjusted[run.first]), int(against.verdicts[run.first])
            rows[run.first] = BaselinePair(run, adjusted, verdict, needed[run.first])
    return rows


def turned(pair: Pair) -> Pair:
    """The pair seen from its second run."""
    return replace(
        pair,
        first=pair.second,
        second=pair.first,
        difference=0.0 - pair.difference,
        low=None if pair.high is None else 0.0 - pair.high,
        high=None if pair.low is None else 0.0 - pair.low,
        effect=None if pair.effect is None else 0.0 - pair.effect,
        verdict=-pair.verdict,
    )
