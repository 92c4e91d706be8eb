"""Runs compared with each other against judgments, without a site."""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from leaderboard.errors import Invalid
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.record import refusal
from leaderboard.stats.orders.two_rankings import compare_rankings
from leaderboard.stats.pairs.baseline import AgainstBaseline, against_baseline
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import Method, PairTable, all_pairs, in_order
from leaderboard.stats.pairs.paired_t import paired_t
from leaderboard.stats.seeds import seed
from leaderboard.stats.standing import MOST_RUNS as MOST_LETTERED
from leaderboard.stats.standing import (
    SignArray,
    compare_scores,
    decided,
    letters,
    topics_against,
    topics_of_undecided,
    two_runs_facts,
    verdicts,
)
from leaderboard.tables.record import finite
from leaderboard.trec.read.kernel import Block, Consumer
from leaderboard.trec.read.lines import DEFAULT_LIMITS
from leaderboard.trec.read.scanning import scan_run
from leaderboard.trec.runs.fingerprints import RankingDigest
from leaderboard.trec.scores.in_memory import HeldQrels, HeldRun
from leaderboard.trec.scores.scoring import Inputs, Judging, Options, Ranked, Scorer

Progress = Callable[[float], None]
C = TypeVar("C", bound=Consumer)


@dataclass(frozen=True, eq=False, slots=True)
class ScoredFiles:
    """Runs in the order given: where from, their names, their rankings' digests, their scores by measure."""

    runs: tuple[Ranked, ...]
    names: tuple[str, ...]
    digests: tuple[str, ...]
    qrels_sha256: str
    dialect: int
    topics: tuple[str, ...]
    scores: dict[BoundMeasure, FloatArray]
    """(runs, topics) a measure, as it prints them."""
    notes: tuple[str, ...] = ()
    """Notes on how the files were read."""

    def seed(self, measure: BoundMeasure, of: str) -> int:
        """Always the same for the same rankings, judgments, measure and kind of comparison."""
        version = f"{measure.key} {measure.measure.version}"
        return seed(*self.digests, self.qrels_sha256, version, f"trec_eval {self.dialect}", of)


@dataclass(frozen=True, eq=False, slots=True)
class ComparedFiles:
    """All pairs of the runs by one measure, best run first."""

    names: tuple[str, ...]
    measure: BoundMeasure
    means: FloatArray
    """(runs,), as the measure prints them."""
    table: PairTable
    """Higher is better."""
    against: AgainstBaseline | None
    signs: SignArray
    """Of each pair, (pairs,): 1 where the first is better, -1 where it is worse, 0 where undecided."""
    letters: tuple[str, ...]
    """Empty for more than 15 runs, or where no pair could have differed significantly."""
    effects: FloatArray
    """Cohen's d_z of each pair, (pairs,), positive where the first is better."""
    topics: int
    needed: tuple[int | None, ...]
    """Topics that would decide each undecided pair, (pairs,); None: decided, or more would not help."""
    against_needed: tuple[int | None, ...]
    """The same of each run against the baseline; empty without one."""

    @property
    def sign(self) -> int:
        """-1 where lower is better, else 1."""
        return sign_of(self.measure)


def score_files(inputs: Inputs, runs: Sequence[Ranked], options: Options) -> ScoredFiles:
    """The runs scored on every judged topic; a topic that a run misses has the score of an empty ranking.

    Raises Invalid for a file that cannot be read, a measure that runs cannot be compared by, or a run
    that is given twice.
    """
    scorer = Scorer(inputs, options)
    reports = list(scorer.all(runs))
    names = tuple(report.run for report in reports)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Invalid(f"{twice} is listed twice. List each run once.")
    topics = reports[0].topics
    scores = {}
    for measure in reports[0].scores:
        if reason := refusal(measure.measure):
            raise Invalid(reason)
        scores[measure] = np.array([report.scores[measure] for report in reports], dtype=np.float64)
        if not np.isfinite(scores[measure]).all():
            raise Invalid(f"{measure.key} is undefined on some topic, so runs cannot be compared by it.")
    return ScoredFiles(
        runs=tuple(runs),
        names=names,
        digests=tuple(_digest(run, options.dialect) for run in runs),
        qrels_sha256=_sha256(inputs.qrels),
        dialect=options.dialect,
        topics=topics,
        scores=scores,
        notes=tuple(scorer.notes),
    )


def compare_two(files: ScoredFiles, measure: BoundMeasure) -> dict[str, Any]:
    """The first run less the second by all tests, and how alike their rankings are, as plain values."""
    first, second = files.scores[measure]
    scores = compare_scores(
        first, second, seed=files.seed(measure, "two runs"), lower_is_better=sign_of(measure) < 0
    )
    first_rankings, second_rankings = (rankings_of(run, files.dialect) for run in files.runs)
    topics = sorted({*first_rankings, *second_rankings})
    rankings = compare_rankings(
        [first_rankings.get(topic, []) for topic in topics],
        [second_rankings.get(topic, []) for topic in topics],
    )
    return two_runs_facts(scores, rankings, measure.key)


