"""Keys that a site signs what it publishes with.

Revision ID: 0034
Revises: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; the key is made when the site starts."""
    op.create_table(
        "signing_key",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("public", sa.LargeBinary(), nullable=False),
        sa.Column("private", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signing_key")),
    )


def downgrade() -> None:
    """Drop the table with its keys."""
    op.drop_table("signing_key")
