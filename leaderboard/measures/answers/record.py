"""The record of a measure of answers: the measure, the judgments it needs, and its aliases."""

from dataclasses import dataclass
from typing import Literal

from leaderboard.measures.record import Measure, Parameter

Basis = Literal["nuggets", "support", "sentences", "nuggets and sentences", "answers"]
"""Assignments of nuggets, support labels of citations, Auto-ARGUE's sentences, or the answers alone."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerMeasure(Measure):
    """A measure whose compute takes judged answers in place of a judged ranking.

    basis: which judgments it is computed from, and so which topics it is over. called: names elsewhere, each
    with the form of this measure that it is.
    """

    basis: Basis = "answers"
    called: tuple[tuple[str, str], ...] = ()


def switch(name: str, text: str) -> Parameter:
    """A parameter that is 0 or 1, and 0 unless given."""
    return Parameter(name, "integer", text, 0, 1, default=0)


WEIGHTED = switch("weighted", "1: a vital question counts twice.")
