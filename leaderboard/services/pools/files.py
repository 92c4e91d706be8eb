"""Pools as files: out in the forms of trec.pools, in from the same forms."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.errors import Invalid, Problem
from leaderboard.services import policy
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.services.pools.documents import PoolDocument
from leaderboard.services.pools.plans import MOST_SECONDS, SECONDS
from leaderboard.services.pools.pools import IMPORTED
from leaderboard.trec.pools import Pooled, as_text, read_pool
from leaderboard.trec.read.lines import shown

MOST_UNKNOWN = 10
"""Topics that are not the task's which are named."""
LARGEST_POOL = 2_000_000


def exported(session: Session, viewer: Viewer, slug: str, number: int, form: str) -> Iterator[str]:
    """The documents of a pool as a file of a form of trec.pools.FORMS, in pieces.

    Documents whose judgments are used again are part of it; those a sample did not draw are not. Raises as
    `pools.documents_of`.
    """
    documents = pools.documents_of(session, viewer, slug, number)
    return as_text({topic: _drawn(rows) for topic, rows in documents.items()}, form)


def read(path: Path) -> dict[str, list[Pooled]]:
    """The pool in a file, read without a session; raises Invalid with the lines at fault."""
    pool = read_pool(path)
    if sum(map(len, pool.values())) > LARGEST_POOL:
        raise Invalid(f"A pool has at most {LARGEST_POOL:,} documents.")
    return pool


def bring_in(
    session: Session,
    viewer: Viewer,
    slug: str,
    pool: Mapping[str, list[Pooled]],
    file_name: str,
    *,
    note: str = "",
    seconds: int = SECONDS,
) -> int:
    """Store the pool of a file as a draft; its number.

    Raises Invalid where it has a topic that is not the task's, and unless the viewer organises the task.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    if not 1 <= seconds <= MOST_SECONDS:
        problem = Problem(f"are from 1 to {MOST_SECONDS}.", field="seconds", value=str(seconds))
        raise Invalid(f"Seconds a document are from 1 to {MOST_SECONDS}.", [problem])
    known = set(session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)))
    if unknown := [topic for topic in pool if topic not in known]:
        problems = [
            Problem(
                "is not a topic of this task.", "Look for missing zeros.", field="topic", value=shown(topic)
            )
            for topic in unknown[:MOST_UNKNOWN]
        ]
        count = f"{len(unknown)} topics" if len(unknown) > 1 else "a topic"
        raise Invalid(f"The pool has {count} that {task.name} does not have.", problems)
    return pools.store(
        session,
        viewer,
        slug,
        {topic: ([PoolDocument(*row) for row in rows], len(rows)) for topic, rows in pool.items()},
        note=note,
        method={"name": IMPORTED, "file": file_name},
        adaptive=False,
        seed=1,
        run_ids=[],
        revision_id=None,
        seconds_per_document=seconds,
    )


def _drawn(rows: tuple[PoolDocument, ...]) -> list[Pooled]:
    return [Pooled(*row[:4]) for row in rows if row.grade is None or row.grade >= 0]
