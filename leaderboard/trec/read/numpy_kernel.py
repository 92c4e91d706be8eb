"""The functions of _kernel.c with numpy alone, for machines without a compiler: the same bits, slower.

`columns` refuses more than the C kernel does: the reader then goes line by line.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.trec.read.columns import Columns, Index
from leaderboard.trec.read.numpy_fields import NEWLINE, fields_of, numbers_of, qrels_flags, run_flags
from leaderboard.trec.read.numpy_words import (
    Floats,
    Int32,
    Places,
    Words,
    hashes_of,
    loaded,
    mixed,
    same_as_before,
    words_of,
)

FILTER_BITS = 20

REFUSED = (0, 0, 0, 0, 0, 0, 0, 0)


def columns(
    body: bytearray, end: int, final: int, fields: int, strict: int, id_bytes: int, room: Columns
) -> tuple[int, ...]:
    """As kernel.columns; refuses (ok 0) comments and lines of another number of fields."""
    text = np.frombuffer(body, np.uint8, len(body))
    laid_out = fields_of(text, end, fields)
    if laid_out is None:
        return REFUSED
    starts, sizes, lines, begins = laid_out
    ids = [0, 2, 5] if fields == 6 else [0, 1, 2]
    if sizes[:, ids].max() > id_bytes:
        return REFUSED
    if strict and (text[:end] == 127).any():
        return REFUSED
    value = 4 if fields == 6 else 3
    numbers = numbers_of(text, starts[:, value], sizes[:, value])
    if numbers is None:
        return REFUSED
    words = words_of(body)
    same = same_as_before(words, starts[:, 0], sizes[:, 0])
    firsts = np.flatnonzero(~same)
    groups, entries = len(firsts), len(starts)
    if final:
        consumed, line = end, int(np.count_nonzero(text[:end] == NEWLINE))
    else:
        groups -= 1
        entries = int(firsts[-1])
        consumed, line = int(begins[entries]), int(lines[entries])
    if fields == 6:
        flags = run_flags(text[:end], words, starts, sizes, numbers, same, strict)
    else:
        flags = qrels_flags(text[:end], words, starts, sizes, strict)
    room.at[:entries], room.length[:entries] = starts[:entries, 2], sizes[:entries, 2]
    room.hash[:entries] = hashes_of(words, starts[:entries, 2], sizes[:entries, 2])
    room.score[:entries] = numbers[:entries]
    firsts = firsts[:groups]
    room.group_start[:groups], room.group_start[groups] = firsts, entries
    room.group_at[:groups], room.group_length[:groups] = starts[firsts, 0], sizes[firsts, 0]
    room.group_line[:groups] = lines[firsts]
    tag = 5 if fields == 6 else 1
    return 1, entries, groups, consumed, line, flags, int(starts[-1, tag]), int(sizes[-1, tag])


def order(
    body: bytes | bytearray,
    at: Int32,
    length: Int32,
    score: Floats,
    group_start: Int32,
    groups: int,
    single: int,
    best: Int32,
    ties: Int32,
) -> None:
    """As kernel.order: only rankings out of order, and ties, are sorted."""
    entries = int(group_start[groups])
    best[:entries] = np.arange(entries, dtype=np.int32)
    group = _groups(group_start, groups)
    value = _compared(score[:entries], single)
    same = group[1:] == group[:-1]
    equal = (value[1:] == value[:-1]) & same
    rising = np.zeros(groups, np.bool_)
    rising[group[1:][(value[1:] > value[:-1]) & same]] = True
    moving = rising[group]
    moving[1:] |= equal
    moving[:-1] |= equal
    which = np.flatnonzero(moving)
    if len(which):
        words = words_of(body)
        keys = _descending(words, at[which], length[which])
        best[which] = which[np.lexsort((*keys, -value[which], group[which]))]
        value = value[best[:entries]]
        equal = (value[1:] == value[:-1]) & same
    ties[:groups] = np.bincount(group[1:][equal], minlength=groups)


def doubled(
    body: bytes | bytearray, at: Int32, length: Int32, hash_: Words, group_start: Int32, groups: int
) -> int:
    """As kernel.doubled: equal hashes are looked at byte by byte."""
    entries = int(group_start[groups])
    group = _groups(group_start, groups)
    keys = np.sort(hash_[:entries] ^ mixed(group.astype(np.uint64)))
    if not (keys[1:] == keys[:-1]).any():
        return -1
    for place in range(groups):
        span = slice(int(group_start[place]), int(group_start[place + 1]))
        docnos = _texts(body, at[span], length[span])
        if len(set(docnos)) < len(docnos):
            return place
    return -1


def hashes(body: bytes | bytearray, at: Int32, length: Int32, hash_: Words) -> None:
    """As kernel.hashes."""
    words = words_of(body)
    hash_[:] = hashes_of(words, at, length)


def tables(hash_: Words, starts: Places) -> tuple[NDArray[Any], ...]:
    """Keys of topic and docno in ascending order, their documents, and a filter of the keys' low bits."""
    topic = np.repeat(np.arange(len(starts) - 1, dtype=np.uint64), np.diff(starts))
    keys = hash_ ^ mixed(topic)
    documents = np.argsort(keys, kind="stable")
    bits = np.zeros(1 << FILTER_BITS, np.bool_)
    bits[keys & np.uint64((1 << FILTER_BITS) - 1)] = True
    return keys[documents], documents, bits


