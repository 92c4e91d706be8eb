"""A run's judged hits as one small compressed string."""

import numpy as np

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.measures.judged import Judged, Judgments

_MAGIC = b"HIT1"
_NUMBER = np.dtype("<i4")
_LEVEL = 3


def pack_hits(judged: Judged) -> bytes:
    """The hits of a run: for every topic its ranking's length and number of hits, then rank and document of
    each hit, both as the difference from the one before (ranks) or from the topic's first document."""
    topics = len(judged.judgments)
    counts = np.bincount(judged.topic, minlength=topics)
    steps = np.diff(judged.rank, prepend=0)
    first = judged.starts[counts > 0]
    steps[first] = judged.rank[first]
    documents = judged.document - judged.judgments.starts[judged.topic]
    parts = (judged.retrieved, counts, steps, documents)
    plain = b"".join(part.astype(_NUMBER).tobytes() for part in parts)
    return compressed(_MAGIC, plain, _LEVEL)


def unpack_hits(packed: bytes, judgments: Judgments, dialect: int) -> Judged:
    """The run as the same judgments saw it when it was packed.

    Raises Damaged where the bytes are not what was packed.
    """
    numbers = np.frombuffer(plain_bytes(_MAGIC, packed, "judged hits"), _NUMBER).astype(np.int64)
    topics = len(judgments)
    retrieved, counts, rest = numbers[:topics], numbers[topics : 2 * topics], numbers[2 * topics :]
    steps, documents = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    topic = np.repeat(np.arange(topics, dtype=np.int64), counts)
    climbed = np.cumsum(steps)
    starts = np.cumsum(counts) - counts
    before = np.concatenate(([0], climbed))[starts]
    rank = climbed - before[topic]
    return Judged(judgments, topic, rank, documents + judgments.starts[topic], retrieved, dialect)
