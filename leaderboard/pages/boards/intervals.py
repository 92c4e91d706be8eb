"""How sure each run's mean and rank are: four intervals side by side, each with what it covers."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.pages.boards import reliability
from leaderboard.pages.boards.reliability import Reliability
from leaderboard.pages.scores.table import require_details
from leaderboard.services.boards import board
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import rests_on, scores_of
from leaderboard.services.policy import Viewer
from leaderboard.services.runs.names import RunName
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.services.statistics.standings import ALPHA, varies
from leaderboard.services.tasks.head import TaskHead
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.pairs.methods import method
from leaderboard.stats.reliability.power import half_width
from leaderboard.tables.record import Column, Files, Place, Table

RANKS, FIRST = "rank_intervals", "first_places"
PEOPLE = Place.PAGE | Place.PRINT


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow(RunName):
    """A ranked run; what is not known yet, or cannot be, is None."""

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
    """What the page of intervals shows; waiting are the results that are not there yet."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Those that can be asked for."""
    ranked_by: str
    one_per_team: bool
    rows: tuple[IntervalRow, ...]
    comparison: str
    """The test and correction of the rank ranges, in words."""
    first_resamples: int | None
    waiting: tuple[WaitingResult, ...]
    reliability: Reliability | WaitingResult | None
    said: str
    """Why there is nothing to show; empty where there is."""


def page(
    session: Session, viewer: Viewer, slug: str, measure: str | None = None, *, one_per_team: bool = False
) -> IntervalsPage:
    """The intervals of the ranked runs by a measure, the task's primary one unless said otherwise.

    Raises NotFound for an unknown task and while scores by topic are held back, UnknownMeasure for a
    measure that is not on the board or has no better and worse.
    """
    shown = board.board(session, viewer, slug, measure, one_per_team=one_per_team)
    require_details(shown.sight)
    results = {name: reliability.result(session, shown, name) for name in (RANKS, FIRST)}
    known = {name: result for name, result in results.items() if isinstance(result, dict)}
    about = reliability.of_board(session, shown)
    candidates = (shown.standing, *results.values(), about)
    return IntervalsPage(
        **shown.head,
        measure=shown.by,
        measures=tuple(measure for measure in shown.measures if measure.direction != "none"),
        ranked_by=shown.ranked_by,
        one_per_team=one_per_team,
        rows=_rows(session, shown, known),
        comparison=method(shown.of.comparison).title,
        first_resamples=_count(known.get(FIRST)),
        waiting=tuple(result for result in candidates if isinstance(result, WaitingResult)),
        reliability=about,
        said=_nothing(shown),
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
        "reliability": reliability.facts(page.reliability),
        "said": page.said,
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
    """The ends of all intervals as data, the intervals in words for people."""
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
        _interval("mean", "Its interval", "The t interval of its own", digits),
        _interval("rank", "Rank range", f"From all pairs, {page.comparison}: for all runs at once"),
        _interval(
            "marginal",
            "Rank, this run",
            "From its t tests against every other run, Bonferroni: for this run alone",
        ),
        _interval(
            "all",
            "Rank, all runs",
            "From the t tests of all pairs, Bonferroni: for all at once",
            shown=Place.PAGE,
        ),
        Column(
            "first",
            lambda row: row.first,
            "First",
            title="In how many resamples of the topics it comes first",
            words=lambda row: None if row.first is None else f"{row.first:.1%}",
            digits=1,
            shown=PEOPLE,
        ),
        _interval(
            "resampled",
            "Resampled ranks",
            "95% of its ranks in resamples; no interval for its true rank",
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
        to = " to " if digits else "–"
        return None if low(row) is None else f"{low(row):.{digits}f}{to}{high(row):.{digits}f}"

    return Column(name, low, head, title=title, words=words, digits=digits, shown=shown)


def _caption(page: IntervalsPage) -> str:
    basis = page.basis
    under = (
        f", under {rests_on(basis.revision, basis.topics, basis.dialect, basis.left_out)}" if basis else ""
    )
    return (
        f"{page.task}: runs by {page.ranked_by}{under}, with the 95% t interval of each mean, the range of "
        f"ranks from all pairs ({page.comparison}), the 95% interval of each rank alone and the share of "
        "resamples in which the run comes first."
    )


def _rows(session: Session, shown: Board, known: Mapping[str, Arrays]) -> tuple[IntervalRow, ...]:
    ranked = [row for row in shown.rows if row.rank is not None]
    own = _half_widths(session, shown, [row.run_id for row in ranked])
    index = {run_id: at for at, run_id in enumerate(sorted(row.run_id for row in ranked))}
    return tuple(_row(shown, row, own.get(row.run_id), _Results(known, index[row.run_id])) for row in ranked)


@dataclass(frozen=True, slots=True)
class _Results:
    """What the procedures that are known say of one run."""

    known: Mapping[str, Arrays]
    at: int

    def number(self, procedure: str, name: str) -> float | None:
        return float(self.known[procedure][name].astype(float)[self.at]) if procedure in self.known else None

    def rank(self, procedure: str, name: str) -> int | None:
        found = self.number(procedure, name)
        return None if found is None else int(found)


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
    """Run id -> half of the t interval of its own value; without runs whose score never varies."""
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


def _count(found: Arrays | None) -> int | None:
    return None if found is None else int(found["resamples"])


def _nothing(shown: Board) -> str:
    """Why intervals cannot be told; empty where they can."""
    ranked = sum(row.rank is not None for row in shown.rows)
    if shown.basis is None:
        return f"{shown.task} has no judgments yet, so there are no ranks."
    if ranked == 0:
        return "No official run is scored yet, so there are no ranks."
    if shown.standing is None:
        return " ".join(shown.sentences)
    if shown.basis.topics < 2:
        return "With one topic nothing can be said of other topics: every run may have any rank."
    if ranked == 1:
        return "It is the only ranked run: its rank is 1, and only its mean has an interval."
    return ""
