"""Checksums of editions: of what a board reads from them and what never changes.

Revision ID: 0029
Revises: 0028
"""

import zlib

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

OF_JSON = {"companions", "measures", "topic_sets"}
SUMMED = (
    "task_id",
    "number",
    "revision_id",
    "companions",
    "dialect",
    "measures",
    "primary_measure",
    "topic_sets",
)


def upgrade() -> None:
    """Add the checksum of every edition, one by one: the topics of many may be long."""
    connection = op.get_bind()
    op.add_column("edition", sa.Column("checksum", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
    columns = [sa.column(name, sa.JSON if name in OF_JSON else None) for name in SUMMED]
    edition = sa.table("edition", sa.column("id"), sa.column("checksum"))
    for key in connection.execute(sa.select(edition.c.id)).scalars().all():
        row = connection.execute(sa.select(*columns).select_from(edition).where(edition.c.id == key)).one()
        checksum = zlib.crc32(msgspec.msgpack.encode(tuple(row)))
        connection.execute(sa.update(edition).where(edition.c.id == key).values(checksum=checksum))


def downgrade() -> None:
    """Drop the checksums."""
    op.drop_column("edition", "checksum")
