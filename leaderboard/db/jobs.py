"""Background work as rows, written in the transaction of the change that needs it."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.engine import Base


class Job(Base):
    """One piece of background work; token fences off workers that lost their lease."""

    __tablename__ = "job"
    __table_args__ = (
        CheckConstraint("state IN ('queued', 'leased', 'done', 'failed', 'superseded')", name="state"),
        Index("ix_job_claim", "state", "priority", "id"),
        Index("ix_job_subject", "kind", "subject_id"),
        Index(
            "uq_job_dedupe_key_queued",
            "dedupe_key",
            unique=True,
            sqlite_where=text("state = 'queued'"),
            postgresql_where=text("state = 'queued'"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    subject_id: Mapped[int]
    """The upload or run it is about."""
    edition_id: Mapped[int | None] = mapped_column(index=True)
    """The edition an evaluation is for."""
    priority: Mapped[int]
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(default=0)
    max_attempts: Mapped[int] = mapped_column(default=3)
    limit_s: Mapped[int] = mapped_column(default=0)
    """Hard time limit of the newest attempt in seconds, set when it is claimed."""
    token: Mapped[int] = mapped_column(default=0)
    owner: Mapped[str] = mapped_column(default="")
    """host:process of the worker that holds or held it."""
    lease_until: Mapped[datetime | None]
    run_after: Mapped[datetime]
    carried_at: Mapped[datetime | None]
    """When its number was last sent to evaluators through a broker, where there is one; see `carrier/`."""
    dedupe_key: Mapped[str]
    error: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class Worker(Base):
    """An evaluator that looks for jobs, and when it last did."""

    __tablename__ = "worker"

    owner: Mapped[str] = mapped_column(primary_key=True)
    """host:process, as in the jobs it holds."""
    seen_at: Mapped[datetime]
