"""Similarity of runs: a digest of all rankings, and a sketch of their top documents."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from leaderboard.checksums import numbers, with_checksum
from leaderboard.trec.read import kernel
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.numpy_words import mixed

SKETCH_SIZE = 256
SKETCH_DEPTH = 10


class RankingDigest:
    """Digests a run's docnos in trec_eval's order; runs that rank alike have one digest.

    differs: whether trec_eval 9 and trec_eval 10 order some topic's documents differently.
    """

    def __init__(self) -> None:
        self.differs = False
        self._topics: dict[bytes, bytes] = {}

    def add(self, block: Block) -> None:
        """Take a block."""
        best = block.best(10)
        self.differs = self.differs or not np.array_equal(best, block.best(9))
        columns = block.columns
        letters = memoryview(kernel.joined(block.body, columns.at, columns.length, best, b"\t"))
        ends = np.cumsum(columns.length[best] + 1)[columns.group_start[1:] - 1].tolist()
        for topic, start, end in zip(block.topics, [0, *ends], ends, strict=False):
            self._topics[topic] = hashlib.sha256(letters[start:end]).digest()

    def hexdigest(self) -> str:
        """A sha256 over the topics in byte order, for any order in the file."""
        whole = hashlib.sha256()
        for topic in sorted(self._topics):
            whole.update(topic + b"\n" + self._topics[topic])
        return whole.hexdigest()


class Sketch:
    """The smallest hashes of all (topic, document) pairs in the top ten: similar runs share them."""

    def __init__(self) -> None:
        self._smallest: NDArray[np.uint64] = np.empty(0, "<u8")

    def add(self, block: Block) -> None:
        """Take a block."""
        starts, sizes = block.columns.group_start[:-1], np.minimum(block.sizes(), SKETCH_DEPTH)
        group = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]
        documents = block.columns.hash[block.best(10)[starts[group] + place]]
        topics = b"".join(hashlib.blake2b(topic, digest_size=8).digest() for topic in block.topics)
        # A document's hash is a mixture; a topic's, that of every document of it, needs only to be added.
        hashes = mixed(documents + np.frombuffer(topics, "<u8")[group])
        self._smallest = np.union1d(self._smallest, hashes)[:SKETCH_SIZE]

    def packed(self) -> bytes:
        """The sketch in its stored form."""
        return with_checksum(self._smallest.astype("<u8").tobytes())


def similarity(left: bytes, right: bytes) -> float:
    """The estimated share of top documents two sketches have in common (Jaccard, bottom-k estimate).

    Source: Broder 1997, On the Resemblance and Containment of Documents.
    """
    first, second = _hashes_in(left), _hashes_in(right)
    union = np.union1d(first, second)[:SKETCH_SIZE]
    if not len(union):
        return 1.0
    return float(np.isin(union, first).astype(int) @ np.isin(union, second).astype(int) / len(union))


def _hashes_in(sketch: bytes) -> NDArray[np.uint64]:
    return np.frombuffer(numbers(sketch, "fingerprint of a run"), "<u8")
