"""A run's answer to a topic, independent of its dialect."""

import json
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from leaderboard.trec.topics.topics import read_topics


@dataclass(frozen=True, slots=True)
class AnswerTopic:
    """A topic to be answered; texts: any of its official texts, empty where the file has none.

    limit: how long an answer may be, in the unit of the task; None for the task's own limit.
    """

    topic: str
    texts: tuple[str, ...] = ()
    limit: int | None = None


def read_answer_topics(path: Path) -> dict[str, AnswerTopic]:
    """The topics of a file by id, in order, read as those of rankings are; JSON may carry `limit`.

    Raises Invalid with up to 25 problems.
    """
    return {
        topic.topic_id: AnswerTopic(
            topic.topic_id,
            tuple(filter(None, (topic.title, topic.description, topic.narrative))),
            topic.limit,
        )
        for topic in read_topics(path)
    }


@dataclass(frozen=True, slots=True)
class Citation:
    """A document that a segment cites; confidence is None if the dialect or the line gives none."""

    docno: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence-like piece of an answer, its citations strongest first, no document twice."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One run's answer to one topic.

    references: the documents the answer rests on, in the line's order; line: the line as submitted;
    cut_off: the segments after these that were sent and do not count.
    """

    run: str
    topic: str
    segments: tuple[Segment, ...]
    references: tuple[str, ...]
    line: str = ""
    cut_off: tuple[Segment, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The segments' texts in order."""
        return tuple(segment.text for segment in self.segments)

    @property
    def text(self) -> str:
        """The whole text with white space folded, as assignments quote it."""
        return folded(" ".join(self.texts))


def folded(text: str) -> str:
    """A text with one blank for any white space between words, and none around them.

    >>> folded(" Air  scatters\\nlight. ")
    'Air scatters light.'
    """
    return " ".join(text.split())


def as_report(answer: Answer, team: str) -> str:
    """The answer as one line, without its end; reading it gives the same segments, citations and references.

    Citations are a map where all of a segment's have a confidence, a list where one has none.
    """
    facts = {"team_id": team, "run_id": answer.run, "topic_id": answer.topic}
    responses = [{"text": segment.text, "citations": _citations(segment)} for segment in answer.segments]
    record = {"metadata": facts, "responses": responses, "references": list(answer.references)}
    return json.dumps(record, ensure_ascii=False)


def _citations(segment: Segment) -> Any:
    confidences = {citation.docno: citation.confidence for citation in segment.citations}
    return list(confidences) if None in confidences.values() or not confidences else confidences


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
