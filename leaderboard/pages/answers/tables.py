"""An answer as plain values and as a table: one row a citation, one for a segment that cites nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from leaderboard.pages.answers.answer import AnswerPage, CitedDocument, ShownSegment
from leaderboard.pages.answers.judged import HeldNugget
from leaderboard.tables.record import Column, Files, Table


@dataclass(frozen=True, slots=True)
class CitationRow:
    """A segment and one of its citations, counted from 1; None and 0 where it cites nothing."""

    segment: ShownSegment
    place: int
    cited: CitedDocument | None
    counts: bool
    """False beyond the limit."""


def facts(page: AnswerPage) -> dict[str, Any]:
    """The answer as plain values."""
    return {
        "task": page.slug,
        "run": page.run,
        "run_id": page.run_id,
        "topic": page.topic_id,
        "is_answered": page.is_answered,
        "length": page.length,
        "length_as_sent": page.length_as_sent,
        "unit": page.unit,
        "limit": page.limit,
        "segments": [_segment(segment) for segment in page.segments],
        "cut_off": [_segment(segment) for segment in page.cut_off],
        "references": list(page.references),
        "nuggets": [
            {"text": nugget.text, "importance": nugget.importance, "label": nugget.label}
            for nugget in page.labels.nuggets
        ],
        "nuggets_by": page.labels.nuggets_by or None,
        "labels_by": page.labels.labels_by or None,
        "support_by": page.labels.support_by or None,
    }


def table(page: AnswerPage) -> Table[CitationRow]:
    """The segments in order, each with what it cites."""
    return Table(
        f"{page.run}-{page.topic_id}-answer",
        f"The answer of run {page.run} to topic {page.topic_id} of {page.task}, one row a citation.",
        [
            Column("segment", lambda row: row.segment.number, "Segment", digits=0),
            Column("text", lambda row: row.segment.text, "Text"),
            Column("citation", lambda row: row.place or None, "Citation", digits=0),
            Column("docno", lambda row: row.cited.docno if row.cited else None, "Document"),
            Column(
                "confidence", lambda row: row.cited.confidence if row.cited else None, "Confidence", digits=4
            ),
            Column("support", _support, "Support"),
            Column("counts", lambda row: row.counts, "Counts"),
        ],
        tuple(_rows(page)),
    )


def nuggets(page: AnswerPage) -> Table[HeldNugget]:
    """The topic's nuggets, vital ones first, with the answer's labels."""
    return Table(
        f"{page.run}-{page.topic_id}-nuggets",
        f"Nuggets of topic {page.topic_id} of {page.task} in the answer of run {page.run}.",
        [
            Column("nugget", lambda row: row.text, "Nugget"),
            Column("importance", lambda row: row.importance, "Importance"),
            Column("label", lambda row: row.label, "Label", words=lambda row: row.shape.word),
        ],
        page.labels.nuggets,
    )


FILES = Files(facts=facts, tables={"answer": table, "nuggets": nuggets})


def _support(row: CitationRow) -> str | None:
    return row.cited.support.word if row.cited and row.cited.support else None


def _rows(page: AnswerPage) -> Iterator[CitationRow]:
    for segments, counts in ((page.segments, True), (page.cut_off, False)):
        for segment in segments:
            if not segment.citations:
                yield CitationRow(segment, 0, None, counts)
            for place, cited in enumerate(segment.citations, start=1):
                yield CitationRow(segment, place, cited, counts)


def _segment(segment: ShownSegment) -> dict[str, Any]:
    return {
        "text": segment.text,
        "borne_out": segment.borne_out,
        "citations": [
            {
                "docno": cited.docno,
                "confidence": cited.confidence,
                "title": cited.title,
                "support": cited.support.word if cited.support else None,
            }
            for cited in segment.citations
        ],
    }
