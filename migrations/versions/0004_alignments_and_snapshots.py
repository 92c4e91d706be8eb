"""Judged hits of every run under a revision; boards frozen as snapshots.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables alignment and snapshot."""
    op.create_table(
        "alignment",
        sa.Column("run_id", Id, nullable=False),
        sa.Column("revision_id", Id, nullable=False),
        sa.Column("dialect", Id, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_alignment_run_id_run"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["revision_id"],
            ["qrels_revision.id"],
            name=op.f("fk_alignment_revision_id_qrels_revision"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "revision_id", "dialect", name=op.f("pk_alignment")),
    )
    op.create_table(
        "snapshot",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("edition_id", Id, nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("created_by", Id, nullable=True),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_snapshot_task_id_task"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["edition_id"], ["edition.id"], name=op.f("fk_snapshot_edition_id_edition"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_snapshot_created_by_account")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshot")),
        sa.UniqueConstraint("sha256", name=op.f("uq_snapshot_sha256")),
    )
    op.create_index(op.f("ix_snapshot_task_id"), "snapshot", ["task_id"], unique=False)


def downgrade() -> None:
    """Drop what upgrade added."""
    op.drop_table("snapshot")
    op.drop_table("alignment")
