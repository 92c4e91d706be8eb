"""Logos and pictures of tasks, and who organises a task in words for everybody.

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table of pictures, and let tasks name their organisers."""
    op.create_table(
        "task_picture",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("alt", sa.String(), nullable=False),
        sa.Column("width", Id, nullable=False),
        sa.Column("height", Id, nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('logo', 'picture')", name=op.f("ck_task_picture_kind")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_task_picture_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_picture")),
        sa.UniqueConstraint("task_id", "kind", name=op.f("uq_task_picture_task_id_kind")),
    )
    op.add_column("task", sa.Column("organisers", sa.String(), server_default=sa.text("''"), nullable=False))


def downgrade() -> None:
    """Drop the pictures and the names."""
    with op.batch_alter_table("task") as batch:
        batch.drop_column("organisers")
    op.drop_table("task_picture")
