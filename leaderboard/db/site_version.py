"""The number of a site's version: every transaction that changes visible data increments it."""

from contextlib import closing

from sqlalchemy import CheckConstraint, Engine, event, insert, text
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.schema import Table

from leaderboard.db.base import Base

RAISE = text("UPDATE site_version SET number = number + 1")
RAISE_IF_WRITTEN = text(
    "UPDATE site_version SET number = number + 1 WHERE txid_current_if_assigned() IS NOT NULL"
)
COUNTED = "changes counted"
"""Of a connection to SQLite: how many rows it had changed when that was last checked."""


class SiteVersion(Base):
    """The one row: two readers who find the same number see the same site, except for the clock."""

    __tablename__ = "site_version"
    __table_args__ = (CheckConstraint("id = 1", name="one"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int]


@event.listens_for(SiteVersion.__table__, "after_create")
def _fill(table: Table, connection, **_: object) -> None:  # type: ignore[no-untyped-def]
    connection.execute(insert(table).values(id=1, number=0))


def number(engine: Engine) -> int | None:
    """The current version; None where the database has none, or does not answer.

    It is read before every page of a visitor, so by the driver: a session takes ten times as long.
    """
    try:
        with closing(engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT number FROM site_version")
            row = cursor.fetchone()
            cursor.close()
    except engine.dialect.loaded_dbapi.Error:
        # Who makes the page then meets the same error, as every page does, and says what it means.
        return None
    return None if row is None else int(row[0])


def count_change(session: Session, is_shown: bool) -> None:
    """Raise the version where this transaction wrote what may be shown; the last thing before its commit.

    Who waits for the row waits for another's commit alone: nothing is locked after it.
    """
    session.flush()
    connection = session.connection()
    if connection.dialect.name != "sqlite":
        if is_shown:
            session.execute(RAISE_IF_WRITTEN)
        return
    driver = connection.connection.driver_connection
    assert driver is not None, "the connection is open"
    if is_shown and driver.total_changes != connection.info.get(COUNTED, 0):
        session.execute(RAISE)
    # Hidden data is counted here too, or the next transaction would appear to have written it.
    connection.info[COUNTED] = driver.total_changes
