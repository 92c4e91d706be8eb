"""How work is shared out among assessors whose links work, and what is wrong with a choice of them."""

from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.errors import Problem
from leaderboard.services.judging import links


def shared_out(topics: Sequence[str], people: Sequence[int], n: int | None) -> dict[int, list[str]]:
    """Assessor -> topics, so that n assessors have each topic (all where n is None), and all about as many.

    >>> shared_out(["a", "b", "c"], [1, 2], 1)
    {1: ['a', 'c'], 2: ['b']}
    >>> shared_out(["a", "b", "c"], [1, 2, 3], 2)
    {1: ['a', 'b'], 2: ['a', 'c'], 3: ['b', 'c']}
    """
    count = len(people) if n is None else min(n, len(people))
    shares: dict[int, list[str]] = {person: [] for person in people}
    for place, topic in enumerate(topics):
        for step in range(count):
            shares[people[(place * count + step) % len(people)]].append(topic)
    return {person: mine for person, mine in shares.items() if mine}


def keyed(key: bytes, *facts: object, size: int = 8) -> bytes:
    """A digest of facts that nobody without the key can find out by trying all of them; always the same."""
    return blake2b("\n".join(map(str, facts)).encode(), key=key, digest_size=size).digest()


def unknown_people(session: Session, task_id: int, chosen: Sequence[int]) -> Iterator[Problem]:
    """Those who cannot be asked."""
    return unknown("assessor", chosen, links.able(session, task_id), "Choose assessors whose links work.")


def unknown_topics(session: Session, task_id: int, chosen: Sequence[str]) -> Iterator[Problem]:
    """Topics that the task does not have."""
    topics = set(session.scalars(select(Topic.topic_id).where(Topic.task_id == task_id)))
    return unknown("topics", chosen, topics, "Write ids as they are in the topics file.")


def missing_people(chosen: Sequence[int]) -> Iterator[Problem]:
    """That nobody was chosen, or somebody twice."""
    if not chosen or len(set(chosen)) < len(chosen):
        yield Problem("must be at least one assessor.", "Choose who is asked.", field="assessor")


def unknown(field: str, chosen: Sequence[Any], known: Collection[Any], remedy: str) -> Iterator[Problem]:
    """What was chosen in a field and is not there."""
    for value in chosen:
        if value not in known:
            yield Problem("is not there to be chosen.", remedy, field=field, value=str(value)[:40])
