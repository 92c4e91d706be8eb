"""Files of uploads that lie in an object store.

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make room for their keys; no file is moved by this."""
    op.create_table(
        "stored_object",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("upload_id", Id, nullable=True),
        sa.Column("bytes", Id, nullable=False),
        sa.Column("loose_since", Moment, nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_stored_object")),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_stored_object_upload_id_upload"), ondelete="SET NULL"
        ),
        sa.UniqueConstraint("upload_id", name=op.f("uq_stored_object_upload_id")),
    )
    op.create_index(op.f("ix_stored_object_loose_since"), "stored_object", ["loose_since"])


def downgrade() -> None:
    """Forget them; move the files back first."""
    op.drop_table("stored_object")
