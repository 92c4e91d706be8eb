"""Length of an answer by the counting rules of tracks, and cutting to a limit."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from leaderboard.trec.answers.record import Answer

Unit = Literal["words", "nfkc-words", "characters"]
Over = Literal["refuse", "cut", "warn"]


def words(texts: Sequence[str]) -> int:
    """Words between blanks, as TREC RAG 2026 counts them.

    >>> words(["it´s fine."])
    2
    """
    return sum(len(text.split()) for text in texts)


def nfkc_words(texts: Sequence[str]) -> int:
    """Words of each segment after NFKC, as TREC RAG 2024 and 2025 count them: U+00B4 parts a word.

    >>> nfkc_words(["it´s fine."])
    3
    """
    return sum(len(unicodedata.normalize("NFKC", text.strip()).split()) for text in texts)


def characters(texts: Sequence[str]) -> int:
    """Characters of the segments joined by blanks, after NFKC, as RAGTIME counts them.

    >>> characters(["Air.", "ﬁne"])
    9
    """
    return len(unicodedata.normalize("NFKC", " ".join(texts)))


COUNTS: dict[Unit, Callable[[Sequence[str]], int]] = {
    "words": words,
    "nfkc-words": nfkc_words,
    "characters": characters,
}
UNIT_WORDS: dict[Unit, str] = {"words": "words", "nfkc-words": "words after NFKC", "characters": "characters"}


def cut(answer: Answer, limit: int, unit: Unit) -> Answer:
    """The answer without as many whole segments from its end as it takes to fit; possibly without any.

    >>> from leaderboard.trec.answers.record import Segment
    >>> long = Answer("run", "1", (Segment("Two words."), Segment("Three more words.")), ())
    >>> cut(long, 4, "words").texts, cut(long, 1, "words").texts
    (('Two words.',), ())
    """
    count, texts = COUNTS[unit], answer.texts
    # A prefix is never longer than one with more segments, so the longest that fits is found by halving.
    kept = bisect_right(range(len(texts) + 1), limit, key=lambda size: count(texts[:size])) - 1
    return replace(answer, segments=answer.segments[:kept], cut_off=answer.segments[kept:])
