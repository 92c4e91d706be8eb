"""An original baseline and advanced run compared with a reproduction of both, from files."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import Invalid
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.record import refusal
from leaderboard.stats.reproductions.levels import (
    Levels,
    RunLevels,
    Thresholds,
    largest_differences,
    replicated,
    reproduced,
)
from leaderboard.stats.reproductions.numbers import LevelRow, level_rows
from leaderboard.tables.record import Table, columns_from
from leaderboard.trec.comparisons import rankings_of
from leaderboard.trec.read import forms
from leaderboard.trec.read.lines import DEFAULT_LIMITS
from leaderboard.trec.read.scanning import scan_run
from leaderboard.trec.runs.fingerprints import RankingDigest
from leaderboard.trec.scores.report import RunScores
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer
from leaderboard.trec.suites import differing

FloatArray = NDArray[np.float64]
MOST_TOPICS = 5
"""Topics with the largest differences that are named for each run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of a comparison: measure, dialect and thresholds.

    replicated: the judgments of another collection on which the reproduction was made; None for the same.
    """

    measure: str
    level: int = 1
    dialect: int = 10
    replicated: Path | None = None
    thresholds: Thresholds = Thresholds()
    reading: forms.Asked = forms.USUAL
    """The reading of the judgments."""


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """A topic on which a run and its reproduction differ much."""

    topic: str
    original: float
    reproduced: float


@dataclass(frozen=True, slots=True)
class RunPair:
    """A run and its reproduction by name; topics that one of them has; what their headers say differently."""

    original: str
    reproduced: str
    only_original: tuple[str, ...]
    only_reproduced: tuple[str, ...]
    largest: tuple[TopicDifference, ...]
    metadata: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Reproduced:
    """Results: numbers by level, and notable points of the baseline and the advanced run."""

    measure: BoundMeasure
    topics: int
    other_topics: int
    levels: Levels
    baseline: RunPair
    advanced: RunPair
    notes: tuple[str, ...] = ()
    """Notes on the reading of the files."""


def compare_files(qrels: Path, original: Sequence[Path], other: Sequence[Path], asked: Asked) -> Reproduced:
    """Baseline and advanced run, in this order, compared with their reproductions.

    Raises Invalid for files that cannot be read, several measures, or one that is not a mean over topics.
    """
    options = Options((asked.measure,), asked.level, asked.dialect)
    scorer = Scorer(Inputs(qrels, asked=asked.reading), options)
    there = scorer
    if asked.replicated is not None:
        there = Scorer(Inputs(asked.replicated, asked=asked.reading), options)
    measure = _measure(scorer)
    both = [_pair(scorer, there, path, two, asked) for path, two in zip(original, other, strict=True)]
    (baseline, base), (advanced, new) = both
    return Reproduced(
        measure=measure,
        topics=len(scorer.topics),
        other_topics=len(there.topics),
        levels=Levels(baseline, advanced, asked.thresholds),
        baseline=base,
        advanced=new,
        notes=tuple(dict.fromkeys((*scorer.notes, *there.notes))),
    )


def level_table(of: Reproduced) -> Table[LevelRow]:
    """One row per number, by level."""
    return Table(
        "reproduction",
        f"{of.measure.key}: {of.baseline.original}, {of.advanced.original}, and their reproductions.",
        columns_from(LevelRow),
        level_rows(of.levels),
    )


def as_facts(of: Reproduced, asked: Asked) -> dict[str, Any]:
    """All of it as plain values at full precision."""
    levels = of.levels
    return {
        "measure": of.measure.key,
        "measure_version": of.measure.measure.version,
        "dialect": f"trec_eval {asked.dialect}",
        "topics": of.topics,
        **({"other_topics": of.other_topics} if asked.replicated else {}),
        "thresholds": asdict(asked.thresholds),
        "words": {
            "documents": levels.documents_word,
            "topics": levels.topics_word,
            "effects": levels.effects_word,
            "test": levels.test_word,
        },
        "levels": level_table(of).facts(),
        "baseline": asdict(of.baseline),
        "advanced": asdict(of.advanced),
    }


def _measure(scorer: Scorer) -> BoundMeasure:
    if len(scorer.measures) != 1:
        keys = ", ".join(measure.key for measure in scorer.measures)
        raise Invalid(f"--measure has {len(scorer.measures)} measures: {keys}. Name one.")
    (measure,) = scorer.measures
    if reason := refusal(measure.measure):
        raise Invalid(reason)
    return measure


def _pair(
    here: Scorer, there: Scorer, original_path: Path, other_path: Path, asked: Asked
) -> tuple[RunLevels, RunPair]:
    original, other = here.scores(original_path), there.scores(other_path)
    scores = _column(original), _column(other)
    metadata = tuple(differing(*(_metadata(path) for path in (original_path, other_path))))
    if asked.replicated is not None:
        return replicated(*scores), RunPair(original.run, other.run, (), (), (), metadata)
    rankings = [rankings_of(path, asked.dialect) for path in (original_path, other_path)]
    topics = sorted({*rankings[0], *rankings[1]})
    levels = reproduced(*scores, *([by.get(topic, []) for topic in topics] for by in rankings))
    largest = (
        TopicDifference(here.topics[at], float(scores[0][at]), float(scores[1][at]))
        for at in largest_differences(scores[0], scores[1], MOST_TOPICS).tolist()
    )
    alone = [tuple(sorted(rankings[side].keys() - rankings[1 - side].keys())) for side in (0, 1)]
    return levels, RunPair(original.run, other.run, alone[0], alone[1], tuple(largest), metadata)


def _column(report: RunScores) -> FloatArray:
    (column,) = report.scores.values()
    scores = np.asarray(column, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise Invalid("The measure is undefined on some topic, so runs cannot be compared by it.")
    return scores


def _metadata(path: Path) -> dict[str, Any]:
    return scan_run(path, RankingDigest, strict=False, limits=DEFAULT_LIMITS).metadata
