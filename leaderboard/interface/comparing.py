"""Runs compared in Python, by the tests of `leaderboard compare`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from leaderboard.errors import Invalid
from leaderboard.interface.evaluating import Measures, OneRun, name_of, names_of, several_of
from leaderboard.interface.inputs import QrelsInput, RunInput, qrels_from, run_from
from leaderboard.measures.binding import BoundMeasure
from leaderboard.stats.pairs.methods import method
from leaderboard.trec.comparisons import ScoredFiles, as_facts, compare_all, compare_two, score_files
from leaderboard.trec.scores.scoring import Inputs, Options, Ranked


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first run less the second by one measure, on every judged topic.

    interval: 95 %, of the mean difference; None where the differences never vary. effect_size: d_z. tests:
    test -> p, None where it is undefined. topics_needed: how many topics would separate the runs; None
    where they are separated, or more topics would not help. rankings: how alike the rankings are.
    """

    run_a: str
    run_b: str
    measure: str
    topics: int
    mean_a: float
    mean_b: float
    difference: float
    interval: tuple[float, float] | None
    topics_needed: int | None
    wins: int
    ties: int
    losses: int
    effect_size: float | None
    tests: dict[str, float | None]
    rankings: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All pairs of several runs by one measure, under one test and correction, best run first.

    runs: a dictionary each, with run, mean and, where they apply, letters, or the verdict against the
    baseline. pairs: one each, with a, b, difference, interval, p, adjusted_p, better and topics_needed.
    """

    measure: str
    topics: int
    method: str
    alpha: float
    baseline: str | None
    runs: list[dict[str, Any]]
    pairs: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def compare(
    qrels: QrelsInput,
    first: RunInput,
    second: RunInput,
    measure: Measures = "AP",
    *,
    level: int = 1,
    dialect: int = 10,
) -> Comparison:
    """The first run compared with the second by every test, and how alike their rankings are.

    All inputs are as `evaluate` takes them. A topic that a run misses counts as an empty ranking. The same
    rankings and judgments always give the same p. Raises Invalid for a measure that compares no runs.
    """
    runs = [run_from(run, name_of(run, number)) for number, run in enumerate((first, second), 1)]
    scored, bound = _scored(qrels, runs, measure, level, dialect)
    facts = compare_two(scored, bound)
    low, high = facts.pop("interval")
    facts["interval"] = None if low is None or high is None else (low, high)
    return Comparison(run_a=scored.names[0], run_b=scored.names[1], **facts)


def compare_runs(
    qrels: QrelsInput,
    runs: Sequence[OneRun] | Mapping[str, OneRun],
    measure: Measures = "AP",
    *,
    test: str = "t",
    correction: str = "holm",
    baseline: str | None = None,
    level: int = 1,
    dialect: int = 10,
) -> Comparisons:
    """All pairs of the runs by one test, corrected for their number; baseline: the run all are compared with.

    test: t, wilcoxon, sign, randomisation or bootstrap. correction: holm, bonferroni, bh, none, or tukey and
    randomised_tukey, which are tests of their own. Otherwise as `compare`.
    """
    several = several_of(runs)
    if several is None or len(several) < 2:
        raise Invalid("A comparison takes at least two runs: give a list of them, or a dictionary by name.")
    scored, bound = _scored(qrels, several, measure, level, dialect)
    if baseline is not None and baseline not in scored.names:
        raise Invalid(f"{baseline} is not one of the runs: {', '.join(scored.names)}.")
    place = None if baseline is None else scored.names.index(baseline)
    compared = compare_all(scored, bound, method((test, correction)), place, lambda _: None)
    facts = as_facts(compared, dialect)
    kept = ("measure", "topics", "method", "alpha", "baseline", "runs", "pairs")
    return Comparisons(**{name: facts[name] for name in kept})


def _scored(
    qrels: QrelsInput, runs: Sequence[Ranked], measure: Measures, level: int, dialect: int
) -> tuple[ScoredFiles, BoundMeasure]:
    scored = score_files(Inputs(qrels_from(qrels)), runs, Options(names_of(measure), level, dialect))
    if len(scored.scores) > 1:
        keys = ", ".join(bound.key for bound in scored.scores)
        raise Invalid(f"These are {len(scored.scores)} measures: {keys}. Name one.")
    (bound,) = scored.scores
    return scored, bound
