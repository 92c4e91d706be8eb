"""Tasks whose runs are boards of judges, their references, and the boards of their runs.

Revision ID: 0021
Revises: 0020
"""

from collections.abc import Mapping

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TASKS_BEFORE, TASKS = ("kind IN ('rankings', 'answers')", "kind IN ('rankings', 'answers', 'judges')")
LINES_BEFORE = "kind IN ('graded', 'subtopic', 'preference', 'sampled', 'answers')"
LINES = "kind IN ('graded', 'subtopic', 'preference', 'sampled', 'answers', 'board')"


def upgrade() -> None:
    """Let tasks take boards, and their judgments be one."""
    _check("task", {"ck_task_kind": TASKS})
    _check("qrels", {"ck_qrels_kind": LINES})
    op.create_table(
        "judge_board",
        sa.Column("run_id", Id, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_judge_board")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_judge_board_run_id"), ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    """Forget boards of judges; raises ValueError where a task has some."""
    if op.get_bind().scalar(sa.text("SELECT count(*) FROM task WHERE kind = 'judges'")):
        raise ValueError("This site has tasks of judges, which earlier versions cannot show.")
    op.drop_table("judge_board")
    _check("qrels", {"ck_qrels_kind": LINES_BEFORE})
    _check("task", {"ck_task_kind": TASKS_BEFORE})


def _check(table: str, changed: Mapping[str, str]) -> None:
    """Put a rule of the table in place of the one of that name."""
    ((name, rule),) = changed.items()
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f(name), table, type_="check")
        op.create_check_constraint(op.f(name), table, rule)
        return
    read = sa.Table(table, sa.MetaData(), autoload_with=op.get_bind())
    # SQLite's table is made anew, with the rules that it has, as SQLite says them, but this one.
    rules = {
        str(known.name): str(known.sqltext)
        for known in read.constraints
        if isinstance(known, sa.CheckConstraint)
    }
    made = tuple(sa.CheckConstraint(one, name=op.f(key)) for key, one in {**rules, **changed}.items())
    with op.batch_alter_table(table, table_args=made, recreate="always") as batch:
        for key in rules:
            batch.drop_constraint(op.f(key), type_="check")
