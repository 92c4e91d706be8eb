"""The step of the Ladder and offers to merge teams go.

Revision ID: 0032
Revises: 0031
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOST_NAMED = 5
STEPS = "SELECT slug FROM task WHERE ladder_step IS NOT NULL ORDER BY id"
WAITING = (
    "SELECT team.name FROM token JOIN team ON team.id = token.team_id WHERE token.kind = 'merge' "
    "AND token.used_at IS NULL AND token.revoked_at IS NULL AND token.expires_at > CURRENT_TIMESTAMP "
    "ORDER BY token.id"
)


def upgrade() -> None:
    """Drop the step and the offers that are over; raises ValueError where some would be lost."""
    _require_none(
        STEPS,
        "The Ladder is gone, and these tasks have a step of it: {names}. Save what it told "
        "(/tasks/SLUG/reveal.json) and empty the setting with the version before "
        "(`leaderboard task set SLUG ladder_step=`), then upgrade again. Teams then read their real public "
        "scores.",
    )
    _require_none(
        WAITING,
        "Teams are merged by an operator's command now, and an offer of these teams waits: {names}. Let it "
        "be accepted with the version before, or wait until it runs out, at most seven days, then upgrade "
        "again.",
    )
    op.execute(sa.text("DELETE FROM token WHERE kind = 'merge'"))
    with op.batch_alter_table("token") as batch_op:
        batch_op.drop_column("team_id")
    with op.batch_alter_table("task") as batch_op:
        batch_op.drop_column("ladder_step")


def _require_none(query: str, sentence: str) -> None:
    found = list(op.get_bind().execute(sa.text(query)).scalars())
    if found:
        more = f" and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
        raise ValueError(sentence.format(names=", ".join(found[:MOST_NAMED]) + more))


def downgrade() -> None:
    """Bring the columns back; they are empty."""
    with op.batch_alter_table("token") as batch_op:
        batch_op.add_column(sa.Column("team_id", BigId, nullable=True))
        batch_op.create_foreign_key(op.f("fk_token_team_id"), "team", ["team_id"], ["id"], ondelete="CASCADE")
    with op.batch_alter_table("task") as batch_op:
        batch_op.add_column(sa.Column("ladder_step", sa.Double(), nullable=True))
