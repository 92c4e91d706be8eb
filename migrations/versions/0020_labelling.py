"""Rounds in which people make nuggets and labels of answers.

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytewise = sa.String().with_variant(sa.String(collation="C"), "postgresql")
Moment = sa.DateTime(timezone=True)
TABLES = ("written_nugget", "answer_label", "labelling_share", "labelling_topic", "labelling_round")


def upgrade() -> None:
    """Nothing that is there changes."""
    _rounds()
    _topics()
    _shares()
    _labels()
    _nuggets()


def downgrade() -> None:
    """Forget what people made at the desk; revisions made of it stay."""
    for table in TABLES:
        op.drop_table(table)


def _references(table: str, column: str, *, owned: bool = True) -> sa.ForeignKeyConstraint:
    of = column.removesuffix("_id")
    target = {"round": "labelling_round", "into": "written_nugget"}.get(of, of)
    ondelete = "CASCADE" if owned else None
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete=ondelete)


def _rounds() -> None:
    op.create_table(
        "labelling_round",
        sa.Column("id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("number", Id, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("revision", Id, nullable=True),
        sa.Column("every_citation", sa.Boolean(), nullable=False),
        sa.Column("twice", sa.Double(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("guidelines", sa.String(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_labelling_round")),
        sa.UniqueConstraint("task_id", "number", name=op.f("uq_labelling_round_task_id_number")),
        sa.CheckConstraint(
            "kind IN ('nuggets', 'assignments', 'support')", name=op.f("ck_labelling_round_kind")
        ),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_labelling_round_state")),
        _references("labelling_round", "task_id"),
    )


def _topics() -> None:
    op.create_table(
        "labelling_topic",
        sa.Column("round_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("nuggets", sa.JSON(), nullable=False),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("round_id", "topic_id", name=op.f("pk_labelling_topic")),
        _references("labelling_topic", "round_id"),
    )


def _shares() -> None:
    op.create_table(
        "labelling_share",
        sa.Column("round_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("assessor_id", Id, nullable=False),
        sa.Column("is_second", sa.Boolean(), nullable=False),
        sa.Column("done_at", Moment, nullable=True),
        sa.PrimaryKeyConstraint("round_id", "topic_id", "assessor_id", name=op.f("pk_labelling_share")),
        _references("labelling_share", "round_id"),
        _references("labelling_share", "assessor_id"),
    )
    op.create_index(op.f("ix_labelling_share_assessor_id"), "labelling_share", ["assessor_id"])


def _labels() -> None:
    op.create_table(
        "answer_label",
        sa.Column("id", Id, nullable=False),
        sa.Column("round_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("run_id", Id, nullable=False),
        sa.Column("place", Id, nullable=False),
        sa.Column("citation", Id, nullable=False),
        sa.Column("assessor_id", Id, nullable=False),
        sa.Column("label", Id, nullable=False),
        sa.Column("saved_at", Moment, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("undone", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answer_label")),
        sa.UniqueConstraint("assessor_id", "key", name=op.f("uq_answer_label_assessor_id_key")),
        _references("answer_label", "round_id"),
        _references("answer_label", "run_id"),
        _references("answer_label", "assessor_id", owned=False),
    )
    op.create_index("ix_answer_label_place", "answer_label", ["round_id", "topic_id"])


def _nuggets() -> None:
    op.create_table(
        "written_nugget",
        sa.Column("id", Id, nullable=False),
        sa.Column("round_id", Id, nullable=False),
        sa.Column("topic_id", Bytewise, nullable=False),
        sa.Column("assessor_id", Id, nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("importance", sa.String(), nullable=False),
        sa.Column("into_id", Id, nullable=True),
        sa.Column("is_out", sa.Boolean(), nullable=False),
        sa.Column("saved_at", Moment, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_written_nugget")),
        sa.UniqueConstraint("assessor_id", "key", name=op.f("uq_written_nugget_assessor_id_key")),
        sa.CheckConstraint("importance IN ('vital', 'okay')", name=op.f("ck_written_nugget_importance")),
        _references("written_nugget", "round_id"),
        _references("written_nugget", "assessor_id", owned=False),
        _references("written_nugget", "into_id"),
    )
    op.create_index("ix_written_nugget_place", "written_nugget", ["round_id", "topic_id"])
