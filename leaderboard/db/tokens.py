"""The API: tokens, machines that ask for one, and answers kept under the keys of their requests."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class ApiToken(Base):
    """A secret by which a program acts for an account; only its digest is kept."""

    __tablename__ = "api_token"
    __table_args__ = (CheckConstraint("kind IN ('personal', 'agent', 'runner')", name="kind"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    prefix: Mapped[str]
    """The first characters of the secret, by which its owner tells it from others."""
    token_sha256: Mapped[str] = mapped_column(unique=True)
    label: Mapped[str]
    scopes: Mapped[list[str]]
    task_id: Mapped[int | None] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    """The only task it is for; None: all of the owner's."""
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"))
    """The only team it is for; None: all of the owner's."""
    created_at: Mapped[datetime]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="SET NULL"))
    """None: the operator at the command line."""
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class DeviceRequest(Base):
    """A machine that asks for a token; anyone who knows its short code and is signed in answers for it."""

    __tablename__ = "device_request"
    __table_args__ = (CheckConstraint("state IN ('waiting', 'approved', 'denied', 'done')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(unique=True)
    """Digest of the long code, which only the machine has."""
    user_code: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str] = mapped_column(default="personal", server_default="personal")
    """Kind of the token that it asks for."""
    label: Mapped[str]
    scopes: Mapped[list[str]]
    ip: Mapped[str]
    state: Mapped[str]
    """done: the machine has fetched its token."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    polled_at: Mapped[datetime | None]
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"))
    """Account that answered."""
    task_id: Mapped[int | None] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"))
    token_id: Mapped[int | None] = mapped_column(ForeignKey("api_token.id", ondelete="CASCADE"))


class IdempotencyKey(Base):
    """The answer to a request of a token, given again when the request comes again."""

    __tablename__ = "idempotency_key"
    __table_args__ = (CheckConstraint("state IN ('running', 'done')", name="state"),)

    token_id: Mapped[int] = mapped_column(ForeignKey("api_token.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[str]
    """Digest of method, path and body."""
    state: Mapped[str]
    status: Mapped[int | None]
    headers: Mapped[dict[str, Any]]
    body: Mapped[bytes]
    created_at: Mapped[datetime] = mapped_column(index=True)
