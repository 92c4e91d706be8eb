"""Suites: tasks of the site as members of one, and runs that teams sent for several of them at once."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.engine import Base


class Suite(Base):
    """Several tasks whose boards make one: its title, and how runs are aggregated over the members."""

    __tablename__ = "suite"
    __table_args__ = (CheckConstraint("macro IN ('', 'domain', 'language', 'lag')", name="macro"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    description: Mapped[str]
    reference: Mapped[str]
    """Short name of the member that changes are measured from; empty for none."""
    baseline: Mapped[str]
    """Name of the suite run that gains are measured over; empty for none."""
    macro: Mapped[str]
    shared_topics: Mapped[bool]
    missing_is_empty: Mapped[bool]
    metadata_is_required: Mapped[bool]
    created_at: Mapped[datetime]
    withdrawn_at: Mapped[datetime | None]
    """Since when only who looks after it sees it."""


class SuiteMember(Base):
    """One task of a suite: its short name, which is that of its folder in archives, and its groups."""

    __tablename__ = "suite_member"
    __table_args__ = (UniqueConstraint("suite_id", "task_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    suite_id: Mapped[int] = mapped_column(ForeignKey("suite.id", ondelete="CASCADE"))
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    position: Mapped[int | None]
    """None for a task that was removed: its runs come back with it."""
    name: Mapped[str]
    measure: Mapped[str]
    """Canonical key; empty for the task's primary measure."""
    domain: Mapped[str]
    language: Mapped[str]
    lag: Mapped[str]


class SuiteRun(Base):
    """A suite run: submitted as an archive, or combined from runs of the members."""

    __tablename__ = "suite_run"

    id: Mapped[int] = mapped_column(primary_key=True)
    suite_id: Mapped[int] = mapped_column(ForeignKey("suite.id", ondelete="CASCADE"), index=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"), index=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="SET NULL"), index=True)
    name: Mapped[str]
    sha256: Mapped[str]
    """Of the archive as submitted; empty for one that was put together of runs of the members."""
    idempotency_key: Mapped[str | None] = mapped_column(unique=True)
    details: Mapped[dict[str, Any]]
    """Its metadata, as ir_metadata has it."""
    created_at: Mapped[datetime]
    withdrawn_at: Mapped[datetime | None]


class SuiteRunPart(Base):
    """A run of a member task that is a suite run's for this member; in a suite a run is of one suite run."""

    __tablename__ = "suite_run_part"
    __table_args__ = (UniqueConstraint("member_id", "run_id"),)

    suite_run_id: Mapped[int] = mapped_column(
        ForeignKey("suite_run.id", ondelete="CASCADE"), primary_key=True
    )
    member_id: Mapped[int] = mapped_column(
        ForeignKey("suite_member.id", ondelete="CASCADE"), primary_key=True
    )
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
