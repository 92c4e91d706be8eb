"""Tasks with very many topics: stored in bulk, so that nobody else waits for long to write."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Topic
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from tests.make import build

pytestmark = pytest.mark.dialect

TOPICS = 12_000


def test_topics_are_stored_in_bulk(database: Database, tmp_path: Path) -> None:
    """A few statements for thousands of topics, and not one object each."""
    topics = build.topics_file(tmp_path, map(str, range(TOPICS)))
    prepared = drafts.prepare(TaskDraft(slug="large", name="Large", topics=topics))
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    event.listen(database.engine, "before_cursor_execute", note)
    with database.write() as session:
        drafts.create(session, OPERATOR, prepared)
        assert not [each for each in session if isinstance(each, Topic)]
    event.remove(database.engine, "before_cursor_execute", note)
    inserted = [text for text in statements if text.startswith("INSERT INTO topic ")]
    assert 0 < len(inserted) < TOPICS / 500
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Topic)) == TOPICS
        last = session.scalars(select(Topic).order_by(Topic.position.desc()).limit(1)).one()
        assert (last.topic_id, last.title) == (str(TOPICS - 1), f"title of {TOPICS - 1}")
        assert (last.subtopics, last.excluded, last.narrative) == ([], "", "")
