"""Announcements of a task, changes of its settings, and queued mail."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class Announcement(Base):
    """An announcement by organisers to some or all participants of a task."""

    __tablename__ = "announcement"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    title: Mapped[str]
    body: Mapped[str]
    """Markdown."""
    recipients: Mapped[dict[str, Any]]
    """Recipients as chosen: {"kind": "everybody"}, {"kind": "teams", "teams": [...]}, ..."""
    count: Mapped[int]
    """Accounts it was for, as they were counted before it was sent."""
    created_at: Mapped[datetime]


class TaskChange(Base):
    """One setting of a task that changed, as participants see it."""

    __tablename__ = "task_change"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    what: Mapped[str]
    """The setting as text, such as `closing of test`."""
    before: Mapped[str]
    after: Mapped[str]
    reason: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime]


class Mail(Base):
    """One letter to one account, written with what it tells of and sent by a job."""

    __tablename__ = "mail"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'sent', 'failed', 'bounced')", name="state"),
        Index("ix_mail_state", "state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="SET NULL"), index=True)
    announcement_id: Mapped[int | None] = mapped_column(ForeignKey("announcement.id", ondelete="CASCADE"))
    address: Mapped[str]
    subject: Mapped[str]
    body: Mapped[str]
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(default=0)
    error: Mapped[str] = mapped_column(default="")
    """Last response of the server."""
    created_at: Mapped[datetime]
    next_at: Mapped[datetime]
    """When it may be tried (again)."""
    sent_at: Mapped[datetime | None]
