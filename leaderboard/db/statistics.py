"""Comparisons that took too long for a page: computed once by a job, kept under what they depend on."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class Statistic(Base):
    """One comparison of runs; immutable once computed, since nothing it depends on ever changes."""

    __tablename__ = "statistic"

    id: Mapped[int] = mapped_column(primary_key=True)
    edition_id: Mapped[int] = mapped_column(ForeignKey("edition.id", ondelete="CASCADE"), index=True)
    digest: Mapped[str] = mapped_column(unique=True)
    """Of everything the result depends on: rankings, revision, measure, topics, method and its version."""
    asked_by: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="SET NULL"), index=True)
    """The account that asked for it; None: a board needs it."""
    request: Mapped[dict[str, Any]]
    """What is computed of which runs, as services.statistics reads it."""
    progress: Mapped[float] = mapped_column(default=0.0)
    """From 0 to 1."""
    result: Mapped[bytes | None] = mapped_column(deferred=True)
    """Packed arrays, once computed."""
    created_at: Mapped[datetime]
    computed_at: Mapped[datetime | None]
