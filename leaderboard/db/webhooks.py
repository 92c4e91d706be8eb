"""Webhooks of tasks and teams, what is to be sent to them, and every attempt."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class Webhook(Base):
    """An address that gets a task's or a team's events, as requests signed with its secret."""

    __tablename__ = "webhook"
    __table_args__ = (CheckConstraint("(task_id IS NULL) <> (team_id IS NULL)", name="owner"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int | None] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"), index=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    """Responsible account; nothing is sent once it no longer organises the task or is in the team."""
    address: Mapped[str]
    events: Mapped[list[str]]
    secret: Mapped[str]
    old_secret: Mapped[str] = mapped_column(default="")
    old_secret_until: Mapped[datetime | None]
    paused_at: Mapped[datetime | None]
    paused_why: Mapped[str] = mapped_column(default="")
    failures: Mapped[int] = mapped_column(default=0)
    """Attempts since the last one that was taken."""
    failing_since: Mapped[datetime | None]
    tried_at: Mapped[datetime | None]
    took_ms: Mapped[int | None]
    """Duration of its last attempt: a slow listener gets less time for the next."""
    created_at: Mapped[datetime]


class WebhookDelivery(Base):
    """One event for one webhook, written with what it tells of and sent by a job."""

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'sent', 'failed')", name="state"),
        Index("ix_webhook_delivery_state", "state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    webhook_id: Mapped[int] = mapped_column(ForeignKey("webhook.id", ondelete="CASCADE"), index=True)
    message: Mapped[str] = mapped_column(unique=True)
    """Delivery id for receivers, the same in each attempt."""
    event: Mapped[str]
    data: Mapped[dict[str, Any]]
    path: Mapped[str]
    """Of the page that shows it."""
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    next_at: Mapped[datetime]
    """When it may be tried (again)."""


class WebhookAttempt(Base):
    """One try to send a delivery, and what was answered."""

    __tablename__ = "webhook_attempt"

    id: Mapped[int] = mapped_column(primary_key=True)
    delivery_id: Mapped[int] = mapped_column(
        ForeignKey("webhook_delivery.id", ondelete="CASCADE"), index=True
    )
    at: Mapped[datetime]
    status: Mapped[int | None]
    """None: there was no answer."""
    milliseconds: Mapped[int]
    said: Mapped[str]
    """The beginning of the answer, or why there was none."""
