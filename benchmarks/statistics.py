"""Times the statistics of a board on made-up scores: `python -m benchmarks.statistics --help`.

CPU time counts every thread, also one that only waits for linear algebra of the other: set
OPENBLAS_NUM_THREADS=1 to see what the work itself takes.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks import measuring, table
from leaderboard.stats.orders.rbo_all_pairs import rbo_of_all_pairs
from leaderboard.stats.pairs.bootstrap import bootstrap_intervals
from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.reliability import reliability, split_half
from leaderboard.stats.standing import first_places, rank_intervals, verdicts
from leaderboard.stats.suites import MemberScores
from leaderboard.stats.suites import board as suite_board

BOARD, LARGE = (129, 50), (100, 6980)
SUITE = (100, 50)
MEMBERS = 18
DEPTH = 100
SEED = 1


@dataclass(frozen=True)
class Procedure:
    """A timed procedure and its target in seconds on two cores; 0 without a target."""

    name: str
    run: Callable[[], object]
    target: float = 0.0


def made_up(runs: int, topics: int) -> NDArray[np.float64]:
    """Scores from 0 to 1: topics differ most, runs a little."""
    random = np.random.default_rng(SEED)
    topic, run = random.beta(1, 3, topics), random.normal(0, 0.05, (runs, 1))
    return np.clip(topic + run + random.normal(0, 0.12, (runs, topics)), 0, 1)


def rankings(runs: int, topics: int) -> list[NDArray[np.int64]]:
    """Documents of every run, topic by topic, of which two runs share about half; ten topics, repeated."""
    random = np.random.default_rng(SEED)
    kinds = [
        np.argsort(random.random((runs, 2 * DEPTH)) + np.linspace(0, 1, 2 * DEPTH))[:, :DEPTH]
        for _ in range(10)
    ]
    return [kinds[topic % 10] for topic in range(topics)]


def of_pairs(scores: NDArray[np.float64], key: str, resamples: int | None = None) -> Callable[[], object]:
    """All pairs by a method."""
    return lambda: all_pairs(scores, method(key), seed=SEED, resamples=resamples)


def board() -> Iterator[Procedure]:
    """A board of 129 runs and 50 topics."""
    scores, documents = made_up(*BOARD), rankings(*BOARD)
    yield Procedure("paired t, Holm", of_pairs(scores, "t+holm"), 0.02)
    yield Procedure("Wilcoxon, Holm", of_pairs(scores, "wilcoxon+holm"))
    yield Procedure("sign, Holm", of_pairs(scores, "sign+holm"))
    yield Procedure("Fisher, 100,000 flips", of_pairs(scores, "randomisation+bh"), 2)
    yield Procedure("bootstrap test, 100,000", of_pairs(scores, "bootstrap+bh"))
    yield Procedure("bootstrap intervals, 10,000", lambda: bootstrap_intervals(scores, seed=SEED))
    yield Procedure("Tukey HSD", of_pairs(scores, "tukey"))
    yield Procedure("randomised HSD, 100,000", of_pairs(scores, "randomised_tukey"), 1.5)
    compared = all_pairs(scores, method("t+holm"), seed=SEED)
    yield Procedure("verdicts of pairs that are compared", lambda: verdicts(compared))
    yield Procedure("bootstrap ranks, 10,000", lambda: first_places(scores, seed=SEED), 0.3)
    yield Procedure("rank intervals", lambda: rank_intervals(scores))
    yield Procedure("reliability", lambda: reliability(scores))
    yield Procedure("split-half tau, 1,000 splits", lambda: split_half(scores, seed=SEED))
    yield Procedure("RBO of all pairs, depth 100", lambda: rbo_of_all_pairs(documents), 1)
    yield Procedure("Fisher, as many flips as Holm needs", of_pairs(scores, "randomisation+holm"))
    yield Procedure("suite of 18 such members, 100 runs", of_suite(), 0.06)


def of_suite() -> Callable[[], object]:
    """The board of a suite, with all pairs and ranges of ranks."""
    scores, topics = made_up(*SUITE), tuple(map(str, range(SUITE[1])))
    members = [MemberScores(topics, tuple(scores)) for _ in range(MEMBERS)]
    return lambda: suite_board(members)


def large() -> Iterator[Procedure]:
    """100 runs and 6,980 topics, as many as MS MARCO has."""
    scores, documents = made_up(*LARGE), rankings(*LARGE)
    yield Procedure("paired t, Holm", of_pairs(scores, "t+holm"), 10)
    compared = all_pairs(scores, method("t+holm"), seed=SEED)
    yield Procedure("verdicts of pairs that are compared", lambda: verdicts(compared), 10)
    yield Procedure("Wilcoxon, Holm", of_pairs(scores, "wilcoxon+holm"))
    yield Procedure("Tukey HSD", of_pairs(scores, "tukey"))
    yield Procedure("randomised HSD, 10,000", of_pairs(scores, "randomised_tukey", 10_000), 20)
    yield Procedure("bootstrap ranks, 10,000", lambda: first_places(scores, seed=SEED))
    yield Procedure("RBO of all pairs, depth 100", lambda: rbo_of_all_pairs(documents), 120)
    yield Procedure("Fisher, 100,000 flips", of_pairs(scores, "randomisation+bh"), 120)
    yield Procedure("Fisher, as many flips as Holm needs", of_pairs(scores, "randomisation+holm"), 120)


def line(procedure: Procedure, repeats: int) -> str:
    """A row of the table: medians of CPU and wall time, and the target."""
    spent = []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        procedure.run()
        spent.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = (median(seconds) for seconds in zip(*spent, strict=True))
    target = f"{procedure.target:g}" if procedure.target else ""
    return f"| {procedure.name} | {cpu:.3f} | {wall:.3f} | {target} |"


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="how often (default: 3); medians are printed")
    parser.add_argument("--large", action="store_true", help="also 100 runs on 6,980 topics, once each")
    given = parser.parse_args(arguments)
    print(table.facts(measuring.machine()), end="", flush=True)
    sizes = [(BOARD, board, given.repeats), *([(LARGE, large, 1)] if given.large else [])]
    for (runs, topics), procedures, repeats in sizes:
        print(f"\n### {runs} runs, {topics:,} topics\n")
        print("| procedure | CPU seconds | seconds | target |\n| --- | ---: | ---: | ---: |", flush=True)
        for procedure in procedures():
            print(line(procedure, repeats), flush=True)
    print(f"\nPeak memory {measuring.own_peak():.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
