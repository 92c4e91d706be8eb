"""Which sites may show the board of a task in a frame.

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Let tasks name the origins; nobody's page shows a frame until they do."""
    op.add_column("task", sa.Column("frames", sa.String(), server_default=sa.text("''"), nullable=False))


def downgrade() -> None:
    """Forget them."""
    with op.batch_alter_table("task") as batch:
        batch.drop_column("frames")
