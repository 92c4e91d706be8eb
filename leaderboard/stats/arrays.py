"""Named arrays as bytes, for results that are stored or sent to another process."""

import io
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from leaderboard.checksums import damaged, with_checksum, without_checksum

Arrays = dict[str, NDArray[np.generic]]

_MAGIC, _UNCHECKED = b"LBA1", b"PK"
_WORTH_IT = 2 / 3


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
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            return dict(archive)
    except (ValueError, BadZipFile) as error:
        raise damaged("results of a comparison", "they are no arrays") from error
