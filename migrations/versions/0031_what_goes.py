"""No judging room for a screen: the links that showed it open nothing any more.

Revision ID: 0031
Revises: 0030
"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Delete the links for screens, which lasted three days at most and held nothing but a digest."""
    op.execute("DELETE FROM token WHERE kind = 'screen'")


def downgrade() -> None:
    """The tables are the same; whoever wants a screen makes a new link."""
