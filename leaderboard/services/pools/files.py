"""Pools as files: out in the forms of trec.pools and as tables, in from the same forms."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.errors import Invalid, Problem
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import pools
from leaderboard.services.pools.documents import PoolDocument
from leaderboard.services.pools.plans import MOST_SECONDS, SECONDS
from leaderboard.services.pools.pools import IMPORTED, PoolList, PoolPage, TopicPage
from leaderboard.trec.pools import Pooled, as_text, read_pool
from leaderboard.trec.read.lines import shown

MOST_UNKNOWN = 10
"""Topics that are not the task's which are named."""
LARGEST_POOL = 2_000_000


def exported(session: Session, viewer: Viewer, slug: str, number: int, form: str) -> Iterator[str]:
    """The documents of a pool as a file of a form of trec.pools.FORMS, in pieces.

    Documents whose judgments are used again are part of it; those a sample did not draw are not. Raises as
    `pools.page`.
    """
    documents = pools.documents_of(session, viewer, slug, number)
    return as_text({topic: _drawn(rows) for topic, rows in documents.items()}, form)


def read(path: Path) -> dict[str, list[Pooled]]:
    """The pool in a file, read without a session; raises Invalid with the lines at fault."""
    found = read_pool(path)
    if sum(map(len, found.values())) > LARGEST_POOL:
        raise Invalid(f"A pool has at most {LARGEST_POOL:,} documents.")
    return found


def bring_in(
    session: Session,
    viewer: Viewer,
    slug: str,
    found: Mapping[str, list[Pooled]],
    file_name: str,
    *,
    note: str = "",
    seconds: int = SECONDS,
) -> int:
    """Store the pool of a file as a draft; its number.

    Raises Invalid where it has a topic that is not the task's, and unless the viewer organises the task.
    """
    task, _ = pools.own_task(session, viewer, slug)
    if not 1 <= seconds <= MOST_SECONDS:
        problem = Problem(f"are from 1 to {MOST_SECONDS}.", field="seconds", value=str(seconds))
        raise Invalid(f"Seconds a document are from 1 to {MOST_SECONDS}.", [problem])
    known = set(session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)))
    if unknown := [topic for topic in found if topic not in known]:
        problems = [
            Problem("is no topic of this task.", "Look for missing zeros.", field="topic", value=shown(topic))
            for topic in unknown[:MOST_UNKNOWN]
        ]
        count = f"{len(unknown)} topics" if len(unknown) > 1 else "a topic"
        raise Invalid(f"The pool has {count} that {task.name} has not.", problems)
    return pools.store(
        session,
        viewer,
        slug,
        {topic: ([PoolDocument(*each) for each in rows], len(rows)) for topic, rows in found.items()},
        note=note,
        method={"name": IMPORTED, "file": file_name},
        adaptive=False,
        seed=1,
        run_ids=[],
        revision_id=None,
        seconds_per_document=seconds,
    )


def list_facts(found: PoolList) -> dict[str, Any]:
    """All pools as plain values."""
    header, rows = list_table(found)
    return {"task": found.task, "pools": [dict(zip(header, row, strict=True)) for row in rows]}


def list_table(found: PoolList) -> tuple[list[str], list[list[Any]]]:
    """All pools as header and rows."""
    header = [
        "pool",
        "state",
        "method",
        "runs",
        "topics",
        "documents",
        "judged",
        "hours_left",
        "note",
        "made",
    ]
    return header, [
        [
            *(each.number, each.state, each.method, each.runs, each.topics, each.documents, each.judged),
            *(each.hours_left, each.note, each.created_at.isoformat(timespec="seconds")),
        ]
        for each in found.pools
    ]


def page_facts(found: PoolPage) -> dict[str, Any]:
    """A pool and its topics as plain values."""
    header, rows = page_table(found)
    return {
        "task": found.task,
        "pool": found.pool.number,
        "state": found.pool.state,
        "method": dict(found.spec),
        "adaptive": found.pool.adaptive,
        "seed": found.seed,
        "reused_revision": found.revision,
        "runs": [name for _, name in found.run_names],
        "documents": found.pool.documents,
        "judged": found.pool.judged,
        "seconds_per_document": found.pool.seconds_per_document,
        "note": found.pool.note,
        "topics": [dict(zip(header, row, strict=True)) for row in rows],
    }


def page_table(found: PoolPage) -> tuple[list[str], list[list[Any]]]:
    """A pool's topics as header and rows."""
    return ["topic", "title", "documents", "judged", "skipped"], [
        [each.topic_id, each.title, each.documents, each.judged, each.skipped] for each in found.topics
    ]


def topic_facts(found: TopicPage) -> dict[str, Any]:
    """A topic's documents as plain values."""
    header, rows = topic_table(found)
    return {
        "task": found.task,
        "pool": found.pool.number,
        "topic": found.topic.topic_id,
        "documents": [dict(zip(header, row, strict=True)) for row in rows],
    }


def topic_table(found: TopicPage) -> tuple[list[str], list[list[Any]]]:
    """A topic's documents as header and rows, in judging order."""
    header = ["docno", "priority", "stratum", "probability", "grade"]
    return header, [list(each) for each in found.documents]


def _drawn(rows: tuple[PoolDocument, ...]) -> list[Pooled]:
    return [Pooled(*each[:4]) for each in rows if each.grade is None or each.grade >= 0]
