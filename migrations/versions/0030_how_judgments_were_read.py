"""How the file of a revision of judgments was read, in sentences, not its second column alone.

Revision ID: 0030
Revises: 0029
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

SAID = (
    "The second column holds {}, but no document of a topic has two of them. "
    "It was taken for rounds; say so if these are subtopics."
)


def upgrade() -> None:
    """Add the sentences; what was known of a second column becomes one of them."""
    with op.batch_alter_table("qrels_revision") as batch:
        batch.add_column(sa.Column("read_as", sa.JSON(), server_default="[]", nullable=False))
    table = sa.table("qrels_revision", sa.column("id"), sa.column("rounds"), sa.column("read_as", sa.JSON()))
    connection = op.get_bind()
    for row in connection.execute(sa.select(table.c.id, table.c.rounds).where(table.c.rounds != "")).all():
        said = [SAID.format(row.rounds)]
        connection.execute(sa.update(table).where(table.c.id == row.id).values(read_as=said))
    with op.batch_alter_table("qrels_revision") as batch:
        batch.alter_column("read_as", server_default=None)


def downgrade() -> None:
    """Drop the sentences."""
    with op.batch_alter_table("qrels_revision") as batch:
        batch.drop_column("read_as")
