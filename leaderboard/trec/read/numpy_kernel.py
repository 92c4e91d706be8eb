"""The functions of _kernel.c with numpy alone, for machines without a compiler: the same bits, slower.

`columns` refuses more than the C kernel does: the reader then reads line by line.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.trec.read.columns import AGAINST, BYTES, RANK, SECOND, TAGS, Columns, Index
from leaderboard.trec.read.entries import GRADE_DIGITS
from leaderboard.trec.read.numpy_words import (
    Bytes,
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
SLACK = 16
"""As kernel.SLACK."""

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
    """As kernel.doubled: equal hashes are compared byte by byte."""
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


def gathered(
    topics: list[Mapping[str, float]], id_bytes: int, at: Int32, length: Int32, hash_: Words, score: Floats
) -> bytes | None:
    """As kernel.gathered, for any mappings and numbers; bytes that are not UTF-8 are escaped."""
    docnos = [docno for documents in topics for docno in documents]
    values = [value for documents in topics for value in documents.values()]
    is_text = all(isinstance(docno, str) for docno in docnos)
    if not is_text or not all(isinstance(value, Real) for value in values):
        return None
    letters = [docno.encode("utf-8", "surrogateescape") for docno in docnos]
    length[:], score[:] = list(map(len, letters)), values
    if not np.isfinite(score).all() or length.max(initial=0) > id_bytes:
        return None
    at[:] = np.cumsum(length) - length
    body = b"".join((*letters, bytes(SLACK)))
    hashes(body, at, length, hash_)
    return body


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
    """Whether each line's docno is that of its document."""
    ours, theirs = words_of(body), words_of(index.letters)
    same: NDArray[np.bool_] = length[line] == index.length[document]
    for done in range(0, int(length[line].max(initial=0)), 8):
        word = loaded(ours, at[line], length[line], done)
        same = same & (word == loaded(theirs, index.at[document], index.length[document], done))
    return same


def printed(
    heads: list[bytes], topics: list[bytes], values: Floats, digits: Int32, texts: dict[int, list[bytes]]
) -> bytes:
    """As kernel.printed, by a template for all lines of a topic."""
    forms = [
        b"%s" if line in texts else b"%%6.%df" % each if each else b"%.0f" for line, each in enumerate(digits)
    ]
    template = b"".join(
        head.replace(b"%", b"%%") + b"\0\t" + form + b"\n" for head, form in zip(heads, forms, strict=True)
    )
    columns = [texts.get(line) or row.tolist() for line, row in enumerate(values)]
    rows = zip(*columns, strict=True) if columns else iter(lambda: (), None)
    return b"".join(
        [(template % row).replace(b"\0", topic) for topic, row in zip(topics, rows, strict=False)]
    )


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


POWERS = np.array([10.0**places for places in range(23)])
EXACT = 2**53
NEWLINE = 10
BLANK = np.isin(np.arange(33), [9, 10, 11, 12, 13, 32])
LONG_POWERS = np.array([10**places for places in range(20)], np.longdouble)
LONGEST_NUMBER = 20
"""Characters of a number up to which it is read with all others at once."""


def fields_of(text: Bytes, end: int, fields: int) -> tuple[Places, Places, Places, Places] | None:
    """Starts and lengths of the fields of every entry, (entries, fields); the line of each
    entry and where that begins, (entries,). None unless every line has this number of fields or none."""
    if not (text[:end] > 32).any():
        return None
    laid_out = _single_blanks(text, end, fields) or _any_blanks(text, end, fields)
    if laid_out is None:
        return None
    starts, ends, lines, begins = laid_out
    if not len(starts) or (text[begins] == ord("#")).any():
        return None
    return starts, ends - starts, lines, begins


def _single_blanks(text: Bytes, end: int, fields: int) -> tuple[Places, Places, Places, Places] | None:
    """The usual form: fields parted by one blank or tab, no empty lines."""
    low = np.flatnonzero(text[:end] < 33)
    if len(low) % fields:
        return None
    ends: Places = low.reshape(-1, fields)
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


def numbers_of(text: Bytes, start: Places, size: Places) -> Floats | None:
    """The numbers, correctly rounded; None where one is not a number or not finite."""
    short = size <= LONGEST_NUMBER
    if short.all():
        numbers, odd = _plain_numbers(text, start, size)
    else:
        numbers, odd = np.empty(len(start)), ~short
        which = np.flatnonzero(short)
        if len(which):
            numbers[which], odd[which] = _plain_numbers(text, start[which], size[which])
    if odd.any():
        values = _odd_numbers(text, start[odd], size[odd])
        if values is None:
            return None
        numbers[odd] = values
    return numbers


