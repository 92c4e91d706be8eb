"""A bit filter of a collection's docnos: 12 bits per docno show which ones are certainly not among them."""

from collections.abc import Iterable, Sequence
from itertools import islice
from tempfile import TemporaryFile
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from leaderboard.checksums import with_checksum, without_checksum
from leaderboard.measures.judged import IntArray
from leaderboard.trec.read.columns import Int32
from leaderboard.trec.read.kernel import SLACK
from leaderboard.trec.read.numpy_words import loaded, words_of

BITS_A_DOCNO = 12
PROBES = 8
"""The number of bits checked per docno; with 12 bits per docno about 3 in 1,000 unknown ones pass."""

_MAGIC, _UNCHECKED = b"LBF2", b"LBF1"
_CHUNK = 65536
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))

Words = NDArray[np.uint64]


class DocnoFilter:
    """Builds and asks the filter, which is plain bytes: magic word, then the bits."""

    @staticmethod
    def build(docnos: Iterable[bytes]) -> bytes:
        """The filter of these docnos."""
        source, builder = iter(docnos), DocnoFilterBuilder()
        while chunk := list(islice(source, _CHUNK)):
            builder.add(chunk)
        return builder.build()

    @staticmethod
    def bits(filter_: bytes) -> NDArray[np.uint8]:
        """The filter's bits, eight a byte; raises Damaged where they are not those that were built."""
        if not filter_.startswith(_UNCHECKED):
            filter_ = without_checksum(filter_, "known docnos")
        return np.frombuffer(filter_, np.uint8, offset=4)

    @staticmethod
    def unknown(filter_: bytes, body: bytes | bytearray, at: Int32, length: Int32) -> IntArray:
        """The places of those docnos that are surely not in the filter, ascending.

        body holds the docnos, each at and of the length given, and SLACK bytes behind the last one.
        """
        bits = DocnoFilter.bits(filter_)
        present = np.ones(len(at), np.bool_)
        for places in _probes(_hashes(body, at, length), 8 * len(bits)):
            present &= (bits[places >> np.uint64(3)] << (places & np.uint64(7)).astype(np.uint8)) & 128 > 0
        return np.flatnonzero(~present)


class DocnoFilterBuilder:
    """Collects docnos; what is known of them waits on disk, as bits need their number first."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._count = 0
        self._file = TemporaryFile()  # noqa: SIM115 (closed with the builder)
        finalize(self, self._file.close)

    def add(self, docnos: Sequence[bytes]) -> None:
        """Add docnos."""
        self._waiting += docnos
        if len(self._waiting) >= _CHUNK:
            self._hash()

    def build(self) -> bytes:
        """The filter of all docnos added; a byte a bit while it is made, which 8 million docnos fit."""
        self._hash()
        bits = np.zeros(max(8, -(-self._count * BITS_A_DOCNO // 8) * 8), np.bool_)
        self._file.seek(0)
        while chunk := self._file.read(2 * 8 * _CHUNK):
            # Each docno's two hashes are adjacent here.
            for places in _probes(np.frombuffer(chunk, np.uint64).reshape(-1, 2).T, len(bits)):
                bits[places] = True
        return with_checksum(_MAGIC + np.packbits(bits).tobytes())

    def _hash(self) -> None:
        if self._waiting:
            self._file.write(_hashes(*_laid_out(self._waiting)).T.tobytes())
            self._count += len(self._waiting)
            self._waiting = []


def _laid_out(docnos: Sequence[bytes]) -> tuple[bytes, Int32, Int32]:
    """Docnos as one buffer, and the position of each."""
    length = np.array(list(map(len, docnos)), np.int32)
    return b"".join(docnos) + bytes(SLACK), np.cumsum(length, dtype=np.int32) - length, length


def _probes(hashes: Words, size: int) -> Iterable[Words]:
    """(docnos,) bit places, one array a probe."""
    first, step = hashes
    for probe in range(PROBES):
        yield (first + np.uint64(probe) * step) % np.uint64(size)


def _hashes(body: bytes | bytearray, at: Int32, length: Int32) -> Words:
    """(2, docnos) hashes of the bytes."""
    text = words_of(body)
    words = [loaded(text, at, length, done) for done in range(0, int(length.max(initial=0)), 8)]
    both = np.empty((2, len(at)), np.uint64)
    for place, multiplier in enumerate(_MULTIPLIERS):
        state = np.full(len(at), multiplier)
        for column in words:
            # A column of zeros is padding: docnos hold no NUL.
            state = np.where(column == 0, state, _mixed(state ^ column, multiplier))
        both[place] = _mixed(state, multiplier)
    return both


def _mixed(state: Words, multiplier: np.uint64) -> Words:
    state = state * multiplier
    return state ^ (state >> np.uint64(29))
