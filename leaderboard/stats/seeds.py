"""Random numbers that are the same for ever: seeds from the compared data, and the raw stream of PCG64.

NumPy promises the integers of its bit generators for all versions, and no more: what its Generator makes of
them may change. So bits, numbers and orders are made from the raw integers here. Work in blocks uses a stream
per block, and the numbers do not depend on the order or thread of the blocks.
"""

import hashlib

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Bits = NDArray[np.uint8]


def seed(*parts: str) -> int:
    """A seed of 63 bits from the names and digests of the compared data; other parts, another seed.

    >>> seed("runs", "revision") == seed("runs", "revision") != seed("runsrevision")
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        text = part.encode()
        digest.update(len(text).to_bytes(8, "big") + text)
    return int.from_bytes(digest.digest()[:8], "big") >> 1


def stream(seed: int, *block: int) -> PCG64:
    """The random integers of one block of the work that a seed starts; independent of other blocks'.

    Raises ValueError where a number is negative.

    >>> int(stream(1, 0).random_raw() >> 60), int(stream(1, 1).random_raw() >> 60)
    (11, 7)
    """
    return PCG64(SeedSequence(seed, spawn_key=block))


def bits(source: PCG64, rows: int, columns: int) -> Bits:
    """Fair coins, 0 or 1, (rows, columns).

    >>> bits(stream(1), 2, 8)
    array([[1, 1, 1, 1, 1, 1, 1, 1],
           [1, 1, 1, 0, 0, 1, 0, 0]], dtype=uint8)
    """
    count = rows * columns
    words = source.random_raw(-(-count // 64)).astype("<u8", copy=False)
    return np.unpackbits(words.view(np.uint8), count=count).reshape(rows, columns)


def numbers(source: PCG64, rows: int, columns: int, below: int) -> IntArray:
    """Whole numbers from 0 to below - 1, as likely each, (rows, columns).

    A number's chance is off by less than 2**-32 of the whole. Raises ValueError where below is not from 1
    to 2**31.

    >>> numbers(stream(1), 2, 4, below=6)
    array([[2, 3, 4, 5],
           [0, 0, 4, 5]])
    """
    if not 1 <= below <= 2**31:
        raise ValueError(f"numbers below {below} are not drawn")
    count = rows * columns
    words = source.random_raw(-(-count // 2)).astype("<u8", copy=False).view("<u4")[:count]
    # The high half of a product with a uniform 32-bit integer is uniform below the other factor.
    products = words.astype(np.uint64)
    products *= np.uint64(below)
    products >>= np.uint64(32)
    drawn: IntArray = products.view(np.int64)
    return drawn.reshape(rows, columns)


def orders(source: PCG64, rows: int, columns: int) -> NDArray[np.intp]:
    """Random orders of 0 to columns - 1, every order equally likely, one per row, (rows, columns).

    >>> orders(stream(1), 2, 5)
    array([[2, 4, 0, 3, 1],
           [4, 2, 0, 3, 1]])
    """
    return np.argsort(source.random_raw((rows, columns)), axis=1)
