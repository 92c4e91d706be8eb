"""How sure each run's mean and rank are: four intervals side by side, each with what it covers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.pages.boards import procedures, reliability
from leaderboard.pages.boards.reliability import Reliability
from leaderboard.pages.scores.table import require_details
from leaderboard.services.boards import board
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import Basis, scores_of
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.requests import Waiting
from leaderboard.services.statistics.standings import ALPHA
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.pairs.methods import method
from leaderboard.stats.reliability.power import half_width

RANKS, FIRST = "rank_intervals", "first_places"
FACTS = (
    *("rank", "value", "mean_low", "mean_high", "rank_low", "rank_high"),
    *("marginal_low", "marginal_high", "all_low", "all_high"),
    *("first", "mean_rank", "resampled_low", "resampled_high"),
)


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A ranked run; what is not known yet, or cannot be, is None."""

    run_id: int
    run: str
    team: str
    rank: int
    value: float
    mean_low: float | None
    """The 95% t interval of its own mean."""
    mean_high: float | None
    rank_low: int | None
    """The range of ranks from all pairs: holds for all runs at once."""
    rank_high: int | None
    marginal_low: int | None
    """Mogstad's interval for this run's rank alone."""
    marginal_high: int | None
    all_low: int | None
    """Mogstad's intervals for all ranks at once."""
    all_high: int | None
    first: float | None
    """The share of resamples in which it comes first."""
    mean_rank: float | None
    resampled_low: int | None
    """Percentiles of its rank in resamples: no interval for the true rank."""
    resampled_high: int | None


@dataclass(frozen=True, slots=True)
class IntervalsPage:
    """What the page of intervals shows; waiting are the results that are not there yet."""

    task: str
    slug: str
    basis: Basis | None
    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Those that can be asked for."""
    ranked_by: str
    one_per_team: bool
    rows: tuple[IntervalRow, ...]
    comparison: str
    """The test and correction of the rank ranges, in words."""
    rank_resamples: int | None
    first_resamples: int | None
    waiting: tuple[Waiting, ...]
    reliability: Reliability | Waiting | None
    said: str
    """Why there is nothing to show; empty where there is."""
    sight: Sight


def page(
    session: Session, viewer: Viewer, slug: str, measure: str | None = None, *, one_per_team: bool = False
) -> IntervalsPage:
    """The intervals of the ranked runs by a measure, the task's primary one unless said otherwise.

    Raises NotFound for an unknown task and while scores by topic are held back, UnknownMeasure for a
    measure that is not on the board or has no better and worse.
    """
    shown = board.board(session, viewer, slug, measure, one_per_team=one_per_team)
    require_details(shown.sight)
    results = {name: procedures.result(session, shown, name) for name in (RANKS, FIRST)}
    known = {name: each for name, each in results.items() if isinstance(each, dict)}
    about = reliability.of_board(session, shown)
    candidates = (shown.standing, *results.values(), about)
    return IntervalsPage(
        task=shown.task,
        slug=shown.slug,
        basis=shown.basis,
        measure=procedures.sorted_by(shown),
        measures=tuple(each for each in shown.measures if each.direction != "none"),
        ranked_by=shown.ranked_by,
        one_per_team=one_per_team,
        rows=_rows(session, shown, known),
        comparison=method(shown.comparison).title,
        rank_resamples=_count(known.get(RANKS)),
        first_resamples=_count(known.get(FIRST)),
        waiting=tuple(each for each in candidates if isinstance(each, Waiting)),
        reliability=about,
        said=_nothing(shown),
        sight=shown.sight,
    )


def ask(session: Session, wanted: IntervalsPage) -> None:
    """Have everything computed that the page waits for."""
    for each in wanted.waiting:
        requests.ask(session, each.request)


def as_json(found: IntervalsPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    basis = found.basis
    return {
        "task": found.slug,
        "revision": basis.revision if basis else None,
        "edition": basis.edition if basis else None,
        "dialect": basis.dialect if basis else None,
        "topics": basis.topics if basis else None,
        "measure": found.measure.key,
        "measure_version": found.measure.version,
        "one_per_team": found.one_per_team,
        "comparison": found.comparison,
        "confidence": 1 - ALPHA,
        "resamples": {RANKS: found.rank_resamples, FIRST: found.first_resamples},
        "waiting": [each.request.procedure for each in found.waiting],
        "reliability": reliability.facts(found.reliability),
        "said": found.said,
        "rows": [
            {"run": row.run, "run_id": row.run_id, "team": row.team, **_facts(row)} for row in found.rows
        ],
    }


def table(found: IntervalsPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows, for CSV."""
    return ["run", "team", *FACTS], [[row.run, row.team, *_facts(row).values()] for row in found.rows]


def _facts(row: IntervalRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FACTS}


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
        run_id=row.run_id,
        run=row.run,
        team=row.team,
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
    """Run id -> half of the t interval of its own value; empty where scores by topic say nothing of it."""
    if shown.standing is None or shown.source is None or len(shown.source.topics) < 2:
        return {}
    by = procedures.sorted_by(shown)
    topics = len(shown.source.topics)
    scale = topics if by.aggregate == "sum" else 1
    scores = scores_of(session, shown.source, by.key, by.version, run_ids)
    return {
        run_id: scale * half_width(float(each.std(ddof=1)), topics, confidence=1 - ALPHA)
        for run_id, each in scores.items()
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
