"""The random sample of a machine's judgments that people judge too, denser near the top of the runs.

Poisson sampling with permanent random numbers: Ohlsson, Coordination of Samples Using Permanent Random
Numbers, in Cox et al., Business Survey Methods, 1995. A larger share has a larger constant and the same
numbers, so the sample only grows.
"""

import hashlib
import json

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DEPTH = 10
"""Ranks that count for how likely a document is drawn."""
FLOOR = 0.05
"""The smallest probability: a document that no run has near its top may still be relevant."""
_SPREAD = 0.05
"""Addition to every weight, so that a larger share also reaches documents without any."""
_STEPS = 200


def uniform(seed: int, topic: str, document: str) -> float:
    """A document's permanent random number, from 0 up to 1: it is drawn where its probability is larger.

    It is made from a digest, so that it is the same on every machine and in every draw.

    >>> uniform(1, "401", "d1") == uniform(1, "401", "d1") != uniform(2, "401", "d1")
    True
    """
    digest = hashlib.sha256(json.dumps((seed, topic, document)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def weights(places: IntArray) -> FloatArray:
    """The weights of a topic's documents in the runs, (documents,), from 0 up.

    places: (runs, documents), the rank in each run, 0 where it does not have the document. The weight is the
    sum of 1/log2(1 + rank) over the runs that have it down to rank 10.

    >>> weights(np.array([[1, 3, 11], [2, 1, 0]])).round(4)
    array([1.6309, 1.5   , 0.    ])
    """
    seen = (places > 0) & (places <= DEPTH)
    discounts = np.zeros(places.shape)
    np.divide(1.0, np.log2(1.0 + places), out=discounts, where=seen)
    total: FloatArray = discounts.sum(axis=0)
    return total


def inclusion(weight: FloatArray, share: float) -> FloatArray:
    """The probabilities with which documents are drawn, (documents,): their mean is the share.

    min(1, max(.05, c sqrt(weight + .05))) with the c that makes it so. Raises ValueError for a share that is
    not from .05 to 1.

    >>> inclusion(np.array([2.0, 1.0, 0.0, 0.0]), 0.4).round(3)
    array([0.789, 0.565, 0.123, 0.123])
    """
    if not FLOOR <= share <= 1:
        raise ValueError(f"a share is from {FLOOR} to 1, not {share}")
    root = np.sqrt(weight + _SPREAD)
    low, high = 0.0, 1.0 / float(root.min())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability(root, middle).mean() < share else (low, middle)
    return _probability(root, high)


def _probability(root: FloatArray, constant: float) -> FloatArray:
    probability: FloatArray = np.clip(constant * root, FLOOR, 1.0)
    return probability
