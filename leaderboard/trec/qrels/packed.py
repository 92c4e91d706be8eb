"""What belongs to a revision or a run as compressed strings for the database, and back."""

import json
import struct
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.trec.qrels.align import CompiledJudgments, compiled
from leaderboard.trec.read.lines import bytes_of, text_of
from leaderboard.trec.runs.packing import Lengths, split

_JUDGMENTS = b"LBJ1"
_JUDGMENTS_LEVEL = 1
_HEAD = struct.Struct("<II")
_LENGTH, _GRADE = np.dtype("<u2"), np.dtype("<i4")


def pack_judgments(judgments: Mapping[str, Mapping[bytes, int]]) -> bytes:
    """A revision's judgments (topic -> docno -> grade) as one compressed string, all in byte order."""
    topics = sorted(judgments, key=str.encode)
    pairs = [pair for topic in topics for pair in sorted(judgments[topic].items())]
    head = json.dumps([[topic, len(judgments[topic])] for topic in topics]).encode()
    plain = b"".join(
        (
            _HEAD.pack(len(head), len(pairs)),
            head,
            np.array([len(docno) for docno, _ in pairs], _LENGTH).tobytes(),
            np.array([grade for _, grade in pairs], _GRADE).tobytes(),
            *(docno for docno, _ in pairs),
        )
    )
    return compressed(_JUDGMENTS, plain, _JUDGMENTS_LEVEL)


def unpack_judgments(packed: bytes) -> dict[str, dict[bytes, int]]:
    """Topic -> docno -> grade, all in byte order."""
    head, plain, lengths, grades, offset = _judgments_in(packed)
    pairs = zip(split(plain, lengths, offset).tolist(), grades.tolist(), strict=True)
    return {topic: dict(next(pairs) for _ in range(size)) for topic, size in head}


def unpack_compiled(packed: bytes) -> CompiledJudgments:
    """The same judgments ready to be aligned with runs, without a Python object for each."""
    head, plain, lengths, grades, offset = _judgments_in(packed)
    head = [(topic, size) for topic, size in head if size]
    counts = np.array([size for _, size in head], np.int64)
    return compiled([topic for topic, _ in head], counts, plain[offset:], lengths.astype(np.int32), grades)


def _judgments_in(packed: bytes) -> tuple[list[tuple[str, int]], bytes, Lengths, NDArray[np.int32], int]:
    """Topics with their numbers of documents, the plain bytes, lengths, grades, and where docnos begin."""
    plain = plain_bytes(_JUDGMENTS, packed, "judgments")
    head_bytes, count = _HEAD.unpack_from(plain)
    offset = _HEAD.size + head_bytes
    head = json.loads(plain[_HEAD.size : offset])
    lengths = np.frombuffer(plain, _LENGTH, count, offset)
    grades = np.frombuffer(plain, _GRADE, count, offset + lengths.nbytes)
    return head, plain, lengths, grades, offset + lengths.nbytes + grades.nbytes


_LEFT_OUT = b"LBX1"


def pack_left_out(by_topic: Mapping[str, Collection[bytes]]) -> bytes | None:
    """The documents (topic -> docnos) as one compressed string, in byte order; None if absent.

    >>> unpack_left_out(pack_left_out({"2": {b"b"}, "1": set()}))
    {'2': frozenset({b'b'})}
    """
    lines = left_out_lines(by_topic)
    return compressed(_LEFT_OUT, b"".join(lines), _LEVEL) if lines else None


def unpack_left_out(packed: bytes | None) -> dict[str, frozenset[bytes]]:
    """Topic -> docnos; raises Damaged where the bytes are not what was packed."""
    by_topic: dict[bytes, set[bytes]] = {}
    if packed is not None:
        for line in plain_bytes(_LEFT_OUT, packed, "documents left out").splitlines():
            topic, docno = line.split(b" ")
            by_topic.setdefault(topic, set()).add(docno)
    return {text_of(topic): frozenset(docnos) for topic, docnos in by_topic.items()}


def left_out_lines(by_topic: Mapping[str, Collection[bytes]]) -> list[bytes]:
    """The documents as lines `topic docno`, in byte order.

    >>> left_out_lines({"2": {b"b", b"a"}, "10": {b"c"}})
    [b'10 c\\n', b'2 a\\n', b'2 b\\n']
    """
    topics = sorted(by_topic, key=bytes_of)
    return [b"%s %s\n" % (bytes_of(topic), docno) for topic in topics for docno in sorted(by_topic[topic])]


_HITS = b"HIT1"
_NUMBER = np.dtype("<i4")


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
    return compressed(_HITS, plain, _LEVEL)


def unpack_hits(packed: bytes, judgments: Judgments, dialect: int) -> Judged:
    """The run as the same judgments saw it when it was packed.

    Raises Damaged where the bytes are not what was packed.
    """
    numbers = np.frombuffer(plain_bytes(_HITS, packed, "judged hits"), _NUMBER).astype(np.int64)
    topics = len(judgments)
    retrieved, counts, rest = numbers[:topics], numbers[topics : 2 * topics], numbers[2 * topics :]
    steps, documents = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    topic = np.repeat(np.arange(topics, dtype=np.int64), counts)
    climbed = np.cumsum(steps)
    starts = np.cumsum(counts) - counts
    before = np.concatenate(([0], climbed))[starts]
    rank = climbed - before[topic]
    return Judged(judgments, topic, rank, documents + judgments.starts[topic], retrieved, dialect)


_DISTRACTORS = b"LBD1"


_LEVEL = 3


def pack_distractors(docnos: Collection[bytes]) -> bytes | None:
    """The docnos as one compressed string, in byte order; None if absent.

    >>> unpack_distractors(pack_distractors({b"b", b"a"}))
    (b'a', b'b')
    """
    if not docnos:
        return None
    return compressed(_DISTRACTORS, b"\n".join(sorted(set(docnos))), _LEVEL)


def unpack_distractors(packed: bytes | None) -> tuple[bytes, ...]:
    """The docnos in byte order; raises Damaged where the bytes are not what was packed."""
    if packed is None:
        return ()
    return tuple(plain_bytes(_DISTRACTORS, packed, "distractors").split(b"\n"))
