"""The answers of runs as they are stored: one row a run and topic, read back one at a time."""

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to, compressed, damaged, plain_bytes
from leaderboard.db.tables import Answer as StoredAnswer
from leaderboard.services.kinds import PackedRun
from leaderboard.trec.answers.record import Answer, Citation, Segment

MAGIC = b"ANS1"
_LEVEL = 3
BATCH = 64
"""Answers of a few KB that are added with one statement, or read with one."""


def add(session: Session, run_id: int, answers: Iterable[Answer]) -> None:
    """Store the answers of a run, a few at a time; each topic once."""
    add_packed(session, run_id, ((answer.topic, packed(answer)) for answer in answers))


def add_run(session: Session, run_id: int, packed: PackedRun) -> None:
    """As `add`, of an accepted file."""
    add_packed(session, run_id, zip(packed.answers, packed.blocks, strict=True))


def add_packed(session: Session, run_id: int, answers: Iterable[tuple[str, bytes]]) -> None:
    """As `add`, of topics with their answers as `packed` gives them."""
    left = iter(answers)
    while some := list(islice(left, BATCH)):
        rows = [{"run_id": run_id, "topic_id": topic, "body": body} for topic, body in some]
        session.execute(insert(StoredAnswer), rows)


def of_topic(session: Session, run_id: int, topic_id: str) -> Answer | None:
    """What a run says on a topic, None where it says nothing; raises Damaged."""
    here = StoredAnswer.run_id == run_id, StoredAnswer.topic_id == topic_id
    body = session.scalar(select(StoredAnswer.body).where(*here))
    return None if body is None else opened(run_id, topic_id, body)


def of_run(session: Session, run_id: int) -> Iterator[Answer]:
    """All answers of a run by topic id in byte order, a few in memory at a time; raises Damaged."""
    wanted = (
        select(StoredAnswer.topic_id, StoredAnswer.body)
        .where(StoredAnswer.run_id == run_id)
        .order_by(StoredAnswer.topic_id)
        .execution_options(yield_per=BATCH)
    )
    with session.execute(wanted) as rows:
        for topic_id, body in rows:
            yield opened(run_id, topic_id, body)


def of_topic_in(session: Session, run_ids: Collection[int], topic_id: str) -> Iterator[tuple[int, Answer]]:
    """Run id and answer of those of the runs that answer the topic; one statement; raises Damaged."""
    rows = session.execute(
        select(StoredAnswer.run_id, StoredAnswer.body)
        .where(StoredAnswer.run_id.in_(run_ids), StoredAnswer.topic_id == topic_id)
        .order_by(StoredAnswer.run_id)
    )
    for run_id, body in rows:
        yield run_id, opened(run_id, topic_id, body)


def topics_of(session: Session, run_ids: Collection[int]) -> set[str]:
    """The topics that any of the runs answers; one statement."""
    topics = select(StoredAnswer.topic_id).where(StoredAnswer.run_id.in_(run_ids)).distinct()
    return set(session.scalars(topics))


def packed(answer: Answer) -> bytes:
    """An answer as it is stored.

    >>> answer = Answer("u", "7", (Segment("Blue.", (Citation("d4", 0.9),)),), ("d4",), "{}")
    >>> opened(1, "7", packed(answer)) == answer
    True
    """
    record = {
        "run": answer.run,
        "segments": [_segment_record(segment) for segment in answer.segments],
        "cut_off": [_segment_record(segment) for segment in answer.cut_off],
        "references": answer.references,
        "line": answer.line,
    }
    return compressed(MAGIC, json.dumps(record, separators=(",", ":")).encode(), _LEVEL)


def opened(run_id: int, topic_id: str, body: bytes) -> Answer:
    """A stored answer; raises Damaged, naming the run and the topic."""
    with belonging_to(f"run {run_id} on topic {topic_id}"):
        try:
            record = json.loads(plain_bytes(MAGIC, body, "answers"))
            return Answer(
                record["run"],
                topic_id,
                tuple(map(_segment, record["segments"])),
                tuple(record["references"]),
                record["line"],
                tuple(map(_segment, record["cut_off"])),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise damaged("answers", "they have another form") from error


def _segment_record(segment: Segment) -> list[Any]:
    return [segment.text, [[citation.docno, citation.confidence] for citation in segment.citations]]


def _segment(record: list[Any]) -> Segment:
    text, citations = record
    return Segment(text, tuple(Citation(docno, confidence) for docno, confidence in citations))
