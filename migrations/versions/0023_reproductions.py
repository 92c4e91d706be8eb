"""Runs that reproduce other runs, and the thresholds of a task's reproductions.

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Let a run say which one it reproduces; all tasks begin with the usual thresholds."""
    op.add_column("task", sa.Column("reproduction_thresholds", sa.JSON(), nullable=True))
    op.create_table(
        "reproduction",
        sa.Column("run_id", Id, nullable=False),
        sa.Column("original_id", Id, nullable=False),
        sa.Column("baseline_id", Id, nullable=True),
        sa.Column("original_baseline_id", Id, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_reproduction")),
        _of_run("run_id", "CASCADE"),
        _of_run("original_id", "CASCADE"),
        _of_run("baseline_id", "SET NULL"),
        _of_run("original_baseline_id", "SET NULL"),
    )
    for column in ("original_id", "baseline_id", "original_baseline_id"):
        op.create_index(op.f(f"ix_reproduction_{column}"), "reproduction", [column])


def downgrade() -> None:
    """Forget which runs reproduce others, and the thresholds."""
    op.drop_table("reproduction")
    op.drop_column("task", "reproduction_thresholds")


def _of_run(column: str, when_deleted: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_reproduction_{column}")
    return sa.ForeignKeyConstraint([column], ["run.id"], name=name, ondelete=when_deleted)
