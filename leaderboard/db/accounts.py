"""People: accounts, their sessions and tokens, teams, invitations, roles, the audit log and throttles."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.engine import Base


class SigningKey(Base):
    """A key pair of Ed25519, 32 bytes each half."""

    __tablename__ = "signing_key"

    id: Mapped[int] = mapped_column(primary_key=True)
    public: Mapped[bytes]
    private: Mapped[bytes | None]
    """None once another key has replaced it."""
    created_at: Mapped[datetime]
    retired_at: Mapped[datetime | None]


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
    """Attempts since the last accepted one."""
    failing_since: Mapped[datetime | None]
    tried_at: Mapped[datetime | None]
    took_ms: Mapped[int | None]
    """Duration of its last attempt: a slow listener gets less time for the next."""
    created_at: Mapped[datetime]


class WebhookDelivery(Base):
    """One event for one webhook, written in the transaction of its change and sent by a job."""

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
    """One attempt to send a delivery, and the response."""

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


class ApiToken(Base):
    """A secret with which a program acts for an account; only its digest is kept."""

    __tablename__ = "api_token"
    __table_args__ = (CheckConstraint("kind IN ('personal', 'agent', 'runner')", name="kind"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    prefix: Mapped[str]
    """The first characters of the secret, by which its owner recognises it."""
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
    """A machine that requests a token; anyone who knows its short code and is signed in answers for it."""

    __tablename__ = "device_request"
    __table_args__ = (CheckConstraint("state IN ('waiting', 'approved', 'denied', 'done')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(unique=True)
    """Digest of the long code, which only the machine has."""
    user_code: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str] = mapped_column(default="personal", server_default="personal")
    """Kind of the requested token."""
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
    """When a server reported that there is no such address."""
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
    """A secret stored as a digest only, such as a one-time sign-in link."""

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
