"""Damage as a failing disk makes it: bits that change in the database behind the program's back."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import LargeBinary, select, type_coerce, update

from leaderboard.db.engine import Database


def turned(body: bytes, bit: int | None = None) -> bytes:
    """The bytes with one bit turned over: of the one in the middle, unless another is named."""
    changed = bytearray(body)
    at = 4 * len(body) if bit is None else bit
    changed[at // 8] ^= 1 << at % 8
    return bytes(changed)


def damage(database: Database, column: Any, change: Callable[[bytes], bytes] = turned) -> None:
    """Change what the first row has in a column, without its type and its checksum being asked."""
    table = column.class_.__table__
    raw = type_coerce(column, LargeBinary)
    key = next(iter(table.primary_key))
    with database.write() as session:
        place, body = session.execute(select(key, raw).where(raw.is_not(None)).order_by(key)).first()
        changed = type_coerce(change(bytes(body)), LargeBinary)
        session.execute(update(table).where(key == place).values({column.key: changed}))
