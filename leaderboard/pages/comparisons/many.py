"""Several runs compared with each other, or with a baseline, under one test and one correction."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition
from leaderboard.errors import Invalid
from leaderboard.pages.comparisons import pair_tables
from leaderboard.pages.scores import table as scores_table
from leaderboard.pages.scores.table import ComparedRun, ScoreTable, comparable, request, score_table
from leaderboard.services.evaluations.choices import MeasureColumn
from leaderboard.services.evaluations.shown import Basis, FloatArray
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics import methods, requests, standings
from leaderboard.services.statistics.procedures import ranking_overlaps
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.services.statistics.standings import RankedRun, Standing
from leaderboard.services.tasks.scored_topics import TaskHead
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.pairs.baseline import AgainstBaseline, against_baseline
from leaderboard.stats.pairs.condensed import square
from leaderboard.stats.pairs.methods import Method
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.pairs.table_order import in_order
from leaderboard.stats.standing import MOST_RUNS as MOST_LETTERED
from leaderboard.stats.standing import letters, topics_against, topics_of_undecided
from leaderboard.tables.record import Shown
from leaderboard.tables.text import finite

NUMBERS_UP_TO = 12
"""Runs up to which the cells of the matrix carry numbers."""
MOST_RUNS = 200
"""How many runs are compared at once; a larger matrix is not readable."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is compared and how: ids of runs, test and correction by key, a baseline, an earlier edition."""

    run_ids: Collection[int]
    method: str | None = None
    """The task's own where None."""
    baseline: int | None = None
    edition: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """The runs by one measure, best first: their scores, and what is said of every two of them."""

    table: ScoreTable
    method: Method
    standing: Standing | WaitingResult
    """Its runs in the order of the table."""
    baseline: int | None
    """Where the baseline stands in the table."""
    against: AgainstBaseline | None
    """None where there is no baseline, or the runs are not compared yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two of the runs by their places in the order shown; values are of the first less the second."""

    first: int
    second: int
    difference: float
    """Of the means, as the measure prints them."""
    low: float | None
    """The paired 95 % interval of this pair alone; None where there is no such number, as on one topic."""
    high: float | None
    effect: Annotated[float | None, Shown("d_z", key="effect_size", digits=2)]
    """Cohen's d_z, positive where the first is better; None where all topics have one difference."""
    p: Annotated[float, Shown("p")]
    adjusted: Annotated[float, Shown("Corrected p", key="adjusted_p")]
    verdict: int
    """1 where the first is better, -1 where it is worse, 0 where that cannot be told."""
    needed: int | None
    """About how many topics like these would decide the pair with 80 % power; None where they do, and where
    more would not help."""
    overlap: Annotated[float | None, Shown("RBO", key="rbo", digits=3)]
    """The mean rank-biased overlap of their rankings, once it is computed."""


@dataclass(frozen=True, slots=True)
class BaselinePair:
    """A run against the baseline; the p is corrected over the pairs with the baseline."""

    pair: Pair
    """Of the run less the baseline."""
    adjusted: float
    verdict: int
    needed: int | None
    """As that of a pair, at the level of this correction."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One of the runs: its mean, its letters, what is said of it among the others, and the baseline."""

    run: ComparedRun
    mean: float
    letters: str
    counts: Mapping[str, int]
    """How many of the other runs it beats, is beaten_by and is undecided with; empty until computed."""
    against: BaselinePair | None


