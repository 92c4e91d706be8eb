"""Named arrays as bytes, for results that are stored or sent to another process."""

import io
from functools import lru_cache
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from leaderboard.checksums import damaged, with_checksum, without_checksum

Arrays = dict[str, NDArray[np.generic]]

_MAGIC, _UNCHECKED = b"LBA1", b"PK"
_WORTH_IT = 2 / 3
_FIRST_VERSION = npy.magic(1, 0)
_BEFORE_HEAD = len(_FIRST_VERSION) + 2


@lru_cache(1000)
def _header(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Shape, order and type of an array. Kept, as reading them takes longer than a small array itself."""
    return npy.read_array_header_1_0(io.BytesIO(head))


def _array(body: bytes) -> NDArray[np.generic]:
    if not body.startswith(_FIRST_VERSION) or len(body) < _BEFORE_HEAD:
        raise ValueError("no array of numbers")
    end = _BEFORE_HEAD + int.from_bytes(body[len(_FIRST_VERSION) : _BEFORE_HEAD], "little")
    shape, is_fortran, kind = _header(body[len(_FIRST_VERSION) : end])
    if kind.hasobject:
        raise ValueError("objects are never read")
    return np.ndarray(shape, kind, body, end, order="F" if is_fortran else "C")


def pack(arrays: Arrays) -> bytes:
    """The arrays as bytes with a checksum, compressed where that makes them much smaller.

    Numbers of all digits do not become so, and take four times as long to read then.

    >>> unpack(pack({"p": np.array([0.5])}))
    {'p': array([0.5])}
    """
    plain, body = io.BytesIO(), io.BytesIO()
    np.savez(plain, allow_pickle=False, **arrays)
    np.savez_compressed(body, allow_pickle=False, **arrays)
    is_smaller = body.tell() < _WORTH_IT * plain.tell()
    return with_checksum(_MAGIC + (body if is_smaller else plain).getvalue())


def unpack(body: bytes) -> Arrays:
    """The arrays that pack made bytes of; nothing but numbers is ever read.

    Raises Damaged where the bytes are not what was packed; those of versions before 0.2 have no checksum.
    """
    if not body.startswith(_UNCHECKED):
        body = without_checksum(body, "results of a comparison").removeprefix(_MAGIC)
    try:
        with ZipFile(io.BytesIO(body)) as archive:
            return {name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()}
    except (ValueError, TypeError, BadZipFile) as error:
        raise damaged("results of a comparison", "they are no arrays") from error
