"""A run by every measure there is that its judgments suffice for, not only those of its board."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import with_level
from leaderboard.measures.judged import Judged
from leaderboard.measures.record import Need
from leaderboard.measures.selection import select
from leaderboard.pages.runs.head import RunHead, ScoredRun, caption, head_facts
from leaderboard.pages.runs.scores import explained
from leaderboard.services.evaluations.alignments import alignment
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.digests import ranking_key, run_digest
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests
from leaderboard.tables.record import Column, Files, Place, Table

EVERY_MEASURE = 1
"""Version of what is kept of all measures of a run; a new one makes the old unused."""


@dataclass(frozen=True, slots=True)
class LooseValue:
    """A run's value by a measure that its board need not have; None where a run has no one number."""

    column: MeasureColumn
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuresPage(RunHead):
    """A run by all measures there are."""

    every: tuple[LooseValue, ...]


def measures_page(session: Session, scored: ScoredRun) -> MeasuresPage:
    """The run by every measure there is that its judgments suffice for, as `-m all` selects them.

    Computed from the stored hits, and kept.
    """
    run, source = scored.run, scored.source
    judged = alignment(session, source, run.id)
    ranking = ranking_key(source, run.id, run.ranking_sha256, run.order_differs)
    every = _every_measure(source, judged, scored.seen.task.level, ranking)
    return MeasuresPage(**scored.seen.head(by_topic=True), every=every)


def facts(page: MeasuresPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {**head_facts(page), "all_measures": measure_facts(page)}


def measure_facts(page: MeasuresPage) -> dict[str, float | None]:
    """Measure -> the run's value."""
    return {row.column.key: row.value for row in page.every}


def table(page: MeasuresPage) -> Table[LooseValue]:
    """The run by every measure there is."""
    return Table(
        f"{page.name}-all",
        caption(page, "All measures"),
        [
            Column("measure", lambda row: row.column.key, "Measure"),
            Column("score", lambda row: row.value, page.name, words=_shown, digits=4),
            Column("version", lambda row: row.column.version, shown=~Place.PAGE),
            Column(
                "better", lambda row: row.column.direction.replace("none", "–"), "Better", shown=Place.PAGE
            ),
            Column("title", lambda row: explained(row.column), "What it is", shown=Place.PAGE),
        ],
        page.every,
    )


FILES = Files(facts=facts, tables={"all": table})


def _shown(row: LooseValue) -> str | None:
    return None if row.value is None else f"{row.value:.{row.column.digits}f}"


def _every_measure(source: Source, judged: Judged, level: int, ranking: str) -> tuple[LooseValue, ...]:
    """judged: the run as the source's judgments see it; ranking: the key of its rankings."""
    measures = _computable(source, judged, level)
    named = [(bound.key, bound.measure.version) for bound in measures]
    size = judged.judgments.collection_size
    # The digest holds all that the values depend on, so what is kept under it never goes out of date.
    digest = run_digest("every measure", EVERY_MEASURE, source, ranking, named, size)
    kept = requests.kept.get(digest)
    if kept is None:
        values = np.array([_aggregate(bound, judged, source) for bound in measures])
        kept = requests.kept.put(digest, {"values": values})
    return tuple(
        LooseValue(column(bound), value if np.isfinite(value) else None)
        for bound, value in zip(measures, kept["values"].tolist(), strict=True)
    )


def _computable(source: Source, judged: Judged, level: int) -> list[BoundMeasure]:
    available: list[Need] = ["collection size"] if judged.judgments.collection_size is not None else []
    highest = max(1, int(judged.judgments.grades.max(initial=1)))
    chosen = select(["all"], source.dialect, available, highest)
    return list(dict.fromkeys(with_level(bound, level) for bound in chosen if not bound.measure.text))


def _aggregate(bound: BoundMeasure, judged: Judged, source: Source) -> float:
    """The one number over the source's topics, nan where there is none."""
    if bound.measure.aggregate == "none" or not source.places:
        return float("nan")
    places = np.array(source.places)
    parts = bound.parts(judged)
    return bound.aggregate(bound.compute(judged)[places], None if parts is None else parts[:, places])
