"""Webhooks: addresses that are told of events, what is sent there, and every attempt.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make their tables."""
    _make_webhooks()
    _make_deliveries()
    _make_attempts()


def downgrade() -> None:
    """Take them away: nothing is told to anybody."""
    op.drop_table("webhook_attempt")
    op.drop_table("webhook_delivery")
    op.drop_table("webhook")


def _key(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete="CASCADE")


def _index(table: str, column: str) -> None:
    op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)


def _make_webhooks() -> None:
    op.create_table(
        "webhook",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=True),
        sa.Column("team_id", Id, nullable=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("old_secret", sa.String(), nullable=False),
        sa.Column("old_secret_until", Moment, nullable=True),
        sa.Column("paused_at", Moment, nullable=True),
        sa.Column("paused_why", sa.String(), nullable=False),
        sa.Column("failures", Id, nullable=False),
        sa.Column("failing_since", Moment, nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.CheckConstraint("(task_id IS NULL) <> (team_id IS NULL)", name=op.f("ck_webhook_owner")),
        _key("webhook", "task_id", "task"),
        _key("webhook", "team_id", "team"),
        _key("webhook", "account_id", "account"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    for column in ("task_id", "team_id", "account_id"):
        _index("webhook", column)


def _make_deliveries() -> None:
    op.create_table(
        "webhook_delivery",
        sa.Column("id", Id, nullable=False),
        sa.Column("webhook_id", Id, nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", Id, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("next_at", Moment, nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'sent', 'failed')", name=op.f("ck_webhook_delivery_state")),
        _key("webhook_delivery", "webhook_id", "webhook"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
        sa.UniqueConstraint("message", name=op.f("uq_webhook_delivery_message")),
    )
    for column in ("webhook_id", "state"):
        _index("webhook_delivery", column)


def _make_attempts() -> None:
    op.create_table(
        "webhook_attempt",
        sa.Column("id", Id, nullable=False),
        sa.Column("delivery_id", Id, nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("status", Id, nullable=True),
        sa.Column("milliseconds", Id, nullable=False),
        sa.Column("said", sa.String(), nullable=False),
        _key("webhook_attempt", "delivery_id", "webhook_delivery"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_attempt")),
    )
    _index("webhook_attempt", "delivery_id")
