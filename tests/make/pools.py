"""Builders of pools and assessors for tests of what comes after a pool is made."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select, update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Pool, PoolTopic, Task
from leaderboard.judging.ops import judging as assessors
from leaderboard.judging.ops.assessors import queues
from leaderboard.judging.ops.assessors.queues import Plan
from leaderboard.judging.ops.pools.previews import PoolDocument, pack

Documents = Mapping[str, Sequence[str | PoolDocument]]


def pool(
    database: Database,
    documents: Documents,
    slug: str = "t",
    *,
    state: str = "open",
    method: Mapping[str, Any] | None = None,
    run_ids: Sequence[int] = (),
    budget: int | None = None,
    **options: Any,
) -> int:
    """The number of a new pool with these documents, a docno alone being one to be judged."""
    rows = {
        topic: [PoolDocument(each) if isinstance(each, str) else each for each in found]
        for topic, found in documents.items()
    }
    counts = {topic: sum(each.grade is None for each in found) for topic, found in rows.items()}
    with database.write() as session:
        task_id = session.scalars(select(Task.id).where(Task.slug == slug)).one()
        number = (session.scalar(select(func.max(Pool.number)).where(Pool.task_id == task_id)) or 0) + 1
        made = Pool(
            task_id=task_id,
            number=number,
            state=state,
            method=dict(method or {"name": "depth", "depth": 10}),
            run_ids=list(run_ids),
            documents=sum(counts.values()),
            created_at=datetime.now(UTC),
            **{"seed": 7, **options},
        )
        session.add(made)
        session.flush()
        session.add_all(
            PoolTopic(pool_id=made.id, topic_id=topic, documents=budget or counts[topic], body=pack(found))
            for topic, found in rows.items()
        )
    return number


def judges(database: Database, *names: str, slug: str = "t", number: int = 1, **plan: Any) -> list[str]:
    """The tokens of new assessors to whom the pool is assigned; `all` unless the plan says otherwise."""
    with database.write() as session:
        links = assessors.add_link(session, OPERATOR, slug, names)
        wanted = Plan([link.assessor_id for link in links], **{"way": "all", "overlap": 0.0, **plan})
        queues.assign(session, OPERATOR, slug, number, wanted)
    return [link.token for link in links]


def set_state(database: Database, state: str, slug: str = "t", number: int = 1) -> None:
    """Open or close a pool."""
    with database.write() as session:
        task_id = session.scalars(select(Task.id).where(Task.slug == slug)).one()
        session.execute(
            update(Pool).where(Pool.task_id == task_id, Pool.number == number).values(state=state)
        )
