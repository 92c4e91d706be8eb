"""No tokens of workers, webhooks that take turns, and names compared by Unicode's newest list.

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op

from leaderboard.services.accounts.names import skeleton

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
KINDS_BEFORE, KINDS = "kind IN ('personal', 'runner', 'worker')", "kind IN ('personal', 'runner')"


def upgrade() -> None:
    """Delete the tokens of workers and what hangs on them, and allow no more of that kind."""
    of_workers = "(SELECT id FROM api_token WHERE kind = 'worker')"
    # SQLite enforces no foreign keys while tables are rebuilt, so nothing cascades there.
    op.execute(f"DELETE FROM idempotency_key WHERE token_id IN {of_workers}")
    op.execute(f"DELETE FROM device_request WHERE token_id IN {of_workers}")
    op.execute("DELETE FROM api_token WHERE kind = 'worker'")
    # A job that one of them holds comes back when its lease runs out.
    op.execute("DELETE FROM worker WHERE owner LIKE 'token %'")
    _allow(KINDS)
    op.add_column("webhook", sa.Column("tried_at", Moment, nullable=True))
    for name in ("account", "team"):
        _compare_again(name)
    op.add_column("webhook", sa.Column("took_ms", Id, nullable=True))


def downgrade() -> None:
    """Allow that kind again; the tokens themselves do not come back."""
    op.drop_column("webhook", "took_ms")
    op.drop_column("webhook", "tried_at")
    _allow(KINDS_BEFORE)


def _compare_again(name: str) -> None:
    """Renew each row's skeleton; of rows that look alike the oldest has one and the others keep none."""
    table = sa.table(name, *map(sa.column, ("id", "name", "canonical", "skeleton")))
    is_there = ~table.c.canonical.startswith("DELETED ", autoescape=True)
    rows = (
        op.get_bind().execute(sa.select(table.c.id, table.c.name).where(is_there).order_by(table.c.id)).all()
    )
    op.execute(sa.update(table).values(skeleton=None))
    given: set[str] = set()
    for row in rows:
        # By the program's own list: skeletons are only ever compared with those that it makes.
        made = skeleton(row.name)
        if made not in given:
            given.add(made)
            op.execute(sa.update(table).where(table.c.id == row.id).values(skeleton=made))


def _allow(rule: str) -> None:
    name = op.f("ck_api_token_kind")
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(name, "api_token", type_="check")
        op.create_check_constraint(name, "api_token", rule)
        return
    check = sa.CheckConstraint(rule, name=name)
    with op.batch_alter_table("api_token", table_args=(check,), recreate="always") as batch:
        batch.drop_constraint(name, type_="check")
