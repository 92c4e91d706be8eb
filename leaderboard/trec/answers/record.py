"""A run's answer to a topic, independent of its dialect."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Citation:
    """A document that a segment cites; confidence is None where the dialect or the line gives none."""

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
