"""Teams in a task: their entries, and the groups of teams and families of runs with boards of their own."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class Entry(Base):
    """A team in a task, under a pseudonym until reveal_at where one is set."""

    __tablename__ = "entry"
    __table_args__ = (
        UniqueConstraint("task_id", "team_id"),
        CheckConstraint("state IN ('waiting', 'entered', 'refused')", name="state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"), index=True)
    pseudonym: Mapped[str | None]
    reveal_at: Mapped[datetime | None] = mapped_column(index=True)
    state: Mapped[str] = mapped_column(default="entered", server_default="entered")
    why: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Why it was refused, in the organisers' words."""
    agreement_version: Mapped[int | None]
    """Accepted version of the task's agreement; None: none was required."""
    agreed_at: Mapped[datetime | None]
    agreed_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    entered_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    """The member who entered the team, by the form or by sending its first run; None: organisers put it here,
    which gives them no right over its members."""
    created_at: Mapped[datetime]


class RunGroup(Base):
    """Runs with a board of their own, chosen by team (such as students) or one by one (a family of runs)."""

    __tablename__ = "run_group"
    __table_args__ = (
        UniqueConstraint("task_id", "name"),
        CheckConstraint("kind IN ('teams', 'runs')", name="kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    kind: Mapped[str]
    declared_at: Mapped[datetime]
    """Before the first score of the task: tested within; later: a look at the data, said so."""


class GroupedTeam(Base):
    """A team in a group."""

    __tablename__ = "grouped_team"

    group_id: Mapped[int] = mapped_column(ForeignKey("run_group.id", ondelete="CASCADE"), primary_key=True)
    team_id: Mapped[int] = mapped_column(
        ForeignKey("team.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class GroupedRun(Base):
    """A run in a family."""

    __tablename__ = "grouped_run"

    group_id: Mapped[int] = mapped_column(ForeignKey("run_group.id", ondelete="CASCADE"), primary_key=True)
    run_id: Mapped[int] = mapped_column(
        ForeignKey("run.id", ondelete="CASCADE"), primary_key=True, index=True
    )
