"""Shared parts of all tables: constraint names, column types, UTC times and text normalisation."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, LargeBinary, MetaData, String
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator, TypeEngine

from leaderboard.checksums import numbers, with_checksum

CONVENTION = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

BigId: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
"""64-bit id; SQLite counts up only a column declared INTEGER, which is 64 bits wide there."""

Bytewise: TypeEngine[str] = String().with_variant(String(collation="C"), "postgresql")
"""Text compared byte by byte in both databases: docnos and topic ids."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; naive datetimes are refused, SQLite gets them without zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The value as the database keeps it."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without time zone was about to be stored")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The stored moment, with its zone."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class FloatArray(TypeDecorator[npt.NDArray[np.float64]]):
    """A float64 vector as little-endian bytes and their checksum; damage is raised when it is read."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: npt.NDArray[np.float64] | None, dialect: Dialect) -> bytes | None:
        """The vector's bytes and their checksum."""
        return None if value is None else with_checksum(np.asarray(value, dtype="<f8").tobytes())

    def process_result_value(self, value: Any, dialect: Dialect) -> npt.NDArray[np.float64] | None:
        """The vector, read-only; raises Damaged where its checksum does not match."""
        return None if value is None else np.frombuffer(numbers(value, "scores"), dtype="<f8")


SECRETS = frozenset(
    {
        *("password_hash", "token_sha256", "secret", "old_secret", "idempotency_key", "dedupe_key"),
        *("entry_code", "pseudonym_seed", "click_key"),
    }
)
"""Columns, of any table, that no page shows unless its own record says so."""


class Base(DeclarativeBase):
    """Base of all tables."""

    metadata = MetaData(naming_convention=CONVENTION)
    type_annotation_map = {  # noqa: RUF012 (read by SQLAlchemy)
        int: BigId,
        datetime: UtcDateTime,
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[int]: JSON,
        list[dict[str, Any]]: JSON,
        bytes: LargeBinary,
    }
