"""Ids as words of eight bytes: loading, comparing and hashing many at once with numpy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Int32 = NDArray[np.int32]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
"""Masks of a word's first n bytes, by n."""


def words_of(body: bytes | bytearray) -> Words:
    """The eight bytes from each byte of a buffer on as a little-endian word, without copying."""
    text = np.frombuffer(body, np.uint8)
    return np.lib.stride_tricks.as_strided(text[:8].view("<u8"), (len(text) - 7,), (1,), writeable=False)


def loaded(words: Words, start: NDArray[Any], size: NDArray[Any], done: int) -> Words:
    """The word of each id that begins done bytes after its start, 0 where the id is over."""
    # A short id of the last lines may have no further word to load; its mask is empty there.
    here = words[np.minimum(start + done, len(words) - 1)]
    masked: Words = here & MASKS[np.clip(size - done, 0, 8)]
    return masked


def mixed(state: Words) -> Words:
    """The words with their bits spread; the kernels' hash is made from it."""
    state = state * MULTIPLIER
    return state ^ (state >> np.uint64(29))


def hashes_of(words: Words, start: NDArray[Any], size: NDArray[Any]) -> Words:
    """The hash of every id, the same as the C kernel's."""
    state = size.astype(np.uint64)
    for done in range(0, int(size.max(initial=0)), 8):
        state = np.where(size > done, mixed(state ^ loaded(words, start, size, done)), state)
    return mixed(state)


def same_as_before(words: Words, start: Places, size: Places) -> NDArray[np.bool_]:
    """Whether each line's topic is that of the line before; never for the first."""
    same = np.zeros(len(start), np.bool_)
    same[1:] = size[1:] == size[:-1]
    for done in range(0, int(size.max()), 8):
        word = loaded(words, start, size, done)
        same[1:] &= word[1:] == word[:-1]
    return same
