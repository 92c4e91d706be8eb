"""What an aggregate is made of, for measures whose scores alone do not tell.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add evaluation.parts."""
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.add_column(sa.Column("parts", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Drop evaluation.parts."""
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.drop_column("parts")