def compare_all(
    files: ScoredFiles, measure: BoundMeasure, by: Method, baseline: int | None, progress: Progress
) -> ComparedFiles:
    """All pairs of the runs by one measure; baseline is the place of a run in the files.

    progress receives the share done.
    """
    better = sign_of(measure) * files.scores[measure]
    means = better.mean(axis=1)
    order = sorted(range(len(files.names)), key=lambda place: (-means[place], files.names[place]))
    table = all_pairs(better, by, seed=files.seed(measure, by.key), progress=progress)
    table = in_order(table, order)
    against = None
    if baseline is not None:
        against = against_baseline(table, better[order], order.index(baseline))
    signs = decided(table)
    lettered = table.runs <= MOST_LETTERED and table.reachable
    return ComparedFiles(
        names=tuple(files.names[place] for place in order),
        measure=measure,
        means=files.scores[measure].mean(axis=1)[order],
        table=table,
        against=against,
        signs=signs[pairs(table.runs)],
        letters=letters(signs == 0) if lettered else (),
        effects=paired_t(better[order]).t / np.sqrt(len(files.topics)),
        topics=len(files.topics),
        needed=topics_of_undecided(table, verdicts(table), len(files.topics), signs),
        against_needed=topics_against(table, against, len(files.topics)) if against else (),
    )


def as_facts(compared: ComparedFiles, dialect: int) -> dict[str, Any]:
    """The comparison of many runs as plain values at full precision."""
    table, against = compared.table, compared.against
    both = zip(*(places.tolist() for places in pairs(table.runs)), strict=True)
    return {
        "measure": compared.measure.key,
        "measure_version": compared.measure.measure.version,
        "dialect": f"trec_eval {dialect}",
        "topics": compared.topics,
        "method": table.method.key,
        "alpha": LEVEL,
        "resamples": table.resamples,
        "reachable": table.reachable,
        "baseline": compared.names[against.baseline] if against else None,
        "runs": [_run_facts(compared, place) for place in range(table.runs)],
        "pairs": [_pair_facts(compared, at, *places) for at, places in enumerate(both)],
    }


def _pair_facts(compared: ComparedFiles, at: int, first: int, second: int) -> dict[str, Any]:
    table, sign = compared.table, compared.sign
    ends = (table.low[at], table.high[at]) if sign > 0 else (-table.high[at], -table.low[at])
    names = compared.names[first], compared.names[second]
    return {
        "a": names[0],
        "b": names[1],
        "difference": sign * float(table.difference[at]) + 0.0,
        "interval": [None, None] if ends[0] == ends[1] else [finite(end) for end in ends],
        "effect_size": finite(compared.effects[at]) if compared.topics > 1 else None,
        "p": float(table.p[at]),
        "adjusted_p": float(table.adjusted[at]),
        "topics_needed": compared.needed[at],
        "better": {1: names[0], -1: names[1]}.get(int(compared.signs[at])),
    }


def _run_facts(compared: ComparedFiles, place: int) -> dict[str, Any]:
    row: dict[str, Any] = {"run": compared.names[place], "mean": float(compared.means[place])}
    if compared.letters:
        row["letters"] = compared.letters[place]
    if compared.against is not None and place != compared.against.baseline:
        verdict = int(compared.against.verdicts[place])
        row["adjusted_p"] = float(compared.against.adjusted[place])
        row["than_baseline"] = {1: "better", -1: "worse", 0: "undecided"}[verdict]
        row["topics_needed"] = compared.against_needed[place]
    return row


def sign_of(measure: BoundMeasure) -> int:
    """-1 where lower is better, else 1."""
    return -1 if measure.measure.direction == "lower" else 1


def _sha256(qrels: Judging) -> str:
    """A digest of the file, or of topics, docnos and grades."""
    if isinstance(qrels, HeldQrels):
        judgments, documents = qrels.compiled.judgments, qrels.compiled.documents
        whole = hashlib.sha256("\n".join(judgments.topics).encode("utf-8", "surrogateescape"))
        for part in (judgments.starts, judgments.grades, documents.length):
            whole.update(part.astype("<i8").tobytes())
        whole.update(documents.letters)
        return whole.hexdigest()
    with qrels.open("rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _taken(run: Ranked, start: Callable[[], C], dialect: int) -> C:
    """The consumer, after it took every block of a run."""
    if isinstance(run, HeldRun):
        return run.given_to(start())
    return scan_run(run, start, strict=False, limits=DEFAULT_LIMITS, dialect=dialect).consumer


def _digest(run: Ranked, dialect: int) -> str:
    return _taken(run, RankingDigest, dialect).hexdigest()


def rankings_of(run: Ranked, dialect: int, topics: Collection[str] | None = None) -> dict[str, list[bytes]]:
    """Topic -> docnos, best first, of a run; of the given topics only, if any are given."""
    return _taken(run, lambda: _Rankings(dialect, topics), dialect).rankings


class _Rankings:
    """Keeps the docnos of topics in the order they are scored in."""

    def __init__(self, dialect: int, topics: Collection[str] | None) -> None:
        self.rankings: dict[str, list[bytes]] = {}
        self._dialect, self._topics = dialect, topics

    def add(self, block: Block) -> None:
        """Take a block."""
        starts, best = block.columns.group_start.tolist(), block.best(self._dialect).tolist()
        for topic, start, end in zip(block.topics, starts[:-1], starts[1:], strict=True):
            name = topic.decode("utf-8", "surrogateescape")
            if self._topics is None or name in self._topics:
                self.rankings[name] = [block.docno(entry) for entry in best[start:end]]
