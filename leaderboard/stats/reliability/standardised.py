"""Scores standardised topic by topic, so that hard and easy topics count alike.

Each score is replaced by where it lies among the scores of a reference set of runs on its topic. Sources:
Webber, Moffat and Zobel, Score Standardization for Inter-Collection Comparison of Retrieval Systems,
SIGIR 2008 (normal); Sakai, A Simple and Effective Approach to Score Standardisation, ICTIR 2016
(uniform); Urbano, Lima and Hanjalic, A New Perspective on Score Standardization, SIGIR 2019 (empirical).
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

FloatArray = NDArray[np.float64]
Form = Literal["normal", "uniform", "empirical"]

SLOPE, CENTRE = 0.15, 0.5
"""Sakai's constants: scores within 10/3 standard deviations of the mean keep their distances."""


def standardised(scores: FloatArray, form: Form, *, reference: FloatArray | None = None) -> FloatArray:
    """The scores (n runs, T topics) standardised, float64 (n, T), from 0 to 1.

    reference (m runs, T topics) says what is usual on each topic; without it the scores themselves do.
    Freeze it where boards of different days are to be compared. With z = (score - mean) / sd over the
    reference, sd with m - 1:

    - normal: the share of a normal distribution below z;
    - uniform: 0.15 z + 0.5, cut at 0 and 1;
    - empirical: the share of reference runs that score at most as high.

    Where all reference runs score the same, or there is only one, z is the score as it is. Raises
    ValueError where the numbers of topics differ or the reference has no run.

    >>> standardised(np.array([[0.1], [0.2], [0.3]]), "uniform")
    array([[0.35],
           [0.5 ],
           [0.65]])
    """
    known = scores if reference is None else reference
    if known.shape[1] != scores.shape[1]:
        raise ValueError(f"{scores.shape[1]} topics cannot be standardised by {known.shape[1]}")
    if len(known) == 0:
        raise ValueError("scores cannot be standardised without reference runs")
    if form == "empirical":
        return _share_below(scores, known)
    z = _deviations(scores, known)
    return np.asarray(ndtr(z)) if form == "normal" else np.clip(SLOPE * z + CENTRE, 0.0, 1.0)


def _deviations(scores: FloatArray, known: FloatArray) -> FloatArray:
    # Equal scores may have a tiny deviation from their rounded mean, so equality is asked directly.
    varied = (known != known[0]).any(axis=0)
    mean = np.where(varied, known.mean(axis=0), 0.0)
    spread = np.where(varied, known.std(axis=0, ddof=min(1, len(known) - 1)), 1.0)
    return (scores - mean) / spread


def _share_below(scores: FloatArray, known: FloatArray) -> FloatArray:
    ordered = np.sort(known, axis=0)
    columns = [
        np.searchsorted(ordered[:, topic], scores[:, topic], side="right") for topic in range(scores.shape[1])
    ]
    return np.array(columns, dtype=np.float64).reshape(scores.shape[::-1]).T / len(known)
