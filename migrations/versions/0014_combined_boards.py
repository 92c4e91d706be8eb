"""Samples of people's judgments whose combined board is shown to everybody.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Say since when the combined board of a pool is shown."""
    op.add_column("pool", sa.Column("shown_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Show no combined board to others."""
    with op.batch_alter_table("pool") as batch:
        batch.drop_column("shown_at")
