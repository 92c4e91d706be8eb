"""A revision's judgments as one compressed string for the database, and back."""

import json
import struct
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.trec.qrels.align import CompiledJudgments, compiled
from leaderboard.trec.runs.packing import Lengths, split

_JUDGMENTS = b"LBJ1"
_LEVEL = 1
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
    return compressed(_JUDGMENTS, plain, _LEVEL)


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
