"""One number that every change of the site raises, by which kept pages are told to be as new as it.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table of one row."""
    version = op.create_table(
        "site_version",
        sa.Column("id", Id, nullable=False, autoincrement=False),
        sa.Column("number", Id, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_site_version_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_site_version")),
    )
    op.bulk_insert(version, [{"id": 1, "number": 0}])


def downgrade() -> None:
    """Count no more."""
    op.drop_table("site_version")
