"""Error rates of boards that resemble a real one: `python -m benchmarks.verdicts --help`.

Runs of a table of scores are moved to a known truth: left as they are, those of the top third moved to one
mean, or all of them. Topics are drawn with replacement; near copies of other runs are left out. Against that
truth, per board: any pair decided falsely (in the wrong direction, or of equals at all), the best run without
a dot, or either.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.standing import verdicts

FloatArray = NDArray[np.float64]
METHODS = ("t+holm", "guarded_t+holm")
COPY = 0.98
"""Runs whose scores correlate by more over the topics are near copies: the first of them is kept."""
SEED = 20260101


def scores_of(path: Path) -> FloatArray:
    """A CSV of one column a run and one line a topic, (runs, topics), without near copies."""
    with path.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    scores = np.array(lines, dtype=np.float64).T
    alike = np.corrcoef(scores)
    kept: list[int] = []
    for run in range(len(scores)):
        if all(alike[run, other] <= COPY for other in kept):
            kept.append(run)
    return scores[kept]


def truths(scores: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """The name of each truth, and the scores moved to it."""
    means = scores.mean(axis=1, keepdims=True)
    yield "as they are", scores
    order = np.argsort(-means[:, 0], kind="stable")
    top = order[: len(scores) // 3]
    moved = scores.copy()
    moved[top] += means[top].mean() - means[top]
    yield "top third equal", moved
    yield "all equal", scores - means


def errors(scores: FloatArray, key: str, topics: int, boards: int) -> tuple[float, float, float, float]:
    """The shares of boards with a false pair, a best run without a dot, either; the mean pairs told apart."""
    random = np.random.default_rng(SEED)
    truth = scores.mean(axis=1)
    sign = np.sign(np.where(np.abs(truth[:, None] - truth) < 1e-9, 0, truth[:, None] - truth))
    best = np.flatnonzero(truth > truth.max() - 1e-9)
    rows = []
    for _ in range(boards):
        drawn = scores[:, random.integers(scores.shape[1], size=topics)]
        said = verdicts(all_pairs(drawn, method(key), seed=SEED))
        is_false = bool(((said.signs != 0) & (said.signs != sign)).any())
        # Of several that are best in truth, one drawn beforehand represents all.
        is_missed = not said.may_be_best[random.choice(best)]
        rows.append((is_false, is_missed, is_false or is_missed, np.count_nonzero(said.signs > 0)))
    false, missed, either, found = np.mean(rows, axis=0).tolist()
    return false, missed, either, found


def main() -> None:
    """Print a table of the error rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("scores", type=Path, nargs="+", help="CSV files: a column a run, a line a topic")
    parser.add_argument("--boards", type=int, default=400)
    parser.add_argument("--topics", type=int, default=50)
    options = parser.parse_args()
    heads = ("scores", "runs", "truth", "test", "any false pair", "best missed", "either", "pairs told apart")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for path in options.scores:
        scores = scores_of(path)
        for truth, moved in truths(scores):
            for key in METHODS:
                *rates, found = errors(moved, key, options.topics, options.boards)
                shares = [f"{rate:.3f}" for rate in rates]
                cells = (path.stem, str(len(scores)), truth, method(key).title, *shares, f"{found:.0f}")
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
