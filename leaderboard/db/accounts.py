"""People: accounts, their sessions and tokens, teams, invitations, roles, the audit log and throttles."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base


class Account(Base):
    """One person; `canonical` is the name without case and spacing, `skeleton` what it looks like."""

    __tablename__ = "account"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    canonical: Mapped[str] = mapped_column(unique=True)
    skeleton: Mapped[str | None] = mapped_column(unique=True)
    """None where a name that was there before skeletons looks like an older one."""
    email: Mapped[str] = mapped_column(default="")
    """Address for copies of notices; empty: no mail."""
    email_confirmed_at: Mapped[datetime | None]
    email_bounced_at: Mapped[datetime | None]
    """When a server said that there is no such address."""
    password_hash: Mapped[str | None]
    is_organiser: Mapped[bool] = mapped_column(default=False)
    """May create collections and tasks."""
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]
    """When its name and address were removed; the row stays, for what it did."""


class WebSession(Base):
    """One signed-in browser; only the digest of its cookie is kept."""

    __tablename__ = "session"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    ip: Mapped[str] = mapped_column(default="")
    agent: Mapped[str] = mapped_column(default="")


class SecondFactor(Base):
    """The secret an account shares with its authenticator; it counts from confirmed_at on."""

    __tablename__ = "second_factor"

    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    secret: Mapped[str]
    last_step: Mapped[int] = mapped_column(default=0)
    """Number of the half minute whose code was used last: that one and older codes are used up."""
    created_at: Mapped[datetime]
    confirmed_at: Mapped[datetime | None]


class Token(Base):
    """A secret of which only the digest is kept, such as a one-time sign-in link."""

    __tablename__ = "token"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    """sign_in, email (confirms an address), device, pending (a session that waits for a code) or recovery."""
    token_sha256: Mapped[str] = mapped_column(unique=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    scope: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Team(Base):
    """A team; runs belong to teams."""

    __tablename__ = "team"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    canonical: Mapped[str] = mapped_column(unique=True)
    skeleton: Mapped[str | None] = mapped_column(unique=True)
    """As an account's."""
    affiliation: Mapped[str] = mapped_column(default="", server_default=text("''"))
    country: Mapped[str] = mapped_column(default="", server_default=text("''"))
    home_page: Mapped[str] = mapped_column(default="", server_default=text("''"))
    merged_into_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"))
    """The team that has its members and runs now."""
    created_at: Mapped[datetime]


class Invitation(Base):
    """A link that makes anyone who opens it a member, an organiser or an account; only its digest is kept."""

    __tablename__ = "invitation"
    __table_args__ = (CheckConstraint("kind IN ('site', 'team', 'task', 'review')", name="kind"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    """site: an account; team: a member; task: a role or an entry; review: a team's runs, pseudonym kept."""
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"), index=True)
    task_id: Mapped[int | None] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    role: Mapped[str] = mapped_column(default="")
    """In a task: organiser, coordinator or reader; empty: a participant."""
    note: Mapped[str] = mapped_column(default="")
    """Why, in the words of who invites."""
    uses_allowed: Mapped[int | None]
    """Maximum number of uses; None means unlimited."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class InvitationUse(Base):
    """An account that used an invitation."""

    __tablename__ = "invitation_use"

    invitation_id: Mapped[int] = mapped_column(
        ForeignKey("invitation.id", ondelete="CASCADE"), primary_key=True
    )
    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    used_at: Mapped[datetime]


class Identity(Base):
    """An account as a provider of OpenID Connect knows it; never matched by mail address."""

    __tablename__ = "identity"

    issuer: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]


class Member(Base):
    """An account in a team; role is captain or member."""

    __tablename__ = "member"

    team_id: Mapped[int] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"), primary_key=True)
    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[str]
    joined_at: Mapped[datetime]


class TaskRole(Base):
    """Role of an account in a task: organiser, coordinator (of assessors) or reader (of everything)."""

    __tablename__ = "task_role"

    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), primary_key=True)
    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[str] = mapped_column(primary_key=True)


class Audit(Base):
    """Append-only audit log, each row's digest covering the row before it."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_action_id", "action", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    account_id: Mapped[int | None]
    ip: Mapped[str] = mapped_column(default="")
    action: Mapped[str]
    subject: Mapped[str]
    detail: Mapped[dict[str, Any]]
    digest: Mapped[str]


class Throttle(Base):
    """Number of attempts within a window of time; survives restarts."""

    __tablename__ = "throttle"
    __table_args__ = (Index("ix_throttle_window_start", "window_start"),)

    key: Mapped[str] = mapped_column(primary_key=True)
    window_start: Mapped[datetime] = mapped_column(primary_key=True)
    count: Mapped[int]
