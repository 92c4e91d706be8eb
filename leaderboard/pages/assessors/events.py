"""The log of a pool as a file: every event of its assessors, those that were taken back too."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessment, Assessor
from leaderboard.errors import NotFound
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.tables.text import csv_lines

FORMS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
COLUMNS = {
    "topic": Assessment.topic_id,
    "docno": Assessment.docno,
    "assessor": Assessor.name,
    "origin": Assessor.origin,
    "machine": Assessor.origin_name,
    "role": Assessor.role,
    "grade": Assessment.grade,
    "note": Assessment.note,
    "shown_at": Assessment.shown_at,
    "saved_at": Assessment.saved_at,
    "sent_at": Assessment.sent_at,
    "seconds": Assessment.seconds,
    "undone": Assessment.undone,
}
"""What a file says of an event; the grade is empty where the document was skipped."""


def events(session: Session, viewer: Viewer, slug: str, number: int, form: str) -> Iterator[str]:
    """Every event of a pool in the order of arrival, taken back ones too, as a file in pieces.

    Raises NotFound for another form than those of FORMS, SignInNeeded or Forbidden unless the viewer
    organises the task.
    """
    _, pool = pools.seen_pool(session, viewer, slug, number)
    if form not in FORMS:
        raise NotFound(f"Events are given as {' or '.join(FORMS)}, not as {form[:10]!r}.")
    rows = session.execute(
        select(*COLUMNS.values())
        .join(Assessor, Assessor.id == Assessment.assessor_id)
        .where(Assessment.pool_id == pool.id)
        .order_by(Assessment.id)
    )
    plain = [[_plain(value) for value in row] for row in rows]
    return _as_csv(plain) if form == "csv" else _as_jsonl(plain)


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


def _as_csv(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """One line after the other: the log may be long."""
    for row in (list(COLUMNS), *rows):
        cells: list[Any] = [int(value) if isinstance(value, bool) else value for value in row]
        yield csv_lines(cells, ())


def _as_jsonl(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) + "\n"
