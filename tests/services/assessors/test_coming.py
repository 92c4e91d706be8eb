"""Which judgments come next, over all assessors."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Assessor, Pool
from leaderboard.services.assessors import coming, queues, settle
from leaderboard.services.assessors.coming import AssessorQueue
from leaderboard.services.pools.documents import PoolDocument
from tests.make import build, pools

pytestmark = pytest.mark.dialect

DOCUMENTS = {"1": [f"d{number:02}" for number in range(20)], "2": ["a", PoolDocument("b", grade=1), "c"]}


def _queues(database: Database) -> tuple[AssessorQueue, ...]:
    with database.read() as session:
        pool = session.scalars(select(Pool)).one()
        by_topic: dict[str, list[PoolDocument]] = {"1": [], "2": []}
        for (topic, _), document in settle.documents_of(session, pool.id).items():
            by_topic[topic].append(document)
        return coming.queues_of(session, pool, {topic: tuple(rows) for topic, rows in by_topic.items()})


@pytest.mark.parametrize("order", ["docno", "random", "score"])
def test_documents_come_as_the_desk_gives_them(order: str, database: Database, tmp_path: Path) -> None:
    """The queue of each assessor and topic is that of the desk, shares and overlap and order."""
    build.task(database, tmp_path, topics=("1", "2"))
    pools.pool(database, DOCUMENTS)
    tokens = pools.judges(database, "Ada", "Bert", way="share", overlap=0.2, order=order)
    found = _queues(database)
    with database.read() as session:
        for token, queue in zip(tokens, found, strict=True):
            for topic, docnos in queue.topics.items():
                assert queues.queue(session, token, 1, topic).docnos == docnos
    # 20 and 4 of the first topic; of the second, where one is judged already, 2 and, rounded up, 2.
    assert sum(len(docnos) for queue in found for docnos in queue.topics.values()) == 28


def test_whose_link_does_not_work_is_not_waited_for(database: Database, tmp_path: Path) -> None:
    """Neither who was revoked nor whose link has ended."""
    build.task(database, tmp_path, topics=("1", "2"))
    pools.pool(database, DOCUMENTS)
    pools.judges(database, "Ada", "Bert", "Cleo")
    assert len(_queues(database)) == 3
    with database.write() as session:
        session.execute(update(Assessor).where(Assessor.name == "Ada").values(token_sha256=None))
        session.execute(update(Assessor).where(Assessor.name == "Bert").values(expires_at=now(session)))
    (queue,) = _queues(database)
    label, *others = coming.coming([queue], [(queue.assessor_id, "2", "a")])
    assert (label.topic_id, label.docno) == ("2", "c")
    assert [other.topic_id for other in others] == ["1"] * 20
