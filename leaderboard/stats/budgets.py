"""Bounds on the information that a board's answers reveal about hidden scores, and on its errors."""

import math
from collections.abc import Sequence

RISK = 0.05
"""The probability with which a bound may fail."""


def answer_bits(answers: Sequence[int], measures: int, decimals: int) -> float:
    """The largest number of bits revealed; answers are counted by team, each by all measures.

    A mean from 0 to 1 with `decimals` decimals is one of 10^d + 1 values: that many bits an answer.

    >>> round(answer_bits([30], 1, 3)), answer_bits([], 4, 3)
    (299, 0.0)
    """
    return measures * sum(answers) * math.log2(10**decimals + 1)


def error_bound(bits: float, topics: int, risk: float = RISK) -> float:
    """Maximum distance of any public mean from the run's true mean, except with probability `risk`.

    By Hoeffding's inequality for every run that the answers could have led to: with 2^bits sequences of
    answers, sqrt((bits ln 2 + ln(2 / risk)) / (2 topics)), for scores from 0 to 1 and topics drawn at random.
    1 or more promises nothing.

    >>> round(error_bound(0, 50), 3), round(error_bound(299, 50), 2)
    (0.192, 1.45)
    """
    return math.sqrt((bits * math.log(2) + math.log(2 / risk)) / (2 * topics))
