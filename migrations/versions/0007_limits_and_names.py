"""Limits by account, skeletons of names, and names that tell nothing of what is held back.

Revision ID: 0007
Revises: 0006
"""

from pathlib import Path
from unicodedata import normalize

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
RUN_KINDS = "kind IN ('official', 'baseline', 'late', 'unofficial')"
TASK_CHECKS = {
    "ck_task_visibility": "visibility IN ('open', 'blind', 'sealed')",
    "ck_task_dialect": "dialect IN (9, 10)",
}
NAMED = ("account", "team")
# A copy of the program's table of that day: what an upgrade writes may not change with the program.
LOOK_ALIKES = Path(__file__).with_name("0007_skeletons.txt")


def upgrade() -> None:
    """Add what limits count by; run names become a team's own, names of drafts an organiser's."""
    for name in NAMED:
        with op.batch_alter_table(name, schema=None) as batch_op:
            batch_op.add_column(sa.Column("skeleton", sa.String(), nullable=True))
        _fill(name)
        with op.batch_alter_table(name, schema=None) as batch_op:
            batch_op.create_unique_constraint(op.f(f"uq_{name}_skeleton"), ["skeleton"])
    op.create_index(op.f("ix_upload_account_id"), "upload", ["account_id"], unique=False)
    with op.batch_alter_table("statistic", schema=None) as batch_op:
        batch_op.add_column(sa.Column("asked_by", Id, nullable=True))
        batch_op.create_foreign_key(
            op.f("fk_statistic_asked_by"), "account", ["asked_by"], ["id"], ondelete="SET NULL"
        )
    op.create_index(op.f("ix_statistic_asked_by"), "statistic", ["asked_by"], unique=False)
    with op.batch_alter_table("run", schema=None, table_args=_run_checks()) as batch_op:
        batch_op.drop_constraint(op.f("uq_run_task_id_name"), type_="unique")
        batch_op.create_unique_constraint(op.f("uq_run_task_id_team_id_name"), ["task_id", "team_id", "name"])
    with op.batch_alter_table("collection", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("uq_collection_name"), type_="unique")
    op.create_index(op.f("ix_collection_name"), "collection", ["name"], unique=False)
    with op.batch_alter_table("task", schema=None, table_args=_task_checks()) as batch_op:
        batch_op.drop_constraint(op.f("uq_task_slug"), type_="unique")
    published = sa.text("published_at IS NOT NULL")
    op.create_index("ix_task_slug", "task", ["slug"], unique=False)
    op.create_index(
        "uq_task_slug_published",
        "task",
        ["slug"],
        unique=True,
        sqlite_where=published,
        postgresql_where=published,
    )


def downgrade() -> None:
    """Take all of it back; fails where names are used twice that may not be then."""
    op.drop_index("uq_task_slug_published", "task")
    op.drop_index("ix_task_slug", "task")
    with op.batch_alter_table("task", schema=None, table_args=_task_checks()) as batch_op:
        batch_op.create_unique_constraint(op.f("uq_task_slug"), ["slug"])
    op.drop_index(op.f("ix_collection_name"), "collection")
    with op.batch_alter_table("collection", schema=None) as batch_op:
        batch_op.create_unique_constraint(op.f("uq_collection_name"), ["name"])
    with op.batch_alter_table("run", schema=None, table_args=_run_checks()) as batch_op:
        batch_op.drop_constraint(op.f("uq_run_task_id_team_id_name"), type_="unique")
        batch_op.create_unique_constraint(op.f("uq_run_task_id_name"), ["task_id", "name"])
    op.drop_index(op.f("ix_statistic_asked_by"), "statistic")
    with op.batch_alter_table("statistic", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("fk_statistic_asked_by"), type_="foreignkey")
        batch_op.drop_column("asked_by")
    op.drop_index(op.f("ix_upload_account_id"), "upload")
    for name in reversed(NAMED):
        with op.batch_alter_table(name, schema=None) as batch_op:
            batch_op.drop_constraint(op.f(f"uq_{name}_skeleton"), type_="unique")
            batch_op.drop_column("skeleton")


def _fill(name: str) -> None:
    """Give each row its skeleton; of rows that look alike the oldest has it and the others keep none."""
    table = sa.table(name, sa.column("id"), sa.column("name"), sa.column("skeleton"))
    given: set[str] = set()
    alike = _look_alikes()
    for row in op.get_bind().execute(sa.select(table.c.id, table.c.name).order_by(table.c.id)).all():
        made = _skeleton(row.name, alike)
        if made not in given:
            given.add(made)
            op.execute(sa.update(table).where(table.c.id == row.id).values(skeleton=made))


def _skeleton(name: str, alike: dict[str, str]) -> str:
    plain = " ".join(normalize("NFKC", name).split())
    shown = "".join(alike.get(character, character) for character in normalize("NFD", plain))
    return normalize("NFD", shown).casefold()


def _look_alikes() -> dict[str, str]:
    lines = LOOK_ALIKES.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(";") for line in lines if line and not line.startswith("#"))
    return {source: _text(instead) for instead, sources in pairs for source in _text(sources)}


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def _run_checks() -> tuple[sa.CheckConstraint, ...]:
    # SQLite's tables are made anew, and what they check is not read from the old ones.
    return (sa.CheckConstraint(RUN_KINDS, name=op.f("ck_run_kind")),)


def _task_checks() -> tuple[sa.CheckConstraint, ...]:
    return tuple(sa.CheckConstraint(rule, name=op.f(name)) for name, rule in TASK_CHECKS.items())
