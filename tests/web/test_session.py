"""What a request has at hand, and that it gives back what it took."""

import gc
from pathlib import Path

from flask.testing import FlaskClient
from sqlalchemy import func, select, update
from sqlalchemy.pool import QueuePool

from leaderboard.accounts.ops.sessions import STAMP_EVERY
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import WebSession
from tests.make import build
from tests.web.conftest import SignIn


def test_noting_that_somebody_is_there_keeps_no_connection(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """A page that opened its reading session before it asked who reads gives all connections back."""
    build.task(database, tmp_path)
    sign_in(client, "Ann")
    pool = database.engine.pool
    assert isinstance(pool, QueuePool)
    gc.disable()
    try:
        for _ in range(3):
            with database.write() as session:
                long_ago = now(session) - 2 * STAMP_EVERY
                session.execute(update(WebSession).values(seen_at=long_ago))
            assert client.get("/tasks/t/efficiency").status_code == 200
            with database.read() as session:
                seen = session.scalars(select(func.max(WebSession.seen_at))).one()
            assert seen > long_ago + STAMP_EVERY
            assert pool.checkedout() == 0
    finally:
        gc.enable()
