"""Procedures on a score table, by name: scores and options in, arrays out.

The same procedures run in a web request where they are quick, and as `python -m
leaderboard.stats.procedures NAME OPTIONS`, scores on stdin and the result on stdout, where they are not.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.arrays import Arrays, pack, unpack
from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.reliability import (
    Reliability,
    Sensitivity,
    SplitHalf,
    reliability,
    sensitivity,
    split_half,
)
from leaderboard.stats.standing import FirstPlaces, RankIntervals, first_places, rank_intervals, verdicts

Options = Mapping[str, str | int]
Progress = Callable[[float], None]

SPLITS = 500
"""Ways to cut the topics in halves: the middle of the taus then is known to about 0.002."""


def pairs(scores: NDArray[np.float64], options: Options, progress: Progress) -> Arrays:
    """All pairs of runs under one method, `single` only where it is not p; each run's deviation, (runs,)."""
    table = all_pairs(scores, method(str(options["method"])), seed=int(options["seed"]), progress=progress)
    return {
        "difference": table.difference,
        "low": table.low,
        "high": table.high,
        "p": table.p,
        "adjusted": table.adjusted,
        **({"single": table.single} if table.method.test is None else {}),
        "sd": scores.std(axis=1, ddof=min(1, scores.shape[1] - 1)),
        "resamples": np.array(table.resamples or 0),
        "reachable": np.array(table.reachable),
    }


def places(scores: NDArray[np.float64], options: Options, progress: Progress) -> Arrays:
    """The standing of every run by a method: whether it may be the best, and its rank range."""
    of_all = verdicts(
        all_pairs(scores, method(str(options["method"])), seed=int(options["seed"]), progress=progress)
    )
    return {"may_be_best": of_all.may_be_best, "rank_low": of_all.rank_low, "rank_high": of_all.rank_high}


def reliability_of_board(scores: NDArray[np.float64], options: Options, progress: Progress) -> Arrays:
    """Variance components, sensitivity of the topics, and agreement of orders by halves of them.

    Arrays of one number each, named as in Reliability, Sensitivity (with separate_ before) and SplitHalf
    (with halves_ before). enough_topics is how many give an E ρ² of .95, 0 where no number does.
    """
    components = reliability(scores)
    return {
        **_arrays(components),
        "enough_topics": np.array(components.topics_for_order() or 0),
        **_arrays(sensitivity(scores), "separate_"),
        **_arrays(split_half(scores, seed=int(options["seed"]), splits=SPLITS), "halves_"),
    }


def intervals_of_ranks(scores: NDArray[np.float64], options: Options, progress: Progress) -> Arrays:
    """Marginal and simultaneous intervals for the rank of every run, named as in RankIntervals."""
    return _arrays(rank_intervals(scores))


def places_of_resamples(scores: NDArray[np.float64], options: Options, progress: Progress) -> Arrays:
    """Frequency of first places of every run over resampled topics, named as in FirstPlaces."""
    return _arrays(first_places(scores, seed=int(options["seed"])))


def _arrays(
    result: Reliability | Sensitivity | SplitHalf | RankIntervals | FirstPlaces, before: str = ""
) -> Arrays:
    return {
        before + result_field.name: np.asarray(getattr(result, result_field.name))
        for result_field in fields(result)
    }


PROCEDURES: dict[str, Callable[[NDArray[np.float64], Options, Progress], Arrays]] = {
    "pairs": pairs,
    "leaders": places,
    "reliability": reliability_of_board,
    "rank_intervals": intervals_of_ranks,
    "first_places": places_of_resamples,
}


def main(name: str, options: str, source: BinaryIO, target: BinaryIO) -> None:
    """Compute the procedure on the scores received and send the result."""
    scores = np.asarray(unpack(source.read())["scores"], dtype=np.float64)
    target.write(pack(PROCEDURES[name](scores, json.loads(options), _report)))
    target.flush()


def _report(share: float) -> None:
    # If the reader has ended, the pipe is closed: then this fails and the process ends.
    print(f"{share:.3f}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.stdin.buffer, sys.stdout.buffer)
