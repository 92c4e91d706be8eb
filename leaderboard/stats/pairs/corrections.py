"""p-values of several tests, corrected for there being several.

Each function takes p from 0 to 1, (tests,), and gives the adjusted p in the same order: those below a level
are then significant.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LEVEL = 0.025
"""Pairs with an adjusted p below it differ significantly: half of 5 %; half is for the best runs."""


def bonferroni(p: FloatArray) -> FloatArray:
    """Every p times the number of tests: the chance of any false finding is at most alpha.

    Dunn, Multiple Comparisons among Means, Journal of the American Statistical Association 56, 1961.

    >>> bonferroni(np.array([0.01, 0.5]))
    array([0.02, 1.  ])
    """
    return np.minimum(1.0, p * len(p))


def holm(p: FloatArray) -> FloatArray:
    """Step-down Bonferroni: the same promise, and never fewer findings.

    Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6(2),
    1979.

    >>> holm(np.array([0.04, 0.01, 0.03]))
    array([0.06, 0.03, 0.06])
    """
    order = np.argsort(p, kind="stable")
    left = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * left))
    return adjusted


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Step-up: the expected share of false findings among the findings is at most alpha.

    Benjamini and Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society
    B 57(1), 1995.

    >>> benjamini_hochberg(np.array([0.03, 0.01, 0.02, 0.5]))
    array([0.04, 0.04, 0.04, 0.5 ])
    """
    order = np.argsort(p, kind="stable")[::-1]
    place = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(p[order] * (len(p) / np.maximum(place, 1))))
    return adjusted
