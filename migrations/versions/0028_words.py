"""Words that runs and teams are searched by; means by their set of topics, as a board reads them.

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytewise = sa.String().with_variant(sa.String(collation="C"), "postgresql")
AT_ONCE = 1000
LONGEST, MOST, IDEOGRAPHS = 40, 200, "\u2e80"


def upgrade() -> None:
    """Make the tables, fill them with the words of the runs and teams that there are, and the index."""
    for kind, texts in (("run", "name, tag, description"), ("team", "name")):
        key, name = f"{kind}_id", f"{kind}_word"
        made = op.create_table(
            name,
            sa.Column(key, BigId, nullable=False),
            sa.Column("word", Bytewise, nullable=False),
            sa.ForeignKeyConstraint(
                [key], [f"{kind}.id"], name=op.f(f"fk_{name}_{key}_{kind}"), ondelete="CASCADE"
            ),
            sa.PrimaryKeyConstraint(key, "word", name=op.f(f"pk_{name}")),
        )
        op.create_index(f"ix_{name}_word_{key}", name, ["word", key])
        _fill(made, key, f"SELECT id, {texts} FROM {kind} WHERE id > :last ORDER BY id LIMIT {AT_ONCE}")
    op.create_index("ix_evaluation_mean_topic_set_id", "evaluation_mean", ["topic_set_id"])


def _fill(table: sa.Table, key: str, query: str) -> None:
    connection, last = op.get_bind(), -1
    while rows := connection.execute(sa.text(query), {"last": last}).all():
        last = rows[-1][0]
        words = [{key: row_id, "word": word} for row_id, *texts in rows for word in beginnings(*texts)]
        if words:
            connection.execute(table.insert(), words)


def beginnings(*texts: str) -> list[str]:
    """The parts of texts that a search finds by how they begin, as the program had them at this step."""
    found: dict[str, None] = {}
    for word in " ".join(text or "" for text in texts).casefold().split():
        for at, letter in enumerate(word):
            before = word[at - 1] if at else " "
            if at and not (letter.isalnum() and (_kind(before) != _kind(letter) or letter >= IDEOGRAPHS)):
                continue
            found[word[at : at + LONGEST]] = None
            if len(found) == MOST:
                return list(found)
    return list(found)


def _kind(letter: str) -> str:
    return "letter" if letter.isalpha() else "digit" if letter.isdigit() else "sign"


def downgrade() -> None:
    """Drop the tables, whose words are those of other tables, and the index."""
    op.drop_index("ix_evaluation_mean_topic_set_id", "evaluation_mean")
    op.drop_table("team_word")
    op.drop_table("run_word")
