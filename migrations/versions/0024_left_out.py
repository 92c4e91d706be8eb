"""Documents left out by topic beside a revision's judgments.

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Let revisions leave documents out."""
    op.add_column("qrels_revision", sa.Column("left_out", sa.LargeBinary(), nullable=True))
    op.add_column("qrels_revision", sa.Column("left_out_facts", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Forget these documents; raises ValueError where a revision leaves some out."""
    if op.get_bind().scalar(sa.text("SELECT count(*) FROM qrels_revision WHERE left_out IS NOT NULL")):
        raise ValueError(
            "This site has revisions that leave documents out, which earlier versions would score."
        )
    op.drop_column("qrels_revision", "left_out_facts")
    op.drop_column("qrels_revision", "left_out")
