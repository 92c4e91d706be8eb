"""Run files that are sent in pieces.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the table of files that are being sent."""
    op.create_table(
        "partial_upload",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("team_id", Id, nullable=False),
        sa.Column("file_name", sa.String(), nullable=False),
        sa.Column("bytes", Id, nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("wishes", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("upload_id", Id, nullable=True),
        _key("account_id", "account"),
        _key("task_id", "task"),
        _key("team_id", "team"),
        _key("upload_id", "upload"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_partial_upload")),
    )
    op.create_index(op.f("ix_partial_upload_account_id"), "partial_upload", ["account_id"], unique=False)


def downgrade() -> None:
    """Forget them: what was not sent whole is sent anew."""
    op.drop_table("partial_upload")


def _key(column: str, target: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_partial_upload_{column}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete="CASCADE")
