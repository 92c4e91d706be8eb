"""Uncertainty of each run's mean and rank: four intervals with different coverage."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import Row
from leaderboard.boards.page.scores.table import require_details
from leaderboard.core.policy import Viewer
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.evaluations.shown import rests_on, scores_of
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead
from leaderboard.scoring.ops.statistics import requests, standings
from leaderboard.scoring.ops.statistics.requests import Request, WaitingResult
from leaderboard.scoring.ops.statistics.standings import ALPHA, varies
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.pairs.methods import method
from leaderboard.stats.reliability import half_width
from leaderboard.tables.record import Column, Files, Place, Table

PROCEDURE = "reliability"


@dataclass(frozen=True, slots=True)
class Reliability:
    """Reliability of the ranked runs of a board on its topics, by the ranking measure.

    Differences are on the scale of the printed values: means over topics, or sums.
    """

    runs: int
    topics: int
    pairs: int
    measure: str
    digits: int
    order: float
    """E ρ², from 0 to 1."""
    absolute: float
    """Φ, from 0 to 1."""
    enough_topics: int | None
    """The fewest topics for an E ρ² of .95; None where the runs do not differ."""
    shares: tuple[float, float, float] | None
    """Of the variance of scores: between runs, between topics, the rest; None where all scores are equal."""
    sd: float
    """The median over pairs of runs of the standard deviation of their differences by topic."""
    planned: float | None
    """The smallest true difference found with 80% power: of one pair chosen beforehand.

    None where no difference that the measure can have is large enough.
    """
    any: float | None
    """The same for any pair, tested at 2.5% over the number of pairs."""
    planned_topics: int
    """The fewest topics that show half of planned."""
    any_topics: int
    half_width: float
    """Of the 95% interval of a difference with that sd."""
    halves: float
    """The median τ_b between the orders by two random halves of the topics."""
    halves_low: float
    """The 5th percentile."""
    halves_high: float
    """The 95th percentile."""


def of_board(session: Session, shown: Board) -> Reliability | WaitingResult | None:
    """The reliability of a board; WaitingResult if it needs a job, None if undefined.

    It is undefined while topic scores are hidden, for a measure that is not a mean over topics, and for fewer
    than two ranked runs or topics. At most one statement, none if cached.
    """
    arrays = result(session, shown, PROCEDURE)
    if arrays is None or isinstance(arrays, WaitingResult):
        return arrays
    return _reliability(shown, {name: float(value.astype(float)) for name, value in arrays.items()})


def reliability_facts(about: Reliability | WaitingResult | None) -> dict[str, object] | None:
    """The reliability as plain values; None if not computed."""
    if not isinstance(about, Reliability):
        return None
    return {
        "order": about.order,
        "absolute": about.absolute,
        "variance_shares": list(about.shares) if about.shares else None,
        "topics_for_order_0.95": about.enough_topics,
        "sd_of_differences": about.sd,
        "smallest_difference_planned_pair": about.planned,
        "smallest_difference_any_pair": about.any,
        "topics_for_half_planned_pair": about.planned_topics,
        "topics_for_half_any_pair": about.any_topics,
        "interval_half_width": about.half_width,
        "split_half_tau": {"median": about.halves, "p5": about.halves_low, "p95": about.halves_high},
    }


def _reliability(shown: Board, of: dict[str, float]) -> Reliability:
    by = shown.by
    # The difference of a sum over topics is the mean difference by topic times the number of topics.
    scale = of["separate_topics"] if by.aggregate == "sum" else 1.0
    low, high = parse(by.key).measure.range
    widest = scale * (high - low)
    planned, any_pair = scale * of["separate_planned"], scale * of["separate_any"]
    total = of["runs"] + of["topics"] + of["residual"]
    shares = (of["runs"] / total, of["topics"] / total, of["residual"] / total) if total > 0 else None
    return Reliability(
        runs=sum(row.rank is not None for row in shown.rows),
        topics=int(of["separate_topics"]),
        pairs=int(of["separate_pairs"]),
        measure=by.key,
        digits=by.digits,
        order=of["order"],
        absolute=of["absolute"],
        enough_topics=int(of["enough_topics"]) or None,
        shares=shares,
        sd=of["separate_sd"],
        planned=planned if planned <= widest else None,
        any=any_pair if any_pair <= widest else None,
        planned_topics=int(of["separate_planned_topics"]),
        any_topics=int(of["separate_any_topics"]),
        half_width=scale * of["separate_half_width"],
        halves=of["halves_median"],
        halves_low=of["halves_low"],
        halves_high=of["halves_high"],
    )


def result(session: Session, shown: Board, procedure: str) -> Arrays | WaitingResult | None:
    """The result of a procedure on the ranked runs, by id, for the ranking measure.

    None if the board does not compare its runs, or has fewer than two ranked runs or topics; WaitingResult if
    it needs a job. At most one statement, none if cached.
    """
    request = _request(shown, procedure)
    if request is None:
        return None
    if (arrays := requests.kept.get(request.digest)) is not None:
        return arrays
    if request.seconds > requests.AT_ONCE_S:
        return requests.find(session, request)
    scores = standings.better_scores(session, request, shown.by.sign)
    return requests.kept.put(request.digest, standings.compute(request, scores))


def _request(shown: Board, procedure: str) -> Request | None:
    ranked = sorted((row.run_id, row.ranking_sha256) for row in shown.rows if row.rank is not None)
    if shown.standing is None or shown.source is None:
        return None
    if len(ranked) < 2 or len(shown.source.topics) < 2:
        return None
    return Request(
        procedure=procedure,
        method="",
        source=shown.source,
        measure=shown.by.key,
        measure_version=shown.by.version,
        run_ids=tuple(run_id for run_id, _ in ranked),
        rankings=tuple(digest for _, digest in ranked),
    )


RANKS, FIRST = "rank_intervals", "first_places"
PEOPLE = Place.PAGE | Place.PRINT


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow(RunName):
    """A ranked run; values that are unknown or undefined are None."""

    rank: int
    value: float
    mean_low: float | None
    """The 95% t interval of its own mean."""
    mean_high: float | None
    rank_low: int | None
    """The range of ranks from all pairs: holds for all runs at once."""
    rank_high: int | None
    marginal_low: int | None
    """The interval for this run's rank alone, corrected for its comparisons with the others."""
    marginal_high: int | None
    all_low: int | None
    """The intervals for all ranks at once, corrected for all pairs."""
    all_high: int | None
    first: float | None
    """The share of resamples in which it comes first."""
    mean_rank: float | None
    resampled_low: int | None
    """Percentiles of its rank in resamples: no interval for the true rank."""
    resampled_high: int | None


