"""Tokens of agents, and what a phase asks of the runs that agents submit.

Revision ID: 0033
Revises: 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KINDS_BEFORE, KINDS = "kind IN ('personal', 'runner')", "kind IN ('personal', 'agent', 'runner')"


def upgrade() -> None:
    """Add the columns: nothing that is stored was an agent's."""
    _allow(KINDS)
    op.add_column("device_request", sa.Column("kind", sa.String(), server_default="personal", nullable=False))
    op.add_column("upload", sa.Column("agent", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("phase", sa.Column("agent_runs_per_day", Id, nullable=True))
    op.add_column("phase", sa.Column("agent_review", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    """Forget which runs are agents'; their tokens are deleted, because the kind before would allow more."""
    op.drop_column("phase", "agent_review")
    op.drop_column("phase", "agent_runs_per_day")
    op.drop_column("upload", "agent")
    op.drop_column("device_request", "kind")
    of_agents = "(SELECT id FROM api_token WHERE kind = 'agent')"
    # SQLite enforces no foreign keys while tables are rebuilt, so nothing cascades there.
    op.execute(f"DELETE FROM idempotency_key WHERE token_id IN {of_agents}")
    op.execute(f"DELETE FROM device_request WHERE token_id IN {of_agents}")
    op.execute("DELETE FROM api_token WHERE kind = 'agent'")
    _allow(KINDS_BEFORE)


def _allow(rule: str) -> None:
    name = op.f("ck_api_token_kind")
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(name, "api_token", type_="check")
        op.create_check_constraint(name, "api_token", rule)
        return
    check = sa.CheckConstraint(rule, name=name)
    with op.batch_alter_table("api_token", table_args=(check,), recreate="always") as batch:
        batch.drop_constraint(name, type_="check")
