"""Grades scaled to gains between 0 and 1, as measures that model a reader take them."""

from typing import NamedTuple

import numpy as np

from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.measures.record import LARGEST, Parameter
from leaderboard.measures.running import bounds_of

MIN_REL = Parameter("min_rel", "integer", "The grade with gain 0; lower grades also gain 0.", 0, LARGEST, 0)
MAX_REL = Parameter(
    "max_rel", "integer", "The grade with gain 1; higher grades also gain 1.", 1, LARGEST, required=True
)


class ScaledGains(NamedTuple):
    """The hits of a run with a gain above 0, in rank order.

    topic, rank: (hits,); steps: (hits,) whole steps of the scale the grade is above min_rel;
    gain: (hits,) steps / scale; starts: (topics + 1,) where each topic's hits begin, and their end.
    """

    topic: IntArray
    rank: IntArray
    steps: IntArray
    gain: FloatArray
    starts: IntArray
    scale: int


def scaled_gains(judged: Judged, min_rel: int, max_rel: int, cutoff: int | None = None) -> ScaledGains:
    """The gains of a run's top cutoff ranks (None: all): (grade - min_rel) / (max_rel - min_rel)."""
    gaining = judged.grade > min_rel
    if cutoff is not None:
        gaining &= judged.rank <= cutoff
    topic, rank = judged.topic[gaining], judged.rank[gaining]
    scale = max_rel - min_rel
    steps = np.minimum(judged.grade[gaining] - min_rel, scale)
    return ScaledGains(topic, rank, steps, steps / scale, bounds_of(topic, len(judged.judgments)), scale)
