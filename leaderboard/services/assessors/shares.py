"""Which of a topic's documents an assessor judges, and in what order: by digests, so that it stays so."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil

from leaderboard.services.pools.documents import PoolDocument

ORDERS = {
    "docno": "by document id: the rank is hidden",
    "random": "at random: another order for each assessor",
    "score": "by priority: what the method thinks relevant comes first",
}
"""Name of an order -> how a form calls it; the first is the default."""


@dataclass(frozen=True, slots=True)
class Share:
    """An assessor's part of a topic's documents.

    The documents are divided into `parts`; part counts from 0. A part beyond them has no documents of its
    own. overlap: share of every other part's documents that this assessor judges too; who judges what of
    another part is divided so that no document has more than two assessors while the shares allow it.
    """

    parts: int = 1
    part: int = 0
    overlap: float = 0.0
    order: str = "docno"
    seed: int = 0


def own_and_shared(
    rows: Sequence[PoolDocument], share: Share, pool_seed: int, topic_id: str
) -> tuple[list[PoolDocument], list[PoolDocument]]:
    """The documents of a share's own part, and those of other parts that it has too, in stored order.

    Documents whose judgment is used again are in neither. pool_seed says how the topic is divided.

    >>> rows = [PoolDocument(f"d{number}") for number in range(10)]
    >>> own, shared = own_and_shared(rows, Share(parts=2, part=1, overlap=0.2), 1, "t")
    >>> len(own), len(shared), {row.docno for row in own} & {row.docno for row in shared}
    (5, 1, set())
    """
    waiting = [row for row in rows if row.grade is None]
    if (share.parts, share.part) == (1, 0):
        return waiting, []
    by_chance = sorted(waiting, key=lambda row: _digest(pool_seed, topic_id, row.docno))
    own: set[str] = set()
    shared: set[str] = set()
    for part in range(share.parts):
        documents = [row.docno for row in by_chance[part :: share.parts]]
        if part == share.part:
            own.update(documents)
        else:
            first, last = _between(share, part, len(documents))
            shared.update(documents[first:last])
    return ([row for row in waiting if row.docno in own], [row for row in waiting if row.docno in shared])


def size(share: Share, documents: int) -> int:
    """How many documents the share has, of a topic with n documents to be judged.

    >>> size(Share(parts=2, part=1, overlap=0.2), 10), size(Share(parts=1, part=1, overlap=0.15), 10)
    (6, 2)
    """
    count = 0
    for part in range(share.parts):
        here = len(range(part, documents, share.parts))
        first, last = (0, here) if part == share.part else _between(share, part, here)
        count += max(min(last, here) - min(first, here), 0)
    return count


def in_order(rows: Sequence[PoolDocument], share: Share, topic_id: str) -> list[PoolDocument]:
    """The documents as the assessor gets them; rows are in the order of their priority."""
    if share.order == "score":
        return list(rows)
    if share.order == "docno":
        return sorted(rows, key=lambda row: row.docno.encode("utf-8", "surrogateescape"))
    return sorted(rows, key=lambda row: _digest(share.seed, topic_id, row.docno))


def share_of_topic(overlap: float, assessors: int) -> float:
    """The overlap that each of several assessors with parts needs so that a share of a topic is judged twice.

    >>> share_of_topic(0.2, 2), share_of_topic(0.2, 3), share_of_topic(0.2, 1)
    (0.2, 0.1, 0.0)
    """
    return overlap / (assessors - 1) if assessors > 1 else 0.0


def _between(share: Share, part: int, documents: int) -> tuple[int, int]:
    """The piece that the share has of another part of n documents: each assessor takes the next."""
    place = (share.part - part) % share.parts if share.part < share.parts else share.part
    return (
        ceil(round((place - 1) * share.overlap * documents, 9)),
        ceil(round(place * share.overlap * documents, 9)),
    )


def _digest(seed: int, topic_id: str, docno: str) -> bytes:
    text = f"{seed}\n{topic_id}\n{docno}".encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=16).digest()
