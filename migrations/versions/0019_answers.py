"""Tasks whose runs are answers, the answers of their runs, and judgments of answers.

Revision ID: 0019
Revises: 0018
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytewise = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TASK = {
    "ck_task_visibility": "visibility IN ('open', 'blind', 'sealed')",
    "ck_task_dialect": "dialect IN (9, 10)",
    "ck_task_entry_rule": "entry_rule IN ('free', 'approval', 'code')",
    "ck_task_unmarked": "unmarked IN ('best', 'newest')",
    "ck_task_naming": "naming IN ('names', 'date', 'close', 'team')",
}
KIND = {"ck_task_kind": "kind IN ('rankings', 'answers')"}
ORIGIN = {"ck_qrels_origin": "origin IN ('human', 'machine', 'click')"}
LINES_BEFORE = {"ck_qrels_kind": "kind IN ('graded', 'subtopic', 'preference', 'sampled')"}
LINES = {"ck_qrels_kind": "kind IN ('graded', 'subtopic', 'preference', 'sampled', 'answers')"}


def upgrade() -> None:
    """Every task there is takes rankings, and goes on doing so."""
    with _made_anew("task", TASK) as batch:
        batch.add_column(sa.Column("kind", sa.String(), server_default="rankings", nullable=False))
        batch.add_column(sa.Column("answer_rules", sa.JSON(), server_default="{}", nullable=False))
    with _made_anew("task", TASK | KIND) as batch:
        batch.alter_column("answer_rules", server_default=None)
        if op.get_bind().dialect.name == "postgresql":
            batch.create_check_constraint(op.f("ck_task_kind"), KIND["ck_task_kind"])
    op.add_column("topic", sa.Column("answer_limit", Id, nullable=True))
    _check_lines(LINES)
    op.create_table(
        "answer",
        sa.Column("run_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "topic_id", name=op.f("pk_answer")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_answer_run_id"), ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Forget answers and their judgments; raises ValueError where a task has some."""
    if op.get_bind().scalar(sa.text("SELECT count(*) FROM task WHERE kind = 'answers'")):
        raise ValueError("This site has tasks of answers, which earlier versions cannot show.")
    op.drop_table("answer")
    with op.batch_alter_table("topic") as batch:
        batch.drop_column("answer_limit")
    _check_lines(LINES_BEFORE)
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f("ck_task_kind"), "task", type_="check")
    with _made_anew("task", TASK) as batch:
        batch.drop_column("kind")
        batch.drop_column("answer_rules")


def _check_lines(kinds: Mapping[str, str]) -> None:
    """Let the column of kinds of judgments take these."""
    if op.get_bind().dialect.name == "postgresql":
        ((name, rule),) = kinds.items()
        op.drop_constraint(op.f(name), "qrels", type_="check")
        op.create_check_constraint(op.f(name), "qrels", rule)
        return
    with _made_anew("qrels", {**kinds, **ORIGIN}):
        pass


@contextmanager
def _made_anew(table: str, checks: Mapping[str, str]) -> Iterator[BatchOperations]:
    """Changes of a table; SQLite's is made anew with these checks, whether or not it reads the old ones."""
    made = tuple(sa.CheckConstraint(rule, name=op.f(name)) for name, rule in checks.items())
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    recreate = "always" if is_sqlite else "never"
    with op.batch_alter_table(table, table_args=made, recreate=recreate) as batch:
        if is_sqlite:
            read = sa.Table(table, sa.MetaData(), autoload_with=op.get_bind())
            # A table that was made anew before may have its checks twice.
            for name in {known.name for known in read.constraints if isinstance(known, sa.CheckConstraint)}:
                batch.drop_constraint(op.f(str(name)), type_="check")
        yield batch