FACTS = tuple(field.name for field in fields(IntervalRow) if field not in fields(RunName))


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalsPage(TaskHead):
    """The contents of the intervals page; waiting: results not computed yet."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Measures to choose from."""
    ranked_by: str
    one_per_team: bool
    rows: tuple[IntervalRow, ...]
    comparison: str
    """The test and correction of the rank ranges, as text."""
    first_resamples: int | None
    waiting: tuple[WaitingResult, ...]
    reliability: Reliability | WaitingResult | None
    why_empty: str
    """The reason why there is nothing to show; otherwise empty."""


def page(
    session: Session, viewer: Viewer, slug: str, measure: str | None = None, *, one_per_team: bool = False
) -> IntervalsPage:
    """The intervals of the ranked runs by a measure, by default the task's primary one.

    Raises NotFound for an unknown task and while topic scores are hidden, UnknownMeasure for a measure that
    is not on the board or has no direction.
    """
    shown = board.board(session, viewer, slug, measure, one_per_team=one_per_team)
    require_details(shown.access)
    results = {name: result(session, shown, name) for name in (RANKS, FIRST)}
    computed = {name: result for name, result in results.items() if isinstance(result, dict)}
    about = of_board(session, shown)
    candidates = (shown.standing, *results.values(), about)
    return IntervalsPage(
        **shown.head,
        measure=shown.by,
        measures=tuple(measure for measure in shown.measures if measure.direction != "none"),
        ranked_by=shown.ranked_by,
        one_per_team=one_per_team,
        rows=_rows(session, shown, computed),
        comparison=method(shown.of.comparison).title,
        first_resamples=_count(computed.get(FIRST)),
        waiting=tuple(result for result in candidates if isinstance(result, WaitingResult)),
        reliability=about,
        why_empty=_nothing(shown),
    )


