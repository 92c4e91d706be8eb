"""Named arrays as bytes, for results that are stored or sent to another process."""

import io

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]


def pack(arrays: Arrays) -> bytes:
    """The arrays as compressed bytes.

    >>> unpack(pack({"p": np.array([0.5])}))
    {'p': array([0.5])}
    """
    body = io.BytesIO()
    np.savez_compressed(body, allow_pickle=False, **arrays)
    return body.getvalue()


def unpack(body: bytes) -> Arrays:
    """The arrays that pack made bytes of; nothing but numbers is ever read."""
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        return dict(archive)
