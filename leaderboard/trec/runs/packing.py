"""Rankings as compressed bytes for the database, and back.

A run is stored as blocks of whole topics, one zstd frame each, and one index: topic -> block, offset,
length. A topic's record is: byte length of its id, number of documents (both uint32), id, byte lengths
of the docnos (uint16 each), scores (float64 each), docnos joined; all little-endian. Every packed
string starts with a magic word that carries the version of this layout.
"""

import json
import struct
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from leaderboard.checksums import compressed, compressor, framed, plain_bytes
from leaderboard.trec.read import kernel
from leaderboard.trec.read.columns import Columns, Int32
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.runs.runs import Docnos, Ranking

BLOCK_BYTES = 128 * 1024
"""Plain bytes after which a block is closed; blocks of ordinary topics have 128 to 256 KB."""
PENDING = 8
"""Blocks that may wait for being compressed."""
SPOOL_BYTES = 8 * 2**20
"""Maximum compressed bytes of a run kept in memory."""

_RANKINGS, _INDEX = b"LBR1", b"LBI1"
_HEAD = struct.Struct("<II")
_LENGTH, _SCORE = np.dtype("<u2"), np.dtype("<f8")
_LEVEL = 1

Lengths = NDArray[np.uint16]


class PackedBlocks:
    """A run's compressed blocks, in memory while they are few, else in a temporary file."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._file = SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115
        finalize(self, self._file.close)

    def __len__(self) -> int:
        """Number of rankings."""
        return len(self._sizes)

    def append(self, block: bytes) -> None:
        """Add one at the end."""
        self._file.write(block)
        self._sizes.append(len(block))

    def __iter__(self) -> Iterator[bytes]:
        """The blocks in order, read one at a time."""
        self._file.seek(0)
        for size in self._sizes:
            yield self._file.read(size)


@dataclass(frozen=True, slots=True)
class PackedRun:
    """A run's rankings: compressed blocks of whole topics, and the index that finds a topic."""

    blocks: PackedBlocks
    index: bytes


class RunPacker:
    """Packs the blocks of a run while it is read."""

    def __init__(self) -> None:
        self._blocks = PackedBlocks()
        self._index: dict[str, tuple[int, int, int]] = {}
        self._waiting = bytearray()
        self._compressor = compressor(_LEVEL)
        # Compressing does not need the interpreter, so it runs in parallel with reading.
        self._executor = ThreadPoolExecutor(max_workers=1)
        self._pending: deque[Future[bytes]] = deque()

    def add(self, block: Block) -> None:
        """Take a block."""
        columns = block.columns
        every = np.arange(len(columns.at), dtype=np.int32)
        letters = memoryview(kernel.joined(block.body, columns.at, columns.length, every))
        lengths = memoryview(columns.length.astype(_LENGTH).tobytes())
        scores = memoryview(columns.score.astype(_SCORE, copy=False).tobytes())
        starts = columns.group_start.tolist()
        ends = np.concatenate(([0], np.cumsum(columns.length, dtype=np.int64)))[columns.group_start].tolist()
        for group, topic in enumerate(block.topics):
            first, last = starts[group], starts[group + 1]
            record = (
                _HEAD.pack(len(topic), last - first),
                topic,
                lengths[first * _LENGTH.itemsize : last * _LENGTH.itemsize],
                scores[first * _SCORE.itemsize : last * _SCORE.itemsize],
                letters[ends[group] : ends[group + 1]],
            )
            size = sum(map(len, record))
            number = len(self._blocks) + len(self._pending)
            self._index[topic.decode()] = (number, len(self._waiting), size)
            for part in record:
                self._waiting += part
            if len(self._waiting) >= BLOCK_BYTES:
                self._close()

    def packed(self) -> PackedRun:
        """The run, once all of it was added."""
        if self._waiting:
            self._close()
        self._take(0)
        self._executor.shutdown()
        return PackedRun(self._blocks, compressed(_INDEX, json.dumps(self._index).encode(), _LEVEL))

    def _close(self) -> None:
        self._pending.append(self._executor.submit(self._compressor.compress, bytes(self._waiting)))
        self._waiting.clear()
        self._take(PENDING)

    def _take(self, left: int) -> None:
        """Store compressed blocks in order until this number is left."""
        while len(self._pending) > left:
            self._blocks.append(framed(_RANKINGS, self._pending.popleft().result()))


def read_index(index: bytes) -> dict[str, tuple[int, int, int]]:
    """Topic -> number of its block, offset and length in the plain block, in order of arrival."""
    return {
        topic: (place[0], place[1], place[2])
        for topic, place in json.loads(plain_bytes(_INDEX, index, "index of rankings")).items()
    }


def unpack_block(block: bytes) -> Block:
    """The rankings of one block, in order."""
    body = plain_bytes(_RANKINGS, block, "rankings") + bytes(kernel.SLACK)
    topics, starts, lengths, ats, scores = [], [0], [], [], []
    offset = 0
    while offset < len(body) - kernel.SLACK:
        topic, length, score, letters = _record_at(body, offset)
        offset = letters + int(length.sum())
        topics.append(topic)
        starts.append(starts[-1] + len(length))
        lengths.append(length)
        scores.append(score)
        ats.append(letters + np.cumsum(length, dtype=np.int32) - length)
    widths: Int32 = np.concatenate(lengths).astype(np.int32)
    at: Int32 = np.concatenate(ats).astype(np.int32)
    columns = Columns(
        at=at,
        length=widths,
        hash=kernel.hashes(body, at, widths),
        score=np.concatenate(scores).astype(np.float64),
        group_start=np.array(starts, np.int32),
        group_at=np.zeros(len(topics), np.int32),
        group_length=np.zeros(len(topics), np.int32),
        group_line=np.zeros(len(topics), np.int64),
    )
    return Block(body, columns, topics, [0] * len(topics))


def unpack_topic(block: bytes, offset: int, length: int) -> Ranking:
    """The one ranking that the index locates there."""
    body = plain_bytes(_RANKINGS, block, "rankings")[offset : offset + length]
    topic, lengths, scores, letters = _record_at(body, 0)
    return Ranking(topic.decode(), split(body, lengths, letters), scores.astype(np.float64))


def _record_at(plain: bytes, offset: int) -> tuple[bytes, Lengths, NDArray[np.float64], int]:
    """Topic, lengths, scores of the record at offset, and where its docnos begin."""
    topic_bytes, count = _HEAD.unpack_from(plain, offset)
    offset += _HEAD.size
    topic = plain[offset : offset + topic_bytes]
    lengths = np.frombuffer(plain, _LENGTH, count, offset + topic_bytes)
    offset += topic_bytes + lengths.nbytes
    scores = np.frombuffer(plain, _SCORE, count, offset)
    return topic, lengths, scores, offset + scores.nbytes


def split(plain: bytes, lengths: Lengths, offset: int) -> Docnos:
    """The docnos of these lengths, concatenated from offset on, as an array of equally wide bytes."""
    width = int(lengths.max(initial=1))
    table = np.zeros((len(lengths), width), np.uint8)
    used = np.arange(width) < lengths[:, None]
    table[used] = np.frombuffer(plain, np.uint8, int(lengths.sum()), offset)
    return table.view(f"S{width}").reshape(-1)
