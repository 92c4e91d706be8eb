"""What may be claimed of a judge's τ, against a known truth: `python -m benchmarks.judges --help`.

Runs have true means; a reference scores them on topics with noise of its own, a judge with noise of its own
and a bias for or against each run. The truth is τ between the boards over infinitely many topics. Per board:
whether τ's percentile interval of 95 % over resamples of topics holds the truth, whether the 5th percentile
lies below it, whether the guaranteed range holds it; and the mean of each, of the estimate, and of the
ceiling.
"""

import argparse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.judges import RESAMPLES, at_least, ceiling, guaranteed_range, resampled_taus
from leaderboard.stats.orders.rank_correlation import tau_b

FloatArray = NDArray[np.float64]
SPREAD = 0.15
"""Standard deviation of the runs' true means."""
NOISE = 0.15
"""Of a run on a topic, on either board; half of its variance is the same on both."""
TOPIC = 0.2
"""Of a topic, for all runs."""
SEED = 20261201


class Case(NamedTuple):
    """Runs, topics and the standard deviation of the judge's bias for or against a run."""

    runs: int
    topics: int
    bias: float


CASES = (
    Case(20, 25, 0.0),
    Case(20, 50, 0.03),
    Case(20, 50, 0.1),
    Case(40, 50, 0.03),
    Case(40, 50, 0.1),
    Case(20, 150, 0.03),
    Case(20, 150, 0.2),
)


class Outcome(NamedTuple):
    """Of one pair of boards: the truth, and what is said of it."""

    truth: float
    estimate: float
    percentile_low: float
    percentile_high: float
    at_least: float
    ceiling: float
    low: float
    high: float


def boards(case: Case, random: np.random.Generator) -> tuple[float, FloatArray, FloatArray]:
    """The true τ, and the scores by reference and judge, (runs, topics)."""
    means = random.normal(scale=SPREAD, size=case.runs)
    judged = means + random.normal(scale=case.bias, size=case.runs)
    shape = case.runs, case.topics
    shared = random.normal(scale=TOPIC, size=case.topics) + random.normal(scale=NOISE / 2**0.5, size=shape)
    reference, judge = (
        mean[:, None] + shared + random.normal(scale=NOISE / 2**0.5, size=shape) for mean in (means, judged)
    )
    return _tau(means, judged), reference, judge


def outcome(case: Case, random: np.random.Generator, resamples: int) -> Outcome:
    """One pair of boards and what is said of it."""
    truth, reference, judge = boards(case, random)
    seed = int(random.integers(2**62))
    resampled = resampled_taus(reference, judge, seed=seed, resamples=resamples)
    percentiles = np.quantile(resampled, [0.025, 0.975]).tolist()
    proved = guaranteed_range(reference, judge)
    return Outcome(
        truth,
        _tau(reference.mean(axis=1), judge.mean(axis=1)),
        *percentiles,
        at_least(reference, judge, seed=seed, resamples=resamples),
        ceiling(reference, seed=seed) or 0.0,
        proved.low,
        proved.high,
    )


def line(case: Case, number: int, resamples: int) -> str:
    """A row of the table in docs/judges.md."""
    random = np.random.default_rng([SEED, case.runs, case.topics, round(1000 * case.bias)])
    found = np.array([outcome(case, random, resamples) for _ in range(number)])
    truth, estimate, percentile_low, percentile_high, least, top, low, high = found.T
    near = 1e-9
    held = ((percentile_low <= truth + near) & (truth <= percentile_high + near)).mean()
    proved = ((low <= truth + near) & (truth <= high + near)).mean()
    cells = [
        *(f"{case.runs}", f"{case.topics}", f"{case.bias:g}"),
        *(f"{values.mean():.2f}" for values in (truth, estimate)),
        f"{held:.2f}",
        f"{(least <= truth + near).mean():.2f}",
        f"{least.mean():.2f}",
        f"{top.mean():.2f}",
        f"{proved:.2f}",
        f"{low.mean():.2f} to {high.mean():.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, a case a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--boards", type=int, default=400, help="pairs of boards a case")
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    options = parser.parse_args()
    heads = (
        "runs | topics | bias | true τ | estimate | 95 % percentiles hold | at least holds | its mean | "
        "ceiling | guaranteed holds | its mean"
    )
    print(f"| {heads} |\n|{'---|' * 11}")
    for case in CASES:
        print(line(case, options.boards, options.resamples), flush=True)


def _tau(first: FloatArray, second: FloatArray) -> float:
    found = tau_b(first, second)
    if found is None:
        raise ValueError("a board of equal means has no τ")
    return found


if __name__ == "__main__":
    main()
