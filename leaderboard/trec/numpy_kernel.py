"""The functions of _kernel.c with numpy alone, for machines without a compiler: the same bits, slower.

`columns` says no to more than the C kernel does: the reader then goes line by line.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from leaderboard.trec.kernel import Index

Bytes = NDArray[np.uint8]
Int32 = NDArray[np.int32]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
"""Which bits of a word the first so many bytes are."""
POWERS = np.array([10.0**places for places in range(23)])
EXACT = 2**53
NEWLINE = 10
BLANK = np.isin(np.arange(33), [9, 10, 11, 12, 13, 32])
LONGEST_NUMBER = 24
"""Characters of a number up to which it is read with all others at once."""
FILTER_BITS = 20

REFUSED = (0, 0, 0, 0, 0, 0, 0, 0)


def columns(
    body: bytearray,
    end: int,
    final: int,
    fields: int,
    strict: int,
    id_bytes: int,
    at: Int32,
    length: Int32,
    hash_: Words,
    score: Floats,
    group_start: Int32,
    group_at: Int32,
    group_length: Int32,
    group_line: Places,
) -> tuple[int, ...]:
    """As kernel.columns; refuses (ok 0) comments and lines of another number of fields."""
    text = np.frombuffer(body, np.uint8, len(body))
    found = _fields(text, end, fields)
    if found is None:
        return REFUSED
    starts, sizes, lines, begins = found
    if sizes[:, [0, 2]].max() > id_bytes or (fields == 6 and sizes[:, 5].max() > id_bytes):
        return REFUSED
    if strict and (text[:end] == 127).any():
        return REFUSED
    value = 4 if fields == 6 else 3
    numbers = _numbers(body, text, starts[:, value], sizes[:, value])
    if numbers is None:
        return REFUSED
    words = words_of(body)
    same = _same_as_before(words, starts[:, 0], sizes[:, 0])
    firsts = np.flatnonzero(~same)
    groups, entries = len(firsts), len(starts)
    if final:
        consumed, line = end, int(np.count_nonzero(text[:end] == NEWLINE))
    else:
        groups -= 1
        entries = int(firsts[-1])
        consumed, line = int(begins[entries]), int(lines[entries])
    if fields == 6:
        flags = _run_flags(text[:end], words, starts, sizes, numbers, same, strict)
    else:
        flags = _qrels_flags(text, words, starts, sizes)
    at[:entries], length[:entries] = starts[:entries, 2], sizes[:entries, 2]
    hash_[:entries] = _hashes(words, starts[:entries, 2], sizes[:entries, 2])
    score[:entries] = numbers[:entries]
    group_start[:groups], group_start[groups] = firsts[:groups], entries
    group_at[:groups], group_length[:groups] = starts[firsts[:groups], 0], sizes[firsts[:groups], 0]
    group_line[:groups] = lines[firsts[:groups]]
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
    for each in range(groups):
        span = slice(int(group_start[each]), int(group_start[each + 1]))
        docnos = _texts(body, at[span], length[span])
        if len(set(docnos)) < len(docnos):
            return each
    return -1


def hashes(body: bytes | bytearray, at: Int32, length: Int32, hash_: Words) -> None:
    """As kernel.hashes."""
    words = words_of(body)
    hash_[:] = _hashes(words, at, length)


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
    index: "Index",
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
    first = np.searchsorted(sorted_keys, keys[maybe], "left")
    last = np.searchsorted(sorted_keys, keys[maybe], "right")
    hits = []
    for entry, low_place, high_place in zip(
        maybe[last > first].tolist(), first[last > first].tolist(), last[last > first].tolist(), strict=True
    ):
        line = best[entry]
        docno = body[at[line] : at[line] + length[line]]
        for document in documents[low_place:high_place].tolist():
            begin = index.at[document]
            if docno == index.letters[begin : begin + index.length[document]]:
                hits.append((entry, document))
                break
    found = np.array(hits, np.int64).reshape(-1, 2)
    return topic[found[:, 0]], rank[found[:, 0]], found[:, 1]


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


def _fields(text: Bytes, end: int, fields: int) -> tuple[Places, Places, Places, Places] | None:
    """Where the fields of every entry begin and how long they are, (entries, fields); the line of each
    entry and where that begins, (entries,). None unless every line has so many fields or none."""
    found = _single_blanks(text, end, fields) or _any_blanks(text, end, fields)
    if found is None:
        return None
    starts, ends, lines, begins = found
    if not len(starts) or (text[begins] == ord("#")).any():
        return None
    return starts, ends - starts, lines, begins


def _single_blanks(text: Bytes, end: int, fields: int) -> tuple[Places, Places, Places, Places] | None:
    """The usual form: fields parted by one blank or tab, no empty lines."""
    found = np.flatnonzero(text[:end] < 33)
    if len(found) % fields:
        return None
    ends: Places = found.reshape(-1, fields)
    marks = text[ends]
    blanks = marks[:, :-1]
    if not ((marks[:, -1] == NEWLINE).all() and ((blanks == 32) | (blanks == 9)).all()):
        return None
    begins = np.concatenate(([0], ends[:-1, -1] + 1))
    starts = np.column_stack((begins, ends[:, :-1] + 1))
    if not (ends > starts).all():
        return None
    return starts, ends, np.arange(len(starts)), begins


def _any_blanks(text: Bytes, end: int, fields: int) -> tuple[Places, Places, Places, Places] | None:
    """Any blanks between and around the fields, any line ends, and empty lines."""
    low = text[:end] < 33
    if (low & ~BLANK[np.minimum(text[:end], 32)]).any():
        return None
    changes = np.flatnonzero(np.diff(low, prepend=True))
    starts, ends = changes[0::2], changes[1::2]
    if len(starts) % fields:
        return None
    starts, ends = starts.reshape(-1, fields), ends.reshape(-1, fields)
    newlines = np.flatnonzero(text[:end] == NEWLINE)
    lines = np.searchsorted(newlines, starts[:, 0])
    if (lines != np.searchsorted(newlines, starts[:, -1])).any() or (lines[1:] == lines[:-1]).any():
        return None
    begins = np.concatenate(([0], newlines + 1))[lines]
    comments = np.concatenate(([0], newlines[:-1] + 1))
    return None if (text[comments] == ord("#")).any() else (starts, ends, lines, begins)


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
    """The words with their bits spread; the kernels' hash is made of it."""
    state = state * MULTIPLIER
    return state ^ (state >> np.uint64(29))


