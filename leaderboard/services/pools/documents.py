"""A topic's documents in a pool as compressed bytes for the database, and back.

Layout, little-endian, one zstd frame behind a magic word that carries the version: numbers of documents
and of strata (uint32 each); priority and inclusion probability (float64 each), grade and whether there is
one (int32, uint8), stratum (uint32), byte length of the docno (uint16) by document; byte length of each
stratum's name (uint16); docnos joined; strata joined.
"""

import struct
from collections.abc import Iterable
from typing import Annotated, NamedTuple

import numpy as np

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.tables.record import Shown
from leaderboard.trec.read.lines import bytes_of, text_of

_MAGIC = b"LBP1"
_HEAD = struct.Struct("<II")
_REAL, _GRADE, _FLAG = np.dtype("<f8"), np.dtype("<i4"), np.dtype("u1")
_NUMBER, _LENGTH = np.dtype("<u4"), np.dtype("<u2")
_LEVEL = 3


class PoolDocument(NamedTuple):
    """One document to be judged for a topic."""

    docno: Annotated[str, Shown("Document")]
    priority: float = 0.0
    """Higher is judged sooner by those who judge by score."""
    stratum: str = ""
    """Short name of what it was drawn from; empty where nothing was drawn."""
    probability: float = 1.0
    """With which it came into the pool."""
    grade: Annotated[int | None, Shown("Judgment used again", digits=None)] = None
    """Of a judgment that is used again; None where it is to be judged."""


def pack(rows: Iterable[PoolDocument]) -> bytes:
    """A topic's documents, in the order they are to be judged, as bytes.

    >>> unpack(pack([PoolDocument("d1", 2.5, "top"), PoolDocument("d2", grade=1)]))[1].grade
    1
    """
    documents = tuple(rows)
    strata = sorted({document.stratum for document in documents})
    place = {name: index for index, name in enumerate(strata)}
    docnos, names = [bytes_of(document.docno) for document in documents], [bytes_of(name) for name in strata]
    columns = (
        np.array([document.priority for document in documents], _REAL),
        np.array([document.probability for document in documents], _REAL),
        np.array([document.grade or 0 for document in documents], _GRADE),
        np.array([document.grade is not None for document in documents], _FLAG),
        np.array([place[document.stratum] for document in documents], _NUMBER),
        np.array([len(docno) for docno in docnos], _LENGTH),
        np.array([len(name) for name in names], _LENGTH),
    )
    head = _HEAD.pack(len(documents), len(strata))
    plain = b"".join((head, *(column.tobytes() for column in columns), *docnos, *names))
    return compressed(_MAGIC, plain, _LEVEL)


def unpack(body: bytes) -> tuple[PoolDocument, ...]:
    """The documents that `pack` wrote, in their order; raises Damaged for other bytes."""
    plain = plain_bytes(_MAGIC, body, "documents of a pool")
    count, strata = _HEAD.unpack_from(plain)
    columns, start = [], _HEAD.size
    for kind in (_REAL, _REAL, _GRADE, _FLAG, _NUMBER, _LENGTH):
        columns.append(np.frombuffer(plain, kind, count, start).tolist())
        start += kind.itemsize * count
    priority, probability, grade, judged, stratum, lengths = columns
    widths = np.frombuffer(plain, _LENGTH, strata, start).tolist()
    start += _LENGTH.itemsize * strata
    docnos = _texts(plain, start, lengths)
    names = _texts(plain, start + sum(lengths), widths)
    grades = (value if known else None for value, known in zip(grade, judged, strict=True))
    return tuple(
        map(
            PoolDocument._make,
            zip(docnos, priority, (names[number] for number in stratum), probability, grades, strict=True),
        )
    )


def _texts(plain: bytes, start: int, lengths: list[int]) -> list[str]:
    texts = []
    for length in lengths:
        texts.append(text_of(plain[start : start + length]))
        start += length
    return texts
