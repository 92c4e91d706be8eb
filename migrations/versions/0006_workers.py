"""The evaluators that look for jobs, so that a site can say whether its work is being done.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the table worker."""
    op.create_table(
        "worker",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("seen_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("owner", name=op.f("pk_worker")),
    )


def downgrade() -> None:
    """Drop the table worker."""
    op.drop_table("worker")
