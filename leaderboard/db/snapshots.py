"""Boards as they were at a moment, frozen under the digest of what they showed."""

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class Snapshot(Base):
    """A board as the public saw it; never changed."""

    __tablename__ = "snapshot"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    edition_id: Mapped[int] = mapped_column(ForeignKey("edition.id", ondelete="CASCADE"))
    sha256: Mapped[str] = mapped_column(unique=True)
    """Digest of the body before it was compressed, and its address."""
    body: Mapped[bytes] = mapped_column(deferred=True)
    """Content of the leaderboard, as compressed JSON with a checksum."""
    created_at: Mapped[datetime]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
