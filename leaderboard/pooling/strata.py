"""Stratified samples of a pool: strata by fused rank, a part of each drawn without replacement."""

from itertools import pairwise
from math import floor
from typing import NamedTuple

import numpy as np

from leaderboard.pooling.candidates import FloatArray, IntArray
from leaderboard.pooling.draws import order, stream
from leaderboard.pooling.parameters import Strata


class Sample(NamedTuple):
    """What was drawn of the ranks of a fused ranking, and what was not.

    place, stratum, probability: (drawn,) by fused rank: index into the fused ranking, stratum from 0, and
    the share of the stratum that was drawn. population: (strata,) the sizes of the strata. passed,
    passed_stratum: the places that were not drawn.
    """

    place: IntArray
    stratum: IntArray
    probability: FloatArray
    population: IntArray
    passed: IntArray
    passed_stratum: IntArray


def stratified_sample(count: int, strata: Strata, seed: int) -> Sample:
    """A sample of the places 0 to count - 1 of a fused ranking; what lies below the last stratum is left out.

    strata: (last rank, rate) from the top down. Of a stratum of N documents the nearest whole number to
    rate N is drawn, at least one, every set of that size as likely; its probability is that number over N,
    not the rate. Source: Yilmaz, Kanoulas and Aslam 2008.

    >>> sample = stratified_sample(12, ((2, 1.0), (10, 0.5)), seed=1)
    >>> sample.place, sample.population
    (array([0, 1, 4, 5, 7, 9]), array([2, 8]))
    """
    ends = [0, *(min(last, count) for last, _ in strata)]
    bounds = list(pairwise(ends))
    drawn = np.zeros(ends[-1], dtype=np.bool_)
    probability = np.ones(ends[-1])
    for number, ((begin, end), (_, rate)) in enumerate(zip(bounds, strata, strict=True)):
        size = end - begin
        if size:
            draws = min(size, max(1, floor(rate * size + 0.5)))
            drawn[begin + order(stream(seed, number), size)[:draws]] = True
            probability[begin:end] = draws / size
    population = np.array([end - begin for begin, end in bounds], dtype=np.int64)
    stratum = np.repeat(np.arange(len(population)), population)
    place, passed = np.flatnonzero(drawn), np.flatnonzero(~drawn)
    return Sample(place, stratum[place], probability[place], population, passed, stratum[passed])
