"""Comparisons with a baseline: its pairs of the table of all pairs, corrected for their number."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.pairs.condensed import square
from leaderboard.stats.pairs.corrections import LEVEL, benjamini_hochberg, bonferroni, holm
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, PairTable
from leaderboard.stats.pairs.sign import sign_test
from leaderboard.stats.pairs.signed_rank import signed_rank

FloatArray = NDArray[np.float64]

_CORRECT = {"holm": holm, "bonferroni": bonferroni, "bh": benjamini_hochberg}


@dataclass(frozen=True, eq=False, slots=True)
class AgainstBaseline:
    """Every run against the baseline, arrays (n,) in the order of the runs; the baseline itself has p 1."""

    baseline: int
    adjusted: FloatArray
    verdicts: NDArray[np.int8]
    """1 where the run is better than the baseline, -1 where it is worse, 0 if undecided."""
    reachable: bool
    """Whether any run could have differed significantly from the baseline."""


def against_baseline(
    table: PairTable, scores: FloatArray, baseline: int, level: float = LEVEL
) -> AgainstBaseline:
    """The n - 1 pairs of a table that have the baseline in them, scores (n, topics) those of the table.

    The p of the tests are corrected again, over n - 1 pairs instead of n(n - 1)/2. Tukey's, which are test
    and correction in one, stay corrected for all pairs. Raises ValueError for an unknown run.

    >>> from leaderboard.stats.pairs.methods import all_pairs, method
    >>> scores = np.array([[0.9, 0.8, 0.9, 0.7], [0.1, 0.3, 0.2, 0.1], [0.2, 0.2, 0.3, 0.1]])
    >>> against = against_baseline(all_pairs(scores, method("t+holm"), seed=1), scores, 1)
    >>> against.verdicts.tolist(), against.adjusted.round(4).tolist()
    ([1, 0, 0], [0.0042, 1.0, 0.6376])
    """
    if not 0 <= baseline < table.runs:
        raise ValueError(f"there is no run {baseline} among {table.runs}")
    others = np.arange(table.runs) != baseline
    own_correction = table.method.correction.name in BOTH_IN_ONE
    adjusted = np.ones(table.runs)
    if own_correction:
        adjusted[others] = square(table.adjusted, table.runs, mirrored=1)[baseline, others]
        reachable = table.reachable
    else:
        correct = _CORRECT.get(table.method.correction.name, np.asarray)
        adjusted[others] = correct(square(table.p, table.runs, mirrored=1)[baseline, others])
        smallest = _smallest(table, scores, baseline)[others]
        reachable = bool(len(smallest) == 0 or (correct(smallest) < level).any())
    better = np.sign(square(table.difference, table.runs, mirrored=-1)[:, baseline])
    verdicts = np.where(adjusted < level, better, 0).astype(np.int8)
    return AgainstBaseline(baseline, adjusted, verdicts, reachable)


def _smallest(table: PairTable, scores: FloatArray, baseline: int) -> FloatArray:
    """The smallest p that the test could have given of each run and the baseline, (n,)."""
    test = table.method.test
    assert test is not None, "a correction that is not also a test has a test"
    drawn = 0.0 if table.resamples is None else 1 / (table.resamples + 1)
    match test.name:
        case "t" | "guarded_t":
            return np.full(table.runs, float(scores.shape[1] == 1))
        case "bootstrap":
            return np.full(table.runs, drawn)
        case "wilcoxon":
            least = [signed_rank(scores[[run, baseline]]).smallest[0] for run in range(table.runs)]
        case _:
            # Of the randomisation test too: all coins fall the same way as rarely as one run wins all.
            least = [sign_test(scores[[run, baseline]]).smallest[0] for run in range(table.runs)]
    smallest: FloatArray = np.maximum(np.array(least), drawn)
    return smallest
