"""Lines to fields, numbers and flags with numpy: what `columns` of the numpy kernel is made of."""

import numpy as np
from numpy.typing import NDArray

from leaderboard.trec.read.columns import AGAINST, BYTES, RANK, SECOND, TAGS
from leaderboard.trec.read.entries import GRADE_DIGITS
from leaderboard.trec.read.numpy_words import Bytes, Floats, Places, Words, same_as_before

POWERS = np.array([10.0**places for places in range(23)])
EXACT = 2**53
NEWLINE = 10
BLANK = np.isin(np.arange(33), [9, 10, 11, 12, 13, 32])
LONG_POWERS = np.array([10**places for places in range(20)], np.longdouble)
LONGEST_NUMBER = 20
"""Characters of a number up to which it is read with all others at once."""


def fields_of(text: Bytes, end: int, fields: int) -> tuple[Places, Places, Places, Places] | None:
    """Where the fields of every entry begin and how long they are, (entries, fields); the line of each
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
    """Numbers of digits and a point, all at once, and which ones are of another form."""
    mantissa = np.zeros(len(start), np.uint64)
    digits, point = np.zeros(len(start), np.int64), np.full(len(start), -1, np.int64)
    first = text[start]
    other = np.zeros(len(start), np.bool_)
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
            other |= rest ^ is_point ^ (rest & ((byte == 45) | (byte == 43)) if place == 0 else False)
    places = np.where(point < 0, 0, size - 1 - point)
    other |= (digits == 0) | (digits > 19)
    values: Floats = mantissa.astype(np.float64) / POWERS[places]
    long = mantissa > EXACT
    if long.any():
        values[long], doubtful = _long_quotients(mantissa[long], places[long])
        other[long] |= doubtful
    values[first == 45] *= -1.0
    return values, other


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
    """Numbers one by one; float() alone would also take underscores, nan and infinity."""
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
    """The oddities of a run's lines; ranks and bytes are looked at only if strict."""
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
