"""A qrels file straight to arrays, without a Python object for each judgment."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from leaderboard.errors import Problem
from leaderboard.measures.judged import IntArray
from leaderboard.trec.qrels.align import CompiledJudgments, compiled
from leaderboard.trec.read import kernel
from leaderboard.trec.read.buffers import Buffer, TooLong
from leaderboard.trec.read.columns import BYTES, Columns, Int32
from leaderboard.trec.read.entries import ID_BYTES
from leaderboard.trec.read.forms import USUAL, Asked
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Source, text_of
from leaderboard.trec.read.scattered import Scattered, Whole

SHORTEST_JUDGMENT = 8
"""Bytes of a line with one character a field."""


class Irregular(Exception):
    """The file needs the careful reader."""


def read_judgments(
    path: Source,
    limits: Limits = DEFAULT_LIMITS,
    second: str = "",
    asked: Asked = USUAL,
    say: Callable[[Problem], None] = lambda _: None,
) -> CompiledJudgments:
    """The judgments of a qrels file, ready to be aligned with runs.

    Plain four-column files are read in bulk; any other is read by `read_qrels`, whose rules and errors these
    are, and subtopics are kept, as second says. `read_qrels` accepts whatever bulk reading accepts. say
    receives notes on the file.
    """
    try:
        if second != "subtopics" and not asked.columns:
            return _in_bulk(path, limits)
    except Irregular:
        pass
    # Most files need neither, and a short command would wait for both.
    from leaderboard.trec.qrels.compiling import compile_qrels
    from leaderboard.trec.qrels.qrels import read_qrels

    qrels = read_qrels(path, limits, second, asked)
    for note in qrels.notes:
        say(note)
    return compile_qrels(qrels)


def _in_bulk(path: Source, limits: Limits) -> CompiledJudgments:
    scattered, room, iteration = Scattered(), Columns.with_room(0, 0), None
    try:
        for buffer in Buffer(path, limits):
            if buffer.marked:
                raise Irregular
            if len(room.at) <= buffer.end // SHORTEST_JUDGMENT:
                room = Columns.with_room(*[buffer.end // SHORTEST_JUDGMENT + 1] * 2)
            parsed = kernel.columns(
                buffer.body, buffer.end, final=True, fields=4, strict=True, id_bytes=ID_BYTES, room=room
            )
            second = bytes(buffer.body[parsed.tag_at : parsed.tag_at + parsed.tag_length])
            if not parsed.ok or parsed.flags & ~BYTES or (iteration is not None and second != iteration):
                raise Irregular
            if parsed.flags & BYTES:
                _require_utf_8(buffer.body[: parsed.consumed])
            iteration, buffer.taken = second, parsed.consumed
            columns = room.cut(parsed.entries, parsed.groups)
            places = zip(columns.group_at.tolist(), columns.group_length.tolist(), strict=True)
            topics = [bytes(buffer.body[at : at + size]) for at, size in places]
            scattered.add(buffer.body, columns, topics, columns.group_line.tolist())
    except TooLong:
        raise Irregular from None
    return in_byte_order(scattered.together())


def _require_utf_8(body: bytearray) -> None:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        raise Irregular from None


def in_byte_order(wholes: Iterable[Whole]) -> CompiledJudgments:
    """Entries whose scores are grades as judgments, topics and docnos in them ascending by bytes.

    Raises Irregular if absent, or a topic has a document twice.
    """
    topics: list[bytes] = []
    parts: list[tuple[IntArray, Int32, IntArray]] = []
    letters: list[bytes] = []
    for body, columns, names, _ in wholes:
        if kernel.doubled(body, columns) >= 0:
            raise Irregular
        # With equal scores the order is by docno descending; backwards it is ascending, topics too.
        which = kernel.order(body, replace(columns, score=np.zeros(len(columns.at))), 10)[0][::-1].copy()
        sizes = np.diff(columns.group_start)[::-1].astype(np.int64)
        parts.append((sizes, columns.length[which], columns.score[which].astype(np.int64)))
        letters.append(kernel.joined(body, columns.at, columns.length, which))
        topics += names[::-1]
    if not topics:
        raise Irregular
    counts, length, grades = (np.concatenate([part[place] for part in parts]) for place in range(3))
    joined = b"".join((*letters, bytes(kernel.SLACK)))
    order = sorted(range(len(topics)), key=topics.__getitem__)
    starts = np.cumsum(counts) - counts
    which = np.repeat(starts[order] - np.cumsum(counts[order]) + counts[order], counts[order])
    which = which + np.arange(len(which))
    at = np.cumsum(length, dtype=np.int32) - length
    docnos = kernel.joined(joined, at, length, which.astype(np.int32))
    names_in_order = [text_of(topics[place]) for place in order]
    return compiled(names_in_order, counts[order], docnos, length[which], grades[which])
