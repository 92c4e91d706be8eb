"""No judging room for a screen: the links that showed it open nothing any more.

Revision ID: 0029
Revises: 0028
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Delete the links for screens, which lasted three days at most and held nothing but a digest."""
    op.execute("DELETE FROM token WHERE kind = 'screen'")


def downgrade() -> None:
    """The tables are the same; whoever wants a screen makes a new link."""
