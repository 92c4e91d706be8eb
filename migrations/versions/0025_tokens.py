"""No tokens of workers, webhooks that take turns, and names compared by Unicode's newest list.

Revision ID: 0025
Revises: 0024
"""

from pathlib import Path
from unicodedata import category, normalize

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)
# A copy of the program's table of that day: what an upgrade writes may not change with the program.
LOOK_ALIKES = Path(__file__).with_name("0025_skeletons.txt")
STROKES = "\u0334\u0335\u0336\u0337\u0338"
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
    alike = _look_alikes()
    for row in rows:
        made = _skeleton(row.name, alike)
        if made not in given:
            given.add(made)
            op.execute(sa.update(table).where(table.c.id == row.id).values(skeleton=made))


def _skeleton(name: str, alike: dict[str, str]) -> str:
    apart = normalize("NFD", normalize("NFKC", name))
    shown = normalize("NFD", "".join(alike.get(letter, letter) for letter in apart)).casefold()
    kept = "".join(letter for letter in shown if category(letter)[0] not in "PZC" and letter not in STROKES)
    return kept or shown


def _look_alikes() -> dict[str, str]:
    lines = LOOK_ALIKES.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(";") for line in lines if line and not line.startswith("#"))
    return {source: _text(instead) for instead, sources in pairs for source in _text(sources)}


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def _allow(rule: str) -> None:
    name = op.f("ck_api_token_kind")
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(name, "api_token", type_="check")
        op.create_check_constraint(name, "api_token", rule)
        return
    check = sa.CheckConstraint(rule, name=name)
    with op.batch_alter_table("api_token", table_args=(check,), recreate="always") as batch:
        batch.drop_constraint(name, type_="check")
