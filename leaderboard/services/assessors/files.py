"""What was judged in a pool as files: every event of assessors, disagreements, and the settled judgments."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessment, Assessor
from leaderboard.errors import NotFound
from leaderboard.services.assessors import links
from leaderboard.services.assessors.adjudication import AdjudicationPage
from leaderboard.services.assessors.settle import UNJUDGED, SettledPool
from leaderboard.services.policy import Viewer

EVENT = (
    *("topic", "docno", "assessor", "origin", "machine", "role", "grade", "note"),
    *("shown_at", "saved_at", "sent_at", "seconds", "undone"),
)
"""Columns of an event; grade is empty where the document was skipped."""
FORMS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A text cell that starts like this would be run by a spreadsheet."""
COLUMNS = ("", "probability", "stratum", "both")
"""What stands behind the grade in a TREC file of a sampled pool."""


def events(session: Session, viewer: Viewer, slug: str, number: int, form: str) -> Iterator[str]:
    """Every event of a pool in the order of arrival, taken back ones too, as a file in pieces.

    Raises NotFound for another form than those of FORMS, SignInNeeded or Forbidden unless the viewer
    organises the task.
    """
    _, pool = links.own_pool(session, viewer, slug, number)
    if form not in FORMS:
        raise NotFound(f"Events are given as {' or '.join(FORMS)}, not as {form[:10]!r}.")
    rows = session.execute(
        select(
            *(Assessment.topic_id, Assessment.docno, Assessor.name, Assessor.origin, Assessor.origin_name),
            *(Assessor.role, Assessment.grade, Assessment.note, Assessment.shown_at, Assessment.saved_at),
            *(Assessment.sent_at, Assessment.seconds, Assessment.undone),
        )
        .join(Assessor, Assessor.id == Assessment.assessor_id)
        .where(Assessment.pool_id == pool.id)
        .order_by(Assessment.id)
    )
    found = [tuple(_moment(each) if isinstance(each, datetime) else each for each in row) for row in rows]
    return _as_csv(found) if form == "csv" else _as_jsonl(found)


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


def _as_csv(rows: list[tuple[Any, ...]]) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(EVENT)
    for row in rows:
        writer.writerow([_cell(each) for each in row])
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _as_jsonl(rows: list[tuple[Any, ...]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(dict(zip(EVENT, row, strict=True)), ensure_ascii=False) + "\n"


def qrels_lines(found: SettledPool, columns: str = "") -> Iterator[str]:
    """The settled judgments as lines of a TREC qrels file, in byte order of topics and documents.

    columns: what stands behind the grade: `stratum`, `probability` (of coming into the pool), `both`, or
    nothing. Then documents that the sample left out are there with grade -1. Raises NotFound for another.
    """
    if columns not in COLUMNS:
        raise NotFound(f"A qrels file may have columns {', '.join(filter(None, COLUMNS))} besides.")
    grades = {
        (topic, docno.decode()): grade
        for topic, judged in found.judgments.items()
        for docno, grade in judged.items()
    }
    if columns:
        left_out = (place for place, each in found.documents.items() if each.grade == UNJUDGED)
        grades = {**dict.fromkeys(left_out, UNJUDGED), **grades}
    for (topic, docno), grade in sorted(grades.items(), key=lambda each: [part.encode() for part in each[0]]):
        yield f"{topic} 0 {docno} {grade}{_behind(found, topic, docno, columns)}\n"


def _behind(found: SettledPool, topic: str, docno: str, columns: str) -> str:
    document = found.documents.get((topic, docno))
    if not columns or document is None:
        return ""
    stratum, probability = f" {document.stratum or '-'}", f" {document.probability!r}"
    return {"stratum": stratum, "probability": probability, "both": stratum + probability}[columns]


def disagreements_table(page: AdjudicationPage) -> tuple[list[str], list[list[Any]]]:
    """The documents listed, a row for each label of each."""
    header = ["topic", "docno", "assessor", "origin", "grade", "note", "decided", "decided_by"]
    return header, [
        [
            *(row.topic_id, row.docno, each.judge.name, "machine" if each.judge.is_machine else "human"),
            *(each.grade, each.note),
            *((row.decision.grade, row.decision.judge.name) if row.decision else (None, None)),
        ]
        for row in page.rows
        for each in row.labels
    ]


def disagreements_facts(page: AdjudicationPage) -> dict[str, Any]:
    """The documents listed as plain values."""
    return {
        "task": page.pool.slug,
        "pool": page.pool.number,
        "labels_of": page.wish.whose,
        "shown": page.wish.shown,
        "counts": page.counts,
        "documents": [
            {
                "topic": row.topic_id,
                "docno": row.docno,
                "labels": [
                    {"assessor": each.judge.name, "grade": each.grade, "note": each.note}
                    for each in row.labels
                ],
                "decided": row.decision.grade if row.decision else None,
                "decided_by": row.decision.judge.name if row.decision else None,
            }
            for row in page.rows
        ],
    }
