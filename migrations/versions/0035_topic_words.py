"""Words that topics are searched by.

Revision ID: 0035
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Bytewise = sa.String().with_variant(sa.String(collation="C"), "postgresql")
LONGEST, MOST, IDEOGRAPHS = 40, 200, "\u2e80"
TOPICS = "SELECT id, topic_id, title FROM topic WHERE id > :last ORDER BY id LIMIT 1000"


def upgrade() -> None:
    """Make the table and fill it with the words of the topics that there are."""
    table = op.create_table(
        "topic_word",
        sa.Column("topic_id", BigId, nullable=False),
        sa.Column("word", Bytewise, nullable=False),
        sa.ForeignKeyConstraint(
            ["topic_id"], ["topic.id"], name=op.f("fk_topic_word_topic_id_topic"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("topic_id", "word", name=op.f("pk_topic_word")),
    )
    op.create_index("ix_topic_word_word_topic_id", "topic_word", ["word", "topic_id"])
    connection, last = op.get_bind(), -1
    while rows := connection.execute(sa.text(TOPICS), {"last": last}).all():
        last = rows[-1][0]
        words = [{"topic_id": row_id, "word": word} for row_id, *texts in rows for word in beginnings(*texts)]
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
    """Drop the table, whose words are those of another table."""
    op.drop_table("topic_word")