def _plain_numbers(text: Bytes, start: Places, size: Places) -> tuple[Floats, NDArray[np.bool_]]:
    """Numbers of digits and a point, all at once, and which ones have another form."""
    mantissa = np.zeros(len(start), np.uint64)
    digits, point = np.zeros(len(start), np.int64), np.full(len(start), -1, np.int64)
    first = text[start]
    is_other = np.zeros(len(start), np.bool_)
    for place in range(int(size.max())):
        here = size > place
        byte = text[np.minimum(start + place, len(text) - 1)]
        digit = byte - np.uint8(48)
        is_digit = here & (digit < 10)
        mantissa = np.where(is_digit, mantissa * np.uint64(10) + digit, mantissa)
        digits += is_digit
        rest = here ^ is_digit
        if rest.any():
            is_point = rest & (byte == 46) & (point < 0)
            point[is_point] = place
            is_other |= rest ^ is_point ^ (rest & ((byte == 45) | (byte == 43)) if place == 0 else False)
    places = np.where(point < 0, 0, size - 1 - point)
    is_other |= (digits == 0) | (digits > 19)
    values: Floats = mantissa.astype(np.float64) / POWERS[places]
    long = mantissa > EXACT
    if long.any():
        values[long], doubtful = _long_quotients(mantissa[long], places[long])
        is_other[long] |= doubtful
    values[first == 45] *= -1.0
    return values, is_other


def _long_quotients(mantissa: Words, places: Places) -> tuple[Floats, NDArray[np.bool_]]:
    """Quotients of mantissas of up to 64 bits, and for which ones the rounding is not certain.

    Where long doubles have 64 bits, mantissa, power and quotient lose nothing but the last rounding;
    rounding again, to a double, is wrong only if the first came out half-way between two doubles.
    """
    if np.finfo(np.longdouble).nmant != 63:
        return np.zeros(len(mantissa)), np.ones(len(mantissa), np.bool_)
    quotient = mantissa.astype(np.longdouble) / LONG_POWERS[places]
    rounded = quotient.astype(np.float64)
    return rounded, abs(quotient - rounded) * 2 == np.spacing(rounded)


def _odd_numbers(text: Bytes, start: Places, size: Places) -> Floats | None:
    """Numbers one by one; float() alone would also accept underscores, nan and infinity."""
    width = int(size.max())
    table = text[np.minimum(start[:, None] + np.arange(width), len(text) - 1)]
    table[np.arange(width) >= size[:, None]] = 0
    texts = table.view(f"S{width}").ravel().tolist()
    if b"".join(texts).translate(None, b"0123456789+-.eE"):
        return None
    try:
        values = np.array(list(map(float, texts)))
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def run_flags(
    text: Bytes,
    words: Words,
    starts: Places,
    sizes: Places,
    score: Floats,
    same: NDArray[np.bool_],
    strict: int,
) -> int:
    """The oddities of a run's lines; ranks and bytes are checked only if strict."""
    second = (sizes[:, 1] == 2) & (text[starts[:, 1]] == ord("Q")) & (text[starts[:, 1] + 1] == ord("0"))
    flags = 0 if second.all() else SECOND
    if not same_as_before(words, starts[:, 5], sizes[:, 5])[1:].all():
        flags |= TAGS
    if not strict:
        return flags
    if (text >= 128).any():
        flags |= BYTES
    rank = np.zeros(len(starts), np.int64)
    for place in range(int(min(sizes[:, 3].max(), 16))):
        here = sizes[:, 3] > place
        digit = text[np.minimum(starts[:, 3] + place, len(text) - 1)] - np.uint8(48)
        if (here & (digit > 9)).any():
            return flags | RANK
        rank = np.where(here, rank * 10 + digit, rank)
    if sizes[:, 3].max() > 16:
        return flags | RANK
    # Compared, as the difference of two scores may be no double any more.
    rises, falls = score[1:] > score[:-1], score[1:] < score[:-1]
    climb = rank[1:] - rank[:-1]
    against = same[1:] & ((rises & (climb > 0)) | (falls & (climb < 0)))
    return flags | AGAINST if against.any() else flags


def qrels_flags(text: Bytes, words: Words, starts: Places, sizes: Places, strict: int) -> int:
    """The oddities of qrels: an iteration that changes, a grade that is not a whole number or too long."""
    flags = 0 if same_as_before(words, starts[:, 1], sizes[:, 1])[1:].all() else SECOND
    if strict and (text >= 128).any():
        flags |= BYTES
    first = text[starts[:, 3]]
    if (sizes[:, 3] - ((first == 45) | (first == 43)) > GRADE_DIGITS).any():
        return flags | RANK
    for place in range(int(sizes[:, 3].max())):
        here = sizes[:, 3] > place
        byte = text[np.minimum(starts[:, 3] + place, len(text) - 1)]
        is_sign = ((byte == 45) | (byte == 43)) if place == 0 else np.False_
        if (here & ~((byte - np.uint8(48) < 10) | is_sign)).any():
            return flags | RANK
    return flags
