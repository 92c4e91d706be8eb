"""Alembic's entry: migrates over the connection it is given, or opens the configured database."""

from alembic import context

from leaderboard.db.engine import Database
from leaderboard.db.tables import metadata
from leaderboard.settings import Settings


def _migrate(connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        compare_type=True,
        compare_server_default=True,
        transactional_ddl=True,
    )
    # The caller's transaction covers everything, so that a failed migration leaves nothing behind.
    context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _migrate(given)
else:
    with Database(Settings.from_env().url).engine.connect() as own:
        _migrate(own)
        own.commit()
