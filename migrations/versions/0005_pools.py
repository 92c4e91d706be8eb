"""Pools with assessors and their labels, side by side, click logs; distractors; companions of an edition.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
Bytewise = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Add what pools, assessments, side by side and click logs are kept in."""
    op.create_table(
        "pool",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("number", Id, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("method", sa.JSON(), nullable=False),
        sa.Column("adaptive", sa.Boolean(), nullable=False),
        sa.Column("seed", Id, nullable=False),
        sa.Column("run_ids", sa.JSON(), nullable=False),
        sa.Column("revision_id", Id, nullable=True),
        sa.Column("documents", Id, nullable=False),
        sa.Column("seconds_per_document", Id, nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("guidelines", sa.String(), nullable=False),
        sa.Column("examples", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("created_by", Id, nullable=True),
        sa.CheckConstraint("state IN ('draft', 'open', 'closed')", name=op.f("ck_pool_state")),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_pool_created_by")),
        sa.ForeignKeyConstraint(["revision_id"], ["qrels_revision.id"], name=op.f("fk_pool_revision_id")),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_pool_task_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pool")),
        sa.UniqueConstraint("task_id", "number", name=op.f("uq_pool_task_id_number")),
    )
    op.create_table(
        "pool_topic",
        sa.Column("pool_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("documents", Id, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pool_id"], ["pool.id"], name=op.f("fk_pool_topic_pool_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("pool_id", "topic_id", name=op.f("pk_pool_topic")),
    )
    op.create_table(
        "assessor",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("origin_name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("token_sha256", sa.String(), nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("revoked_at", Moment, nullable=True),
        sa.CheckConstraint("origin IN ('human', 'machine')", name=op.f("ck_assessor_origin")),
        sa.CheckConstraint("role IN ('assessor', 'adjudicator')", name=op.f("ck_assessor_role")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_assessor_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assessor")),
        sa.UniqueConstraint("task_id", "name", name=op.f("uq_assessor_task_id_name")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_assessor_token_sha256")),
    )
    op.create_table(
        "assignment",
        sa.Column("id", Id, nullable=False),
        sa.Column("pool_id", Id, nullable=False),
        sa.Column("assessor_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("document_order", sa.String(), nullable=False),
        sa.Column("seed", Id, nullable=False),
        sa.Column("parts", Id, nullable=False),
        sa.Column("part", Id, nullable=False),
        sa.Column("overlap", sa.Double(), nullable=False),
        sa.CheckConstraint(
            "document_order IN ('docno', 'score', 'random')", name=op.f("ck_assignment_document_order")
        ),
        sa.ForeignKeyConstraint(
            ["assessor_id"], ["assessor.id"], name=op.f("fk_assignment_assessor_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["pool_id"], ["pool.id"], name=op.f("fk_assignment_pool_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment")),
        sa.UniqueConstraint(
            "pool_id", "assessor_id", "topic_id", name=op.f("uq_assignment_pool_id_assessor_id_topic_id")
        ),
    )
    op.create_table(
        "assessment",
        sa.Column("id", Id, nullable=False),
        sa.Column("pool_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("docno", Bytewise, nullable=False),
        sa.Column("assessor_id", Id, nullable=False),
        sa.Column("grade", Id, nullable=True),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("shown_at", Moment, nullable=True),
        sa.Column("saved_at", Moment, nullable=False),
        sa.Column("sent_at", Moment, nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("undone", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["assessor_id"], ["assessor.id"], name=op.f("fk_assessment_assessor_id")),
        sa.ForeignKeyConstraint(
            ["pool_id"], ["pool.id"], name=op.f("fk_assessment_pool_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assessment")),
        sa.UniqueConstraint("assessor_id", "key", name=op.f("uq_assessment_assessor_id_key")),
    )
    op.create_table(
        "side_by_side",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("left_run_id", Id, nullable=False),
        sa.Column("right_run_id", Id, nullable=False),
        sa.Column("assessor_id", Id, nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("left_satisfaction", Id, nullable=True),
        sa.Column("right_satisfaction", Id, nullable=True),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("saved_at", Moment, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("undone", sa.Boolean(), nullable=False),
        sa.CheckConstraint("verdict IN ('left', 'right', 'equal')", name=op.f("ck_side_by_side_verdict")),
        sa.ForeignKeyConstraint(["assessor_id"], ["assessor.id"], name=op.f("fk_side_by_side_assessor_id")),
        sa.ForeignKeyConstraint(
            ["left_run_id"], ["run.id"], name=op.f("fk_side_by_side_left_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["right_run_id"], ["run.id"], name=op.f("fk_side_by_side_right_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_side_by_side_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_side_by_side")),
        sa.UniqueConstraint("assessor_id", "key", name=op.f("uq_side_by_side_assessor_id_key")),
    )
    op.create_table(
        "side_by_side_pair",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("first_run_id", Id, nullable=False),
        sa.Column("second_run_id", Id, nullable=False),
        sa.Column("assessor_id", Id, nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["assessor_id"],
            ["assessor.id"],
            name=op.f("fk_side_by_side_pair_assessor_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["first_run_id"], ["run.id"], name=op.f("fk_side_by_side_pair_first_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["second_run_id"], ["run.id"], name=op.f("fk_side_by_side_pair_second_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_side_by_side_pair_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_side_by_side_pair")),
        sa.UniqueConstraint(
            "task_id", "first_run_id", "second_run_id", "assessor_id", name="uq_side_by_side_pair_runs"
        ),
    )
    op.create_table(
        "click_log",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("number", Id, nullable=False),
        sa.Column("file_name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("sessions", Id, nullable=False),
        sa.Column("unknown", sa.JSON(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("created_by", Id, nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_click_log_created_by")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.id"], name=op.f("fk_click_log_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_click_log")),
        sa.UniqueConstraint("task_id", "number", name=op.f("uq_click_log_task_id_number")),
    )
    op.create_index(op.f("ix_side_by_side_task_id"), "side_by_side", ["task_id"], unique=False)
    op.create_index(op.f("ix_assessment_place"), "assessment", ["pool_id", "topic_id", "docno"], unique=False)
    op.create_index(op.f("ix_assignment_assessor_id"), "assignment", ["assessor_id"], unique=False)
    with op.batch_alter_table("edition", schema=None) as batch_op:
        batch_op.add_column(sa.Column("companions", sa.JSON(), nullable=True))
    with op.batch_alter_table("qrels_revision", schema=None) as batch_op:
        batch_op.add_column(sa.Column("distractors", sa.LargeBinary(), nullable=True))
    with op.batch_alter_table("task", schema=None) as batch_op:
        batch_op.add_column(sa.Column("click_key", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Drop what upgrade added."""
    with op.batch_alter_table("task", schema=None) as batch_op:
        batch_op.drop_column("click_key")
    with op.batch_alter_table("qrels_revision", schema=None) as batch_op:
        batch_op.drop_column("distractors")
    with op.batch_alter_table("edition", schema=None) as batch_op:
        batch_op.drop_column("companions")
    op.drop_table("click_log")
    op.drop_table("side_by_side_pair")
    op.drop_table("side_by_side")
    op.drop_table("assessment")
    op.drop_table("assignment")
    op.drop_table("assessor")
    op.drop_table("pool_topic")
    op.drop_table("pool")
