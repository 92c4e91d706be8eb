"""Comparisons of runs: a task's test and correction, a team's primary run, results of statistics jobs.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add task.comparison, entry.primary_run_id and the table statistic."""
    with op.batch_alter_table("task", schema=None) as batch_op:
        batch_op.add_column(sa.Column("comparison", sa.String(), nullable=False, server_default="t+holm"))
    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.add_column(sa.Column("primary_run_id", Id, nullable=True))
        batch_op.create_foreign_key(op.f("fk_entry_primary_run_id_run"), "run", ["primary_run_id"], ["id"])
    op.create_table(
        "statistic",
        sa.Column("id", Id, nullable=False),
        sa.Column("edition_id", Id, nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("computed_at", Moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["edition_id"], ["edition.id"], name=op.f("fk_statistic_edition_id_edition"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_statistic")),
        sa.UniqueConstraint("digest", name=op.f("uq_statistic_digest")),
    )
    op.create_index(op.f("ix_statistic_edition_id"), "statistic", ["edition_id"], unique=False)


def downgrade() -> None:
    """Drop what upgrade added."""
    op.drop_table("statistic")
    with op.batch_alter_table("entry", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("fk_entry_primary_run_id_run"), type_="foreignkey")
        batch_op.drop_column("primary_run_id")
    with op.batch_alter_table("task", schema=None) as batch_op:
        batch_op.drop_column("comparison")
