"""How often a gate errs, and whether its power is what it prints: `python -m benchmarks.gates --help`.

Real pairs of runs on the same topics, each in both directions. The differences of a pair are moved to a known
mean, and as many topics as asked for are drawn of them with replacement. The first table has gates of runs
that are worse by exactly the margin, where a wrong *worse* and a wrong *no worse* are likeliest, whatever the
margin; of one comparison, and of several under one correction. The second has runs as good as the baseline:
how often they pass, next to the mean of the power that the gates print.
"""

import argparse
import csv
import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.gates import Compared, Gated, gate
from leaderboard.trec.scores.scoring import Inputs, Options, score_runs

FloatArray = NDArray[np.float64]
FOLDERS = ("robust03", "cast2021", "touche2020-beir")
"""Of the shared data: runs next to their judgments."""
TABLES = ("trec8-adhoc/adhoc8_ap.csv", "trec8-adhoc/adhoc8_p10.csv")
"""Scores of runs: a column a run, a line a topic."""
MEASURES = ("nDCG@10", "AP", "P@10", "RR")
PAIRS_OF_A_TABLE = 150
TOPICS = (25, 50, 100, 250)
MARGINS = (0.01, 0.03, 0.05)
PASSED = ("no worse", "better")
OF_WHICH_PRINTED = 10
"""The power of every so many gates is taken: it varies little, and takes longer than the verdict."""
TOGETHER = 6
"""Comparisons under one correction."""
SEED = 20261201


class Pair(NamedTuple):
    """Two runs by one measure: their differences by topic, and where they come from."""

    source: str
    differences: FloatArray


def pairs_of(data: Path) -> list[Pair]:
    """All pairs of runs that differ at all, each in both directions; of a large table some, at random."""
    random = np.random.default_rng(SEED)
    found: list[Pair] = []
    for source, scores in _tables(data):
        both = list(combinations(range(len(scores)), 2))
        if len(both) > PAIRS_OF_A_TABLE:
            chosen = random.choice(len(both), PAIRS_OF_A_TABLE, replace=False)
            both = [both[place] for place in sorted(chosen)]
        for one, two in both:
            difference = scores[one] - scores[two]
            if np.ptp(difference) > 1e-9:
                found += [Pair(source, difference), Pair(source, -difference)]
    return found


def _tables(data: Path) -> Iterator[tuple[str, FloatArray]]:
    """The name of each collection with a measure, and the scores of its runs, (runs, topics)."""
    for folder in FOLDERS:
        runs = sorted((data / folder / "runs").iterdir())
        reports = list(score_runs(Inputs(data / folder / "qrels.txt.gz"), runs, Options(MEASURES)))
        for measure in reports[0].scores:
            yield f"{folder} {measure.key}", np.array([report.scores[measure] for report in reports])
    for name in TABLES:
        with (data / name).open(newline="") as file:
            lines = list(csv.reader(file))[1:]
        yield name.rpartition("/")[2], np.array(lines, dtype=np.float64).T


def skewed(pairs: Sequence[Pair]) -> list[Pair]:
    """The tenth of the pairs whose rare differences are gains, for which a t test alarms too often."""
    skews = [
        float(((moved := pair.differences - pair.differences.mean()) ** 3).mean() / moved.std() ** 3)
        for pair in pairs
    ]
    order = np.argsort(skews)[-len(pairs) // 10 :]
    return [pairs[place] for place in order]


def drawn(pairs: Sequence[Pair], topics: int, gates: int, seed: int) -> Iterator[FloatArray]:
    """Differences of mean 0 on so many drawn topics, of one pair after the other."""
    random = np.random.default_rng([SEED, topics, seed])
    for place in range(gates):
        differences = pairs[place % len(pairs)].differences
        yield (differences - differences.mean())[random.integers(len(differences), size=topics)]


def said(differences: FloatArray, margin: float) -> Gated:
    """The verdict on a run that differs from the baseline so."""
    (found,) = gate([Compared(differences, np.zeros_like(differences), margin)])
    return found


def errors(pairs: Sequence[Pair], topics: int, gates: int) -> tuple[float, float]:
    """The shares of *worse*, and of *no worse* or *better*, of runs that are worse by exactly the margin."""
    verdicts = [said(each - MARGINS[0], MARGINS[0]).verdict for each in drawn(pairs, topics, gates, 1)]
    passed = sum(verdict in PASSED for verdict in verdicts)
    return verdicts.count("worse") / gates, passed / gates


def errors_together(pairs: Sequence[Pair], topics: int, gates: int) -> tuple[float, float]:
    """The same, any of several comparisons under one correction, of unlike pairs."""
    random = np.random.default_rng([SEED, topics])
    mixed = [pairs[place] for place in random.permutation(len(pairs))]
    source, zeros = drawn(mixed, topics, TOGETHER * gates, 2), np.zeros(topics)
    alarms = passes = 0
    for _ in range(gates):
        compared = [Compared(next(source) - MARGINS[0], zeros, MARGINS[0]) for _ in range(TOGETHER)]
        verdicts = {found.verdict for found in gate(compared)}
        alarms += "worse" in verdicts
        passes += not verdicts.isdisjoint(PASSED)
    return alarms / gates, passes / gates


def of_equals(
    pairs: Sequence[Pair], topics: int, margin: float, gates: int
) -> tuple[float, float, float, float]:
    """Of runs as good as the baseline: the shares of *worse*, *better* and passed, and the printed power."""
    found = [said(each, margin) for each in drawn(pairs, topics, gates, 3)]
    verdicts = [each.verdict for each in found]
    passed = sum(verdict in PASSED for verdict in verdicts)
    printed = float(np.mean([each.power for each in found[::OF_WHICH_PRINTED]]))
    return verdicts.count("worse") / gates, verdicts.count("better") / gates, passed / gates, printed


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    usual = os.environ.get("LEADERBOARD_SHARED_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(usual), help="[LEADERBOARD_SHARED_DATA]")
    parser.add_argument("--gates", type=int, default=20_000, help="a line [20000]")
    options = parser.parse_args()
    pairs = pairs_of(options.data)
    print(f"{len(pairs):,} pairs, {options.gates:,} gates a line\n")
    print("| topics | worse | no worse | worse, most skewed tenth | any worse of six | any no worse of six |")
    print("|---|---|---|---|---|---|")
    for topics in TOPICS:
        rates = (
            *errors(pairs, topics, options.gates),
            errors(skewed(pairs), topics, options.gates // 2)[0],
            *errors_together(pairs, topics, options.gates // 4),
        )
        print(f"| {topics} | {' | '.join(f'{rate:.3f}' for rate in rates)} |", flush=True)
    print("\n| margin | topics | worse | better | no worse or better | power printed |")
    print("|---|---|---|---|---|---|")
    for margin in MARGINS:
        for topics in TOPICS:
            shares = of_equals(pairs, topics, margin, options.gates)
            print(f"| {margin:g} | {topics} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
