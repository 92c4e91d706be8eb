"""Rankings and judgments as compressed bytes for the database, and back.

A run is stored as blocks of whole topics, one zstd frame each, and one index: topic -> block, offset,
length. A topic's record is: byte length of its id, number of documents (both uint32), id, byte lengths
of the docnos (uint16 each), scores (float64 each), docnos joined; all little-endian. Every packed
string starts with a magic word that carries the version of this layout.
"""

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import zstandard
from numpy.typing import NDArray

from leaderboard.errors import LeaderboardError
from leaderboard.trec.runs import Docnos, Ranking

BLOCK_BYTES = 128 * 1024
"""Plain bytes after which a block is closed; blocks of ordinary topics are of 128 to 256 KB."""

_RANKINGS, _INDEX, _JUDGMENTS = b"LBR1", b"LBI1", b"LBJ1"
_HEAD = struct.Struct("<II")
_LENGTH, _SCORE, _GRADE = np.dtype("<u2"), np.dtype("<f8"), np.dtype("<i4")
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class PackedRun:
    """A run's rankings: compressed blocks of whole topics, and the index that finds a topic."""

    blocks: list[bytes]
    index: bytes


def pack_rankings(rankings: Iterable[Ranking]) -> PackedRun:
    """The rankings as blocks in the order given, and their index."""
    blocks: list[bytes] = []
    index: dict[str, tuple[int, int, int]] = {}
    waiting = bytearray()
    for ranking in rankings:
        record = _record(ranking)
        index[ranking.topic] = (len(blocks), len(waiting), len(record))
        waiting += record
        if len(waiting) >= BLOCK_BYTES:
            blocks.append(_compressed(_RANKINGS, bytes(waiting)))
            waiting.clear()
    if waiting:
        blocks.append(_compressed(_RANKINGS, bytes(waiting)))
    return PackedRun(blocks, _compressed(_INDEX, json.dumps(index).encode()))


def read_index(index: bytes) -> dict[str, tuple[int, int, int]]:
    """Topic -> number of its block, offset and length in the plain block, in order of arrival."""
    return {
        topic: (place[0], place[1], place[2]) for topic, place in json.loads(_plain(_INDEX, index)).items()
    }


def unpack_block(block: bytes) -> list[Ranking]:
    """The rankings of one block, in order."""
    plain = _plain(_RANKINGS, block)
    rankings, offset = [], 0
    while offset < len(plain):
        ranking, offset = _ranking(plain, offset)
        rankings.append(ranking)
    return rankings


def unpack_topic(block: bytes, offset: int, length: int) -> Ranking:
    """The one ranking that the index says lies there."""
    return _ranking(_plain(_RANKINGS, block)[offset : offset + length], 0)[0]


def pack_judgments(judgments: Mapping[str, Mapping[bytes, int]]) -> bytes:
    """A revision's judgments (topic -> docno -> grade) as one compressed string, topics in byte order."""
    topics = sorted(judgments, key=str.encode)
    docnos = [docno for topic in topics for docno in judgments[topic]]
    grades = [grade for topic in topics for grade in judgments[topic].values()]
    lengths = np.array([len(docno) for docno in docnos], _LENGTH)
    head = json.dumps([[topic, len(judgments[topic])] for topic in topics]).encode()
    plain = b"".join(
        (
            _HEAD.pack(len(head), len(docnos)),
            head,
            lengths.tobytes(),
            np.array(grades, _GRADE).tobytes(),
            *docnos,
        )
    )
    return _compressed(_JUDGMENTS, plain)


def unpack_judgments(packed: bytes) -> dict[str, dict[bytes, int]]:
    """Topic -> docno -> grade, topics in byte order."""
    plain = _plain(_JUDGMENTS, packed)
    head_bytes, count = _HEAD.unpack_from(plain)
    offset = _HEAD.size + head_bytes
    head = json.loads(plain[_HEAD.size : offset])
    lengths = np.frombuffer(plain, _LENGTH, count, offset)
    offset += lengths.nbytes
    grades = np.frombuffer(plain, _GRADE, count, offset)
    pairs = zip(_split(plain, lengths, offset + grades.nbytes).tolist(), grades.tolist(), strict=True)
    return {topic: dict(next(pairs) for _ in range(size)) for topic, size in head}


def _record(ranking: Ranking) -> bytes:
    topic = ranking.topic.encode()
    letters, lengths = _letters(ranking.docnos)
    scores = np.ascontiguousarray(ranking.scores, _SCORE)
    head = _HEAD.pack(len(topic), len(scores))
    return b"".join((head, topic, lengths.tobytes(), scores.tobytes(), letters))


def _ranking(plain: bytes, offset: int) -> tuple[Ranking, int]:
    """The ranking that starts at offset, and where the next one starts."""
    topic_bytes, count = _HEAD.unpack_from(plain, offset)
    offset += _HEAD.size
    topic = plain[offset : offset + topic_bytes].decode()
    lengths = np.frombuffer(plain, _LENGTH, count, offset + topic_bytes)
    offset += topic_bytes + lengths.nbytes
    scores = np.frombuffer(plain, _SCORE, count, offset).astype(np.float64)
    offset += scores.nbytes
    return Ranking(topic, _split(plain, lengths, offset), scores), offset + int(lengths.sum())


def _letters(docnos: Docnos) -> tuple[bytes, NDArray[np.uint16]]:
    """All docnos joined, and the length of each."""
    lengths = np.char.str_len(docnos)
    table = np.ascontiguousarray(docnos).view(np.uint8).reshape(len(docnos), docnos.dtype.itemsize)
    used = np.arange(table.shape[1]) < lengths[:, None]
    return table[used].tobytes(), lengths.astype(_LENGTH)


def _split(plain: bytes, lengths: NDArray[np.uint16], offset: int) -> Docnos:
    """The docnos of these lengths that lie joined from offset on, as an array of equally wide bytes."""
    width = int(lengths.max(initial=1))
    table = np.zeros((len(lengths), width), np.uint8)
    used = np.arange(width) < lengths[:, None]
    table[used] = np.frombuffer(plain, np.uint8, int(lengths.sum()), offset)
    return table.view(f"S{width}").reshape(-1)


def _compressed(magic: bytes, plain: bytes) -> bytes:
    return magic + zstandard.ZstdCompressor(level=_LEVEL).compress(plain)


def _plain(magic: bytes, packed: bytes) -> bytes:
    if packed[:4] != magic:
        raise LeaderboardError(
            f"Stored data of the form {packed[:4]!r} was found where {magic!r} is read. "
            "It was written by another version; run that one, or upload again."
        )
    return zstandard.ZstdDecompressor().decompress(packed[4:])
