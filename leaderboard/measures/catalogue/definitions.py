"""A measure's definition as text: the docstring of its function, without code."""

import inspect
import re
from dataclasses import dataclass

from leaderboard.measures.record import Measure

_SHAPE = re.compile(r",? (?:float64 |strings )?\(topics,\)")
_KIND = re.compile(r"^(?:float64|strings)[,.] (.)")
"""Both are what a docstring says of the array that the function gives."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The paragraphs of a definition, and the sentence before its worked example; may be empty."""

    paragraphs: tuple[str, ...]
    explanation: str


def definition(measure: Measure) -> Definition:
    """Definition in the docstring of the measure's function.

    >>> from leaderboard.measures.registry import NAMES
    >>> definition(NAMES["AP"]).paragraphs[0]
    'Average precision of every topic, between 0 and 1.'
    >>> definition(NAMES["AP"]).explanation
    'Relevant documents at ranks 1 and 3, a third one not retrieved: (1/1 + 2/3) / 3.'
    """
    words, _, _ = (inspect.getdoc(measure.compute) or "").partition(">>>")
    paragraphs = tuple(_plain(paragraph) for paragraph in words.strip().split("\n\n"))
    last = paragraphs[-1]
    if last.endswith(":"):
        return Definition(paragraphs[:-1], f"{last[:-1]}.")
    return Definition(paragraphs[:-1], last) if len(paragraphs) > 2 else Definition(paragraphs, "")


def _plain(paragraph: str) -> str:
    return _KIND.sub(lambda match: match[1].upper(), _SHAPE.sub("", " ".join(paragraph.split())))