def match(
    body: bytes | bytearray,
    at: Int32,
    length: Int32,
    hash_: Words,
    best: Int32,
    group_start: Int32,
    place: Int32,
    depth: int,
    index: Index,
) -> tuple[Places, Places, Places]:
    """As kernel.match."""
    groups = len(place)
    group = _groups(group_start, groups)
    rank = np.arange(1, len(group) + 1, dtype=np.int64) - group_start[group]
    topic = place[group].astype(np.int64)
    sorted_keys, documents, bits = index.tables
    keys = hash_[best] ^ mixed(topic.astype(np.uint64))
    low = keys & np.uint64((1 << FILTER_BITS) - 1)
    maybe = np.flatnonzero(bits[low] & (topic >= 0) & (rank <= depth))
    key, at_key = keys[maybe], np.searchsorted(sorted_keys, keys[maybe])
    hits, matched = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    # A second round is for documents of one topic whose hashes are equal: next to never.
    while len(maybe):
        kept = at_key < len(sorted_keys)
        kept[kept] = sorted_keys[at_key[kept]] == key[kept]
        maybe, key, at_key = maybe[kept], key[kept], at_key[kept]
        document = documents[at_key]
        same = _same_docnos(body, at, length, best[maybe], index, document)
        hits.append(maybe[same])
        matched.append(document[same])
        maybe, key, at_key = maybe[~same], key[~same], at_key[~same] + 1
    entry = np.concatenate(hits)
    by_entry = np.argsort(entry, kind="stable")
    entry = entry[by_entry]
    return topic[entry], rank[entry], np.concatenate(matched)[by_entry]


def _same_docnos(
    body: bytes | bytearray, at: Int32, length: Int32, line: Int32, index: Index, document: Places
) -> NDArray[np.bool_]:
    """Whether each line's docno is that of the document beside it."""
    ours, theirs = words_of(body), words_of(index.letters)
    same: NDArray[np.bool_] = length[line] == index.length[document]
    for done in range(0, int(length[line].max(initial=0)), 8):
        word = loaded(ours, at[line], length[line], done)
        same = same & (word == loaded(theirs, index.at[document], index.length[document], done))
    return same


def joined(body: bytes | bytearray, at: Int32, length: Int32, which: Int32, separator: int) -> bytes:
    """As kernel.joined."""
    size = length[which].astype(np.int64)
    ends = np.cumsum(size + (separator >= 0))
    total = int(ends[-1]) if len(ends) else 0
    starts = ends - size - (separator >= 0)
    source = np.repeat(at[which] - starts, size + (separator >= 0)) + np.arange(total)
    letters = np.frombuffer(body, np.uint8)[np.minimum(source, len(body) - 1)]
    if separator >= 0:
        letters[ends - 1] = separator
    return letters.tobytes()


def _groups(group_start: Int32, groups: int) -> Places:
    """The group of every entry, (entries,)."""
    return np.repeat(np.arange(groups, dtype=np.int64), np.diff(group_start[: groups + 1]))


def _compared(score: Floats, single: int) -> Floats:
    if not single:
        return score
    with np.errstate(over="ignore"):  # beyond 32 bits a score is infinite, as in C
        return score.astype(np.float32).astype(np.float64)


def _descending(words: Words, start: Int32, size: Int32) -> list[Words]:
    """Sort keys, least important first, of docnos in descending order of bytes."""
    keys = []
    for done in range(0, int(size.max(initial=0)), 8):
        keys.append(~loaded(words, start, size, done).byteswap())
    return keys[::-1]


def _texts(body: bytes | bytearray, at: Int32, length: Int32) -> list[bytes]:
    return [
        bytes(body[start : start + size]) for start, size in zip(at.tolist(), length.tolist(), strict=True)
    ]