def facts(page: IntervalsPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    basis = page.basis
    return {
        "task": page.slug,
        "revision": basis.revision if basis else None,
        "edition": basis.edition if basis else None,
        "dialect": basis.dialect if basis else None,
        "topics": basis.topics if basis else None,
        "measure": page.measure.key,
        "measure_version": page.measure.version,
        "one_per_team": page.one_per_team,
        "comparison": page.comparison,
        "confidence": 1 - ALPHA,
        "resamples": {FIRST: page.first_resamples},
        "waiting": [result.request.procedure for result in page.waiting],
        "reliability": reliability_facts(page.reliability),
        "said": page.why_empty,
        "rows": [
            {
                "run": row.name,
                "run_id": row.run_id,
                "team": row.team,
                **{name: getattr(row, name) for name in FACTS},
            }
            for row in page.rows
        ],
    }


def table(page: IntervalsPage) -> Table[IntervalRow]:
    """Table of interval ends as data, and of intervals as text for people."""
    digits = page.measure.digits
    columns: list[Column[IntervalRow]] = [
        Column("run", lambda row: row.name, shown=Place.DATA),
        Column("run_id", lambda row: row.run_id, shown=Place.DATA),
        Column("team", lambda row: row.team, shown=Place.DATA),
        *(Column(name, attrgetter(name), shown=Place.DATA) for name in FACTS),
        Column("rank", lambda row: row.rank, "Rank", digits=0, shown=PEOPLE),
        Column("run", lambda row: row.name, "Run", shown=PEOPLE),
        Column(
            "value",
            lambda row: row.value,
            page.measure.key,
            digits=digits,
            lower_is_better=page.measure.lower_is_better,
            shown=PEOPLE,
        ),
        _interval("mean", "Mean interval", "The t interval of this mean alone", digits),
        _interval("rank", "Rank range", f"From all pairs ({page.comparison}), for all runs at once"),
        _interval(
            "marginal",
            "Rank, this run",
            "From t-tests against every other run, Bonferroni-corrected, for this run alone",
        ),
        _interval(
            "all",
            "Rank, all runs",
            "From the t-tests of all pairs, Bonferroni-corrected, for all runs at once",
            shown=Place.PAGE,
        ),
        Column(
            "first",
            lambda row: row.first,
            "First",
            title="Share of topic resamples in which the run is first",
            words=lambda row: None if row.first is None else f"{row.first:.1%}",
            digits=1,
            shown=PEOPLE,
        ),
        _interval(
            "resampled",
            "Resampled ranks",
            "95% of its ranks in resamples; not a confidence interval for its true rank",
            shown=Place.PAGE,
        ),
    ]
    return Table(f"{page.slug}-intervals", _caption(page), columns, page.rows)


FILES = Files(facts=facts, tables={"intervals": table})


def _interval(
    name: str, head: str, title: str, digits: int = 0, shown: Place = PEOPLE
) -> Column[IntervalRow]:
    """A column of `name`_low to `name`_high, for people."""
    low, high = attrgetter(f"{name}_low"), attrgetter(f"{name}_high")

    def words(row: IntervalRow) -> str | None:
        between = " to " if digits else "–"
        text = None if low(row) is None else f"{low(row):.{digits}f}{between}{high(row):.{digits}f}"
        return text and text.replace("-", "−")

    return Column(name, low, head, title=title, words=words, digits=digits, shown=shown)


def _caption(page: IntervalsPage) -> str:
    basis = page.basis
    under = (
        f", under {rests_on(basis.revision, basis.topics, basis.dialect, basis.left_out)}" if basis else ""
    )
    return (
        f"{page.task}: runs by {page.ranked_by}{under}, with the 95% t interval of each mean, the rank range "
        f"from all pairs ({page.comparison}), the 95% interval of each rank alone and the share of "
        "resamples in which the run is first."
    )


def _rows(session: Session, shown: Board, computed: Mapping[str, Arrays]) -> tuple[IntervalRow, ...]:
    ranked = [row for row in shown.rows if row.rank is not None]
    own = _half_widths(session, shown, [row.run_id for row in ranked])
    index = {run_id: at for at, run_id in enumerate(sorted(row.run_id for row in ranked))}
    return tuple(
        _row(shown, row, own.get(row.run_id), _Results(computed, index[row.run_id])) for row in ranked
    )


@dataclass(frozen=True, slots=True)
class _Results:
    """The results of the finished procedures for one run."""

    known: Mapping[str, Arrays]
    at: int

    def number(self, procedure: str, name: str) -> float | None:
        return float(self.known[procedure][name].astype(float)[self.at]) if procedure in self.known else None

    def rank(self, procedure: str, name: str) -> int | None:
        number = self.number(procedure, name)
        return None if number is None else int(number)


def _row(shown: Board, row: Row, half: float | None, of: _Results) -> IntervalRow:
    value = row.scores[shown.sorted_by]
    assert value is not None, "ranked runs are scored"
    assert row.rank is not None, "only ranked runs have a row"
    place = shown.places.get(row.run_id)
    return IntervalRow(
        **row.named(),
        rank=row.rank,
        value=value,
        mean_low=None if half is None else value - half,
        mean_high=None if half is None else value + half,
        rank_low=place.rank_low if place else None,
        rank_high=place.rank_high if place else None,
        marginal_low=of.rank(RANKS, "low"),
        marginal_high=of.rank(RANKS, "high"),
        all_low=of.rank(RANKS, "all_low"),
        all_high=of.rank(RANKS, "all_high"),
        first=of.number(FIRST, "first"),
        mean_rank=of.number(FIRST, "mean_rank"),
        resampled_low=of.rank(FIRST, "low"),
        resampled_high=of.rank(FIRST, "high"),
    )


def _half_widths(session: Session, shown: Board, run_ids: list[int]) -> dict[int, float]:
    """Run id -> half width of the t interval of its value; without runs of constant score."""
    if shown.standing is None or shown.source is None or len(shown.source.topics) < 2:
        return {}
    topics = len(shown.source.topics)
    scale = topics if shown.by.aggregate == "sum" else 1
    scores = scores_of(session, shown.source, shown.by.key, shown.by.version, run_ids)
    return {
        run_id: scale * half_width(float(by_topic.std(ddof=1)), topics, confidence=1 - ALPHA)
        for run_id, by_topic in scores.items()
        if varies(float(by_topic.std(ddof=1)))
    }


def _count(arrays: Arrays | None) -> int | None:
    return None if arrays is None else int(arrays["resamples"])


def _nothing(shown: Board) -> str:
    """The reason why there are no intervals; otherwise empty."""
    ranked = sum(row.rank is not None for row in shown.rows)
    if shown.basis is None:
        return f"{shown.task} has no judgments yet, so there are no ranks."
    if ranked == 0:
        return "No official run is scored yet, so there are no ranks."
    if shown.standing is None:
        return " ".join(shown.sentences)
    if shown.basis.topics < 2:
        return "One topic says nothing about other topics: any run may have any rank."
    if ranked == 1:
        return "There is only one ranked run: its rank is 1, and only its mean has an interval."
    return ""