@dataclass(frozen=True, eq=False, kw_only=True)
class ManyComparison(TaskHead):
    """What the page of a comparison of several runs shows, best run first."""

    basis: Basis
    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """All that runs can be compared by."""
    method: Method
    choices: tuple[Method, ...]
    topics: int
    runs: tuple[ComparisonRow, ...]
    pairs: tuple[Pair, ...]
    """All pairs in the order shown; empty until they are compared."""
    resamples: int | None
    reachable: bool
    """Whether any pair could have been told apart; with a baseline, any pair with it."""
    baseline: int | None
    """Where it stands among the runs."""
    waiting: tuple[WaitingResult, ...]
    """What is not computed yet: the comparison, the overlaps of rankings, or both."""
    remarks: tuple[str, ...]
    """What was found, and what numbers cannot say, in sentences."""

    @property
    def state(self) -> str:
        """Whether the runs are compared: done, absent, queued, running or failed."""
        of_pairs = (job for job in self.waiting if job.request.procedure != ranking_overlaps.PROCEDURE)
        return next((job.state for job in of_pairs), "done")

    @property
    def has_letters(self) -> bool:
        """Whether the runs have letters."""
        return any(row.letters for row in self.runs)

    @cached_property
    def verdicts(self) -> list[list[int]]:
        """1 where the row's run is better than the column's, -1 where it is worse, else 0."""
        verdicts = [[0] * len(self.runs) for _ in self.runs]
        for pair in self.pairs:
            verdicts[pair.first][pair.second] = pair.verdict
            verdicts[pair.second][pair.first] = -pair.verdict
        return verdicts


def compare(
    session: Session, viewer: Viewer, slug: str, choice: Choice, measure: str | None = None
) -> Comparison:
    """The runs by one measure, best first; a baseline that is none of the runs is added to them.

    Raises Invalid for one run, too many, or a method there is not, and what score_table raises.
    """
    run_ids = set(choice.run_ids)
    if choice.baseline is not None:
        run_ids.add(choice.baseline)
    if len(run_ids) > MOST_RUNS:
        raise Invalid(f"At most {MOST_RUNS} runs are compared at once; these are {len(run_ids)}.")
    scored = score_table(session, viewer, slug, measure, run_ids=run_ids, edition=choice.edition)
    if len(run_ids) < 2:
        raise Invalid("A comparison takes at least two runs; choose another one.")
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


def many_comparison(
    session: Session, viewer: Viewer, slug: str, choice: Choice, measure: str | None = None
) -> ManyComparison:
    """The page of a comparison; raises what compare raises."""
    comparison = compare(session, viewer, slug, choice, measure)
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


def _method(key: str) -> Method:
    known = {method.key: method for method in methods.choices()}
    if key not in known:
        raise Invalid(f"Runs cannot be compared by {key!r}; choose one of {', '.join(known)}.")
    return known[key]


def _standing(session: Session, table: ScoreTable, by: Method) -> Standing | WaitingResult:
    """Of the runs in the order of their ids."""
    ranked = [
        RankedRun(run.run_id, run.ranking_sha256, run.name, mean)
        for run, mean in zip(table.runs, table.means.tolist(), strict=True)
    ]
    key = (table.measure.key, table.measure.version)
    return standings.of_runs(session, table.source, key, table.sign, ranked, by)


def _overlaps(session: Session, table: ScoreTable) -> FloatArray | WaitingResult:
    """The overlap of the rankings of every two runs, (runs, runs), in the order of the table."""
    runs = tuple(sorted(table.runs, key=lambda run: run.run_id))
    by_id = request(replace(table, runs=runs), ranking_overlaps.PROCEDURE, "")
    asked = replace(by_id, measure="", measure_version=0)
    # The overlaps depend on the rankings alone, so they are kept for all measures.
    result: Arrays | WaitingResult | None = requests.kept.get(asked.digest)
    if result is None and asked.seconds > requests.AT_ONCE_S:
        result = requests.find(session, asked)
    if isinstance(result, WaitingResult):
        return result
    if result is None:
        made = ranking_overlaps.compute(session, asked.run_ids, table.source, lambda share: None)
        result = requests.kept.put(asked.digest, made)
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
    """The letters of the runs, where there are few enough and any could differ, else none."""
    if isinstance(standing, WaitingResult):
        return ("",) * len(standing.request.run_ids)
    table = standing.table
    if table.runs > MOST_LETTERED or not table.reachable:
        return ("",) * table.runs
    return letters(standing.signs == 0)


def _with_baseline(comparison: Comparison, pairs: tuple[Pair, ...]) -> dict[int, BaselinePair]:
    """Place of a run -> the run against the baseline."""
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
