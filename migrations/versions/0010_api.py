"""The API: tokens, machines that ask for one, and answers kept under the keys of their requests.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables of the API."""
    _make_tokens()
    _make_device_requests()
    _make_idempotency_keys()


def downgrade() -> None:
    """Take them away: every token ends."""
    op.drop_table("idempotency_key")
    op.drop_table("device_request")
    op.drop_table("api_token")


def _key(table: str, column: str, target: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete=ondelete)


def _make_tokens() -> None:
    op.create_table(
        "api_token",
        sa.Column("id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("prefix", sa.String(), nullable=False),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("task_id", Id, nullable=True),
        sa.Column("team_id", Id, nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("created_by", Id, nullable=True),
        sa.Column("expires_at", Moment, nullable=True),
        sa.Column("last_used_at", Moment, nullable=True),
        sa.Column("revoked_at", Moment, nullable=True),
        sa.CheckConstraint("kind IN ('personal', 'runner', 'worker')", name=op.f("ck_api_token_kind")),
        _key("api_token", "account_id", "account"),
        _key("api_token", "created_by", "account", "SET NULL"),
        _key("api_token", "task_id", "task"),
        _key("api_token", "team_id", "team"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_api_token_token_sha256")),
    )
    op.create_index(op.f("ix_api_token_account_id"), "api_token", ["account_id"], unique=False)


def _make_device_requests() -> None:
    op.create_table(
        "device_request",
        sa.Column("id", Id, nullable=False),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("user_code", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("ip", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("polled_at", Moment, nullable=True),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("task_id", Id, nullable=True),
        sa.Column("team_id", Id, nullable=True),
        sa.Column("token_id", Id, nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'approved', 'denied', 'done')", name=op.f("ck_device_request_state")
        ),
        _key("device_request", "account_id", "account"),
        _key("device_request", "task_id", "task"),
        _key("device_request", "team_id", "team"),
        _key("device_request", "token_id", "api_token"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_device_request")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_device_request_token_sha256")),
        sa.UniqueConstraint("user_code", name=op.f("uq_device_request_user_code")),
    )


def _make_idempotency_keys() -> None:
    op.create_table(
        "idempotency_key",
        sa.Column("token_id", Id, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("request_sha256", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("status", Id, nullable=True),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.CheckConstraint("state IN ('running', 'done')", name=op.f("ck_idempotency_key_state")),
        _key("idempotency_key", "token_id", "api_token"),
        sa.PrimaryKeyConstraint("token_id", "key", name=op.f("pk_idempotency_key")),
    )
    op.create_index(op.f("ix_idempotency_key_created_at"), "idempotency_key", ["created_at"], unique=False)
