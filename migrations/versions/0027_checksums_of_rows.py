"""Checksums of the plain values of evaluations, their means, and comparisons.

Revision ID: 0027
Revises: 0026
"""

import json
import math
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

SUMMED = {
    "evaluation": ("run_id", "revision_id", "measure", "measure_version", "dialect"),
    "evaluation_mean": ("evaluation_id", "topic_set_id", "mean", "topics"),
    "statistic": ("edition_id", "digest", "asked_by", "request", "progress"),
}
KEYS = {"evaluation": ("id",), "evaluation_mean": ("evaluation_id", "topic_set_id"), "statistic": ("id",)}
AT_ONCE = 1000


def upgrade() -> None:
    """Add the checksums; a mean that is not that of its scores gets none, so that it is never shown."""
    connection = op.get_bind()
    for table in SUMMED:
        op.add_column(table, sa.Column("checksum", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
        _fill(connection, table)
    for key in _wrong_means(connection):
        connection.execute(
            sa.text(
                "UPDATE evaluation_mean SET checksum = NULL "
                "WHERE evaluation_id = :evaluation AND topic_set_id = :topic_set"
            ),
            {"evaluation": key[0], "topic_set": key[1]},
        )


def downgrade() -> None:
    """Drop the checksums."""
    for table in SUMMED:
        op.drop_column(table, "checksum")


def _fill(connection: sa.Connection, table: str) -> None:
    columns = [sa.column(name, sa.JSON if name == "request" else None) for name in SUMMED[table]]
    stored = sa.table(table, *(sa.column(name) for name in (*KEYS[table], "checksum")))
    keys = [stored.c[name] for name in KEYS[table]]
    change = (
        sa.update(stored)
        .where(*(key == sa.bindparam(f"key_{key.name}") for key in keys))
        .values(checksum=sa.bindparam("sum"))
    )
    rows = connection.execute(sa.select(*keys, *columns).select_from(stored)).all()
    filled = [
        {f"key_{key.name}": row[at] for at, key in enumerate(keys)} | {"sum": _sum(tuple(row[len(keys) :]))}
        for row in rows
    ]
    for first in range(0, len(filled), AT_ONCE):
        connection.execute(change, filled[first : first + AT_ONCE])


def _sum(values: tuple[Any, ...]) -> int:
    return zlib.crc32(msgspec.msgpack.encode(values))


def _wrong_means(connection: sa.Connection) -> Iterator[tuple[int, int]]:
    """The keys of means that no edition's set of topics makes of the stored scores.

    What is made of parts, and not of scores alone, is taken as it is.
    """
    topics = {
        row.id: {topic: at for at, topic in enumerate(_opened(row.topics))}
        for row in connection.execute(sa.text("SELECT id, topics FROM qrels_revision"))
    }
    sets: dict[tuple[int, int], list[np.ndarray]] = {}
    for row in connection.execute(sa.text("SELECT revision_id, topic_sets FROM edition")):
        place = topics[row.revision_id]
        for chosen in _opened(row.topic_sets).values():
            places = np.array([place[topic] for topic in chosen["topics"]], dtype=np.int64)
            sets.setdefault((row.revision_id, chosen["id"]), []).append(places)
    rows = connection.execute(
        sa.text(
            "SELECT e.id, e.revision_id, e.scores, e.parts, "
            "m.topic_set_id, m.mean, m.topics "
            "FROM evaluation e JOIN evaluation_mean m ON m.evaluation_id = e.id"
        ),
        execution_options={"yield_per": AT_ONCE},
    )
    wrong = [
        (row.id, row.topic_set_id)
        for row in rows
        if _is_wrong(row, sets.get((row.revision_id, row.topic_set_id), []))
    ]
    yield from wrong


def _is_wrong(row: Any, sets: list[np.ndarray]) -> bool:
    scores = None if row.parts is not None else _vector(row.scores)
    if scores is None:
        return False
    for chosen in sets:
        judged = scores[chosen[~np.isnan(scores[chosen])]].tolist()
        if len(judged) == row.topics and row.mean in _summaries(judged):
            return False
    return bool(sets)


def _summaries(scores: list[float]) -> set[float]:
    """The sum, the mean and the geometric mean, added one after the other as measures do."""
    total, logs = 0.0, 0.0
    for score in scores:
        total += score
        logs += math.log(max(score, 1e-5))
    return {total, total / len(scores), math.exp(logs / len(scores))} if scores else set()


def _vector(stored: bytes) -> np.ndarray | None:
    """The numbers of an array; None where its checksum does not match, which is found where it is read."""
    body, checksum = bytes(stored), b""
    if len(body) % 8:
        body, checksum = body[:-4], body[-4:]
    if checksum and int.from_bytes(checksum, "little") != zlib.crc32(body):
        return None
    return np.frombuffer(body, dtype="<f8")


def _opened(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
