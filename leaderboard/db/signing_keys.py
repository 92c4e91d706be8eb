"""The keys that a site signs what it publishes with: one in use, earlier ones without their private half."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class SigningKey(Base):
    """A key pair of Ed25519, 32 bytes each half."""

    __tablename__ = "signing_key"

    id: Mapped[int] = mapped_column(primary_key=True)
    public: Mapped[bytes]
    private: Mapped[bytes | None]
    """None once another key has taken its place."""
    created_at: Mapped[datetime]
    retired_at: Mapped[datetime | None]
