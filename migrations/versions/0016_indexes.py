"""Indexes for what pages ask of tables that grow with every run and act.

Revision ID: 0016
Revises: 0015
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Find the newest act of a kind, and the fixes of an upload, without reading all of them."""
    op.create_index("ix_audit_action_id", "audit", ["action", "id"])
    op.create_index("ix_upload_fixed_from_id", "upload", ["fixed_from_id"])


def downgrade() -> None:
    """Read all of them again."""
    op.drop_index("ix_upload_fixed_from_id", "upload")
    op.drop_index("ix_audit_action_id", "audit")
