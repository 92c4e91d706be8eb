"""Checks of what is kept beside runs: editions, snapshots, comparisons, documents, pools, logs, pictures."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from leaderboard.db.engine import Database
from leaderboard.db.tables import (
    Answer,
    ClickLog,
    Collection,
    DocumentBlock,
    Edition,
    PoolTopic,
    Snapshot,
    Statistic,
    TaskPicture,
)
from leaderboard.services.answers import store as answers
from leaderboard.services.checks.damage import DamageCheck
from leaderboard.services.pictures import pictures
from leaderboard.services.pools import documents as pool_documents
from leaderboard.services.snapshots import whole_body
from leaderboard.stats import arrays
from leaderboard.trec.clicks.sessions import unpack_sessions
from leaderboard.trec.documents.blocks import unpack_documents
from leaderboard.trec.documents.docno_filter import DocnoFilter


def _snapshot(sha256: str, body: bytes) -> Iterator[str]:
    whole_body(sha256, body)
    yield from ()


def _edition(_: Edition) -> Iterator[str]:
    # Reading one raises where its checksum does not match.
    yield from ()


def _comparison(row: Statistic, result: bytes | None) -> Iterator[str]:
    if not row.is_whole:
        yield "the checksum of what it compares does not match"
    if result is not None:
        arrays.unpack(result)


def _documents(first: str, last: str, count: int, body: bytes) -> Iterator[str]:
    docnos = [document.docno for document in unpack_documents(body)]
    if (docnos[0], docnos[-1], len(docnos)) != (first, last, count):
        yield "its documents are not those that it is found by"


def _docnos(known: bytes) -> Iterator[str]:
    DocnoFilter.bits(known)
    yield from ()


def _pool(documents: int, body: bytes) -> Iterator[str]:
    # An adaptive pool has fewer judged than it has documents.
    if sum(document.grade is None for document in pool_documents.unpack(body)) < documents:
        yield "it has fewer documents than were counted"


def _log(sessions: int, body: bytes) -> Iterator[str]:
    if unpack_sessions(body).count != sessions:
        yield "it does not have the number of sessions that was counted"


def _picture(sha256: str, body: bytes) -> Iterator[str]:
    pictures.whole_body(sha256, body)
    yield from ()


def _answer(run_id: int, topic_id: str, body: bytes) -> Iterator[str]:
    answers.opened(run_id, topic_id, body)
    yield from ()


def _check(
    name: str, owner: str, key: tuple[Any, ...], columns: tuple[Any, ...], look: Any, has: Any = None
) -> DamageCheck:
    """The check of one kind of body: where the column `has` has one, these columns are looked at."""
    is_there = (columns[-1] if has is None else has).is_not(None)

    def places(database: Database) -> Sequence[Any]:
        with database.read() as session:
            rows = session.execute(select(*key).where(is_there).order_by(*key)).all()
        return [row[0] if len(key) == 1 else tuple(row) for row in rows]

    def look_at(database: Database, place: Any) -> Iterator[str]:
        parts = (place,) if len(key) == 1 else place
        here = [column == part for column, part in zip(key, parts, strict=True)]
        with database.read() as session:
            row = session.execute(select(*columns).where(*here)).one_or_none()
        # What is gone was taken back since: a pool's draft, a query log.
        return iter(()) if row is None else look(*row)

    return DamageCheck(name, owner, places, look_at)


CHECKS = (
    _check("editions", "edition", (Edition.id,), (Edition,), _edition, Edition.id),
    _check("snapshots", "snapshot", (Snapshot.id,), (Snapshot.sha256, Snapshot.body), _snapshot),
    _check(
        "comparisons", "comparison", (Statistic.id,), (Statistic, Statistic.result), _comparison, Statistic.id
    ),
    _check(
        "documents",
        "document block",
        (DocumentBlock.id,),
        (DocumentBlock.first_docno, DocumentBlock.last_docno, DocumentBlock.count, DocumentBlock.body),
        _documents,
    ),
    _check("known docnos", "collection", (Collection.id,), (Collection.known_docnos,), _docnos),
    _check(
        "pools",
        "pool and topic",
        (PoolTopic.pool_id, PoolTopic.topic_id),
        (PoolTopic.documents, PoolTopic.body),
        _pool,
    ),
    _check(
        "answers",
        "answer of run and topic",
        (Answer.run_id, Answer.topic_id),
        (Answer.run_id, Answer.topic_id, Answer.body),
        _answer,
    ),
    _check("query logs", "query log", (ClickLog.id,), (ClickLog.sessions, ClickLog.body), _log),
    _check("pictures", "picture", (TaskPicture.id,), (TaskPicture.sha256, TaskPicture.body), _picture),
)