def _hashes(words: Words, start: NDArray[Any], size: NDArray[Any]) -> Words:
    state = size.astype(np.uint64)
    for done in range(0, int(size.max(initial=0)), 8):
        state = np.where(size > done, mixed(state ^ loaded(words, start, size, done)), state)
    return mixed(state)


def _same_as_before(words: Words, start: Places, size: Places) -> NDArray[np.bool_]:
    """Whether each line's topic is that of the line before; never for the first."""
    same = np.zeros(len(start), np.bool_)
    same[1:] = size[1:] == size[:-1]
    for done in range(0, int(size.max()), 8):
        word = loaded(words, start, size, done)
        same[1:] &= word[1:] == word[:-1]
    return same


def _numbers(body: bytearray, text: Bytes, start: Places, size: Places) -> Floats | None:
    """The numbers, correctly rounded, None where one is none or not finite."""
    mantissa = np.zeros(len(start), np.uint64)
    digits, point = np.zeros(len(start), np.int64), np.full(len(start), -1, np.int64)
    plain = size <= LONGEST_NUMBER
    first = text[start]
    signed = (first == 45) | (first == 43)
    for place in range(int(min(size.max(), LONGEST_NUMBER))):
        here = size > place
        byte = text[np.minimum(start + place, len(text) - 1)]
        digit = byte - np.uint8(48)
        is_digit = here & (digit < 10)
        mantissa = np.where(is_digit, mantissa * np.uint64(10) + digit, mantissa)
        digits += is_digit
        is_point = here & (byte == 46) & (point < 0)
        point[is_point] = place
        plain &= is_digit | is_point | ~here | (signed if place == 0 else False)
    places = np.where(point < 0, 0, size - 1 - point)
    plain &= (digits > 0) & (digits <= 19) & (mantissa <= EXACT) & (places <= 22)
    found: Floats = mantissa.astype(np.float64) / POWERS[np.where(plain, places, 0)]
    found[first == 45] *= -1.0
    for entry in np.flatnonzero(~plain).tolist():
        value = _number(bytes(body[start[entry] : start[entry] + size[entry]]))
        if value is None:
            return None
        found[entry] = value
    return found


def _number(text: bytes) -> float | None:
    """One number; float() alone would also take underscores, nan and infinity."""
    if text.translate(None, b"0123456789+-.eE"):
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) != float("inf") else None


def _run_flags(
    text: Bytes,
    words: Words,
    starts: Places,
    sizes: Places,
    score: Floats,
    same: NDArray[np.bool_],
    strict: int,
) -> int:
    second = (sizes[:, 1] == 2) & (text[starts[:, 1]] == ord("Q")) & (text[starts[:, 1] + 1] == ord("0"))
    flags = 0 if second.all() else 1
    if not _same_as_before(words, starts[:, 5], sizes[:, 5])[1:].all():
        flags |= 8
    if not strict:
        return flags
    if (text >= 128).any():
        flags |= 32
    rank = np.zeros(len(starts), np.int64)
    for place in range(int(min(sizes[:, 3].max(), 16))):
        here = sizes[:, 3] > place
        digit = text[np.minimum(starts[:, 3] + place, len(text) - 1)] - np.uint8(48)
        if (here & (digit > 9)).any():
            return flags | 2
        rank = np.where(here, rank * 10 + digit, rank)
    if sizes[:, 3].max() > 16:
        return flags | 2
    rise, climb = score[1:] - score[:-1], rank[1:] - rank[:-1]
    against = same[1:] & (((rise > 0) & (climb > 0)) | ((rise < 0) & (climb < 0)))
    return flags | 4 if against.any() else flags


def _qrels_flags(text: Bytes, words: Words, starts: Places, sizes: Places) -> int:
    flags = 0 if _same_as_before(words, starts[:, 1], sizes[:, 1])[1:].all() else 1
    for place in range(int(sizes[:, 3].max())):
        here = sizes[:, 3] > place
        byte = text[np.minimum(starts[:, 3] + place, len(text) - 1)]
        is_sign = ((byte == 45) | (byte == 43)) if place == 0 else np.False_
        if (here & ~((byte - np.uint8(48) < 10) | is_sign)).any():
            return flags | 2
    return flags


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
