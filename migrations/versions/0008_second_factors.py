"""Second factors of accounts; links of assessors end by themselves.

Revision ID: 0008
Revises: 0007
"""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
LINK_DAYS = 180


def upgrade() -> None:
    """Add the table second_factor and assessor.expires_at; links that work now do so for 180 days more."""
    op.create_table(
        "second_factor",
        sa.Column("account_id", Id, autoincrement=False, nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("last_step", Id, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("confirmed_at", Moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["account.id"],
            name=op.f("fk_second_factor_account_id_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_second_factor")),
    )
    op.create_index(op.f("ix_token_account_id"), "token", ["account_id"], unique=False)
    op.add_column("assessor", sa.Column("expires_at", Moment, nullable=True))
    _end_links_later()


def _end_links_later() -> None:
    ends = datetime.now(UTC) + timedelta(days=LINK_DAYS)
    if op.get_bind().dialect.name == "sqlite":
        ends = ends.replace(tzinfo=None)
    assessor = sa.table("assessor", sa.column("token_sha256", sa.String()), sa.column("expires_at", Moment))
    op.execute(sa.update(assessor).where(assessor.c.token_sha256.is_not(None)).values(expires_at=ends))


def downgrade() -> None:
    """Drop what upgrade added."""
    op.drop_column("assessor", "expires_at")
    op.drop_index(op.f("ix_token_account_id"), table_name="token")
    op.drop_table("second_factor")
