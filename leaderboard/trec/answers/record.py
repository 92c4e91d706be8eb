"""What a run says on a topic, whatever the dialect it was written in."""

from dataclasses import dataclass


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
    """What one run says on one topic.

    references: the documents the answer rests on, in the line's order; line: the line as it was sent;
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
        """The whole text, with blanks folded: what assignments quote."""
        return folded(" ".join(self.texts))


def folded(text: str) -> str:
    """A text with one blank for any white space between words, and none around them.

    >>> folded(" Air  scatters\\nlight. ")
    'Air scatters light.'
    """
    return " ".join(text.split())
