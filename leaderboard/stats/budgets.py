"""What the answers of a board can have given away of the scores behind them, and how far they mislead."""

import math
from collections.abc import Sequence

RISK = 0.05
"""The probability with which a bound may fail."""


def answer_bits(answers: Sequence[int], measures: int, decimals: int, step: float | None = None) -> float:
    """At most so many bits have been told; answers are counted by team, each by all measures.

    A mean from 0 to 1 with `decimals` decimals is one of 10^d + 1 values: that many bits an answer. By the
    Ladder a team's k answers are one of at most (4 k / step)^(1 / step + 2) sequences, as its score is told
    anew at most 1 / step + 1 times; docs/statistics.md derives it.

    >>> round(answer_bits([30], 1, 3)), round(answer_bits([30], 1, 3, 0.1)), answer_bits([], 4, 3)
    (299, 108, 0.0)
    """
    whole = math.log2(10**decimals + 1)
    if step is None:
        return measures * sum(answers) * whole
    steps = math.log2(1 / step + 2)
    by_ladder = ((1 / step + 2) * math.log2(4 * count / step) for count in answers)
    plain = (count * min(whole, steps) for count in answers)
    return measures * sum(min(pair) for pair in zip(by_ladder, plain, strict=True))


def error_bound(bits: float, topics: int, risk: float = RISK) -> float:
    """How far any public mean may lie from the run's true mean, except with probability `risk`.

    By Hoeffding's inequality for every run that the answers could have led to: with 2^bits sequences of
    answers, sqrt((bits ln 2 + ln(2 / risk)) / (2 topics)), for scores from 0 to 1 and topics drawn at random.
    1 or more promises nothing.

    >>> round(error_bound(0, 50), 3), round(error_bound(299, 50), 2)
    (0.192, 1.45)
    """
    return math.sqrt((bits * math.log(2) + math.log(2 / risk)) / (2 * topics))


def ladder_bound(answers: int, step: float, topics: int, measures: int = 1, risk: float = RISK) -> float:
    """How far a team's score by the Ladder may lie from the true mean of its best run.

    After Blum and Hardt (2015); docs/statistics.md derives it: of k answers by m measures on n topics with
    step s, the chance that one is off by more than e + 3 s / 2 is at most
    exp(-2 e^2 n + (m (1 / s + 1) + 1) ln(4 k / s) + 1). Solved for e, for scores from 0 to 1.

    >>> round(ladder_bound(30, 0.1, 1000), 3), round(ladder_bound(30, 0.1, 50), 2)
    (0.361, 1.09)
    """
    paths = (measures * (1 / step + 1) + 1) * math.log(4 * answers / step) + 1
    return math.sqrt((paths + math.log(1 / risk)) / (2 * topics)) + 1.5 * step
