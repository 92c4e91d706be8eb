"""Suites of several tasks, and runs of them.

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
TABLES = ("suite_run_part", "suite_run", "suite_member", "suite")


def upgrade() -> None:
    """Nothing that is there changes."""
    _suites()
    _members()
    _runs()
    _parts()
    # When the next name is shown is asked by pages of people who signed in too, since there are suites.
    op.create_index(op.f("ix_entry_reveal_at"), "entry", ["reveal_at"])


def downgrade() -> None:
    """Forget suites; the runs of their members stay."""
    op.drop_index(op.f("ix_entry_reveal_at"), "entry")
    for table in TABLES:
        op.drop_table(table)


def _references(table: str, column: str, target: str, ondelete: str | None) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete=ondelete)


def _suites() -> None:
    op.create_table(
        "suite",
        sa.Column("id", Id, nullable=False),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("slug", "title", "description", "reference", "baseline", "macro")
        ),
        *(
            sa.Column(name, sa.Boolean(), nullable=False)
            for name in ("shared_topics", "missing_is_empty", "metadata_is_required")
        ),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("withdrawn_at", Moment, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suite")),
        sa.UniqueConstraint("slug", name=op.f("uq_suite_slug")),
        sa.CheckConstraint("macro IN ('', 'domain', 'language', 'lag')", name=op.f("ck_suite_macro")),
    )


def _members() -> None:
    op.create_table(
        "suite_member",
        sa.Column("id", Id, nullable=False),
        sa.Column("suite_id", Id, nullable=False),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("position", Id, nullable=True),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("name", "measure", "domain", "language", "lag")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suite_member")),
        sa.UniqueConstraint("suite_id", "task_id", name=op.f("uq_suite_member_suite_id_task_id")),
        _references("suite_member", "suite_id", "suite", "CASCADE"),
        _references("suite_member", "task_id", "task", "CASCADE"),
    )
    op.create_index(op.f("ix_suite_member_task_id"), "suite_member", ["task_id"])


def _runs() -> None:
    op.create_table(
        "suite_run",
        sa.Column("id", Id, nullable=False),
        sa.Column("suite_id", Id, nullable=False),
        sa.Column("team_id", Id, nullable=False),
        sa.Column("account_id", Id, nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("withdrawn_at", Moment, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suite_run")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_suite_run_idempotency_key")),
        _references("suite_run", "suite_id", "suite", "CASCADE"),
        _references("suite_run", "team_id", "team", None),
        _references("suite_run", "account_id", "account", "SET NULL"),
    )
    for column in ("suite_id", "team_id", "account_id"):
        op.create_index(op.f(f"ix_suite_run_{column}"), "suite_run", [column])


def _parts() -> None:
    op.create_table(
        "suite_run_part",
        sa.Column("suite_run_id", Id, nullable=False),
        sa.Column("member_id", Id, nullable=False),
        sa.Column("run_id", Id, nullable=False),
        sa.PrimaryKeyConstraint("suite_run_id", "member_id", name=op.f("pk_suite_run_part")),
        sa.UniqueConstraint("member_id", "run_id", name=op.f("uq_suite_run_part_member_id_run_id")),
        _references("suite_run_part", "suite_run_id", "suite_run", "CASCADE"),
        _references("suite_run_part", "member_id", "suite_member", "CASCADE"),
        _references("suite_run_part", "run_id", "run", "CASCADE"),
    )
    op.create_index(op.f("ix_suite_run_part_run_id"), "suite_run_part", ["run_id"])
