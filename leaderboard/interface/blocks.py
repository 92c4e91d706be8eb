"""Documents of topics in memory to blocks, the form in which runs are scored."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from numbers import Real
from typing import Any

import numpy as np

from leaderboard.errors import Invalid, Problem
from leaderboard.measures.judged import FloatArray
from leaderboard.trec.read import kernel
from leaderboard.trec.read.columns import Columns
from leaderboard.trec.read.entries import LOOSE_ID_BYTES
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.lines import bytes_of, shown, text_of
from leaderboard.trec.read.scattered import Scattered

AT_A_TIME = 2**15
"""About how many documents are gathered at a time: memory does not grow with a run."""


def blocks_of(run: Mapping[str, Mapping[str, float]]) -> Iterator[Block]:
    """The blocks of a run as topic -> docno -> score, topics in its order.

    Raises Invalid for an invalid docno and a score that is not a finite number.
    """
    topics: list[str] = []
    entries = 0
    for topic, documents in run.items():
        if not isinstance(documents, Mapping):
            rule, remedy = f"Topic {shown(str(topic))} needs a dictionary.", "Give topic -> docno -> number."
            raise invalid(rule, remedy, "", documents)
        topics.append(topic)
        entries += len(documents)
        if entries >= AT_A_TIME:
            yield _block(run, topics)
            topics, entries = [], 0
    if topics:
        yield _block(run, topics)


def _block(run: Mapping[str, Mapping[str, float]], topics: list[str]) -> Block:
    parts = [run[topic] for topic in topics]
    gathered = kernel.gathered(parts, LOOSE_ID_BYTES)
    if gathered is None:
        parts = [dict(_checked(topic, run[topic])) for topic in topics]
        gathered = kernel.gathered(parts, LOOSE_ID_BYTES)
        assert gathered is not None, "every document was checked"
    return _as_block(gathered, map(len, parts), [id_of(topic, "topic") for topic in topics])


def _as_block(gathered: kernel.Gathered, sizes: Iterable[int], topics: list[bytes]) -> Block:
    """Gathered documents as a block of topics, given how many each has."""
    nothing = np.zeros(len(topics), np.int32)
    columns = Columns(
        at=gathered.at,
        length=gathered.length,
        hash=gathered.hash,
        score=gathered.score,
        group_start=np.cumsum([0, *sizes], dtype=np.int32),
        group_at=nothing,
        group_length=nothing,
        group_line=np.zeros(len(topics), np.int64),
    )
    return Block(gathered.letters, columns, topics, [0] * len(topics))


def _checked(topic: object, documents: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """The documents under docnos that are text; raises Invalid for the first that is not fit."""
    for docno, score in documents.items():
        name = id_of(docno, "docno")
        if not is_finite(score):
            rule = f"Topic {shown(str(topic))}, document {shown(name)}: the number is not finite."
            raise invalid(rule, "Give topic -> docno -> number.", "score", score)
        yield text_of(name), float(score)


def id_of(value: object, what: str) -> bytes:
    """The bytes of an id: text, bytes or a whole number; raises Invalid for anything else."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        value = str(value)
    name = bytes_of(value) if isinstance(value, str) else value
    if not isinstance(name, bytes) or len(name) > LOOSE_ID_BYTES:
        rule = f"A {what} is text of at most {LOOSE_ID_BYTES} bytes, or a whole number."
        raise invalid(rule, "Check the ids, or convert them with str().", what, value)
    return name


def is_finite(value: object) -> bool:
    """Whether a value is a number and neither infinite nor missing."""
    return isinstance(value, Real | np.number) and bool(np.isfinite(float(value)))


def invalid(rule: str, remedy: str, field: str, value: object) -> Invalid:
    """The error of one value."""
    problem = Problem(rule, remedy, None, field, shown(repr(value)))
    return Invalid(str(problem), [problem])


def gathered_columns(topics: Sequence[bytes], docnos: Sequence[bytes], scores: FloatArray) -> Scattered:
    """Entries by column, in any order, put together by topic."""
    scattered = Scattered()
    for start in range(0, len(topics), AT_A_TIME):
        part = slice(start, start + AT_A_TIME)
        letters = docnos[part]
        length = np.fromiter(map(len, letters), np.int32, len(letters))
        body = b"".join((*letters, bytes(kernel.SLACK)))
        at = np.cumsum(length, dtype=np.int32) - length
        gathered = kernel.Gathered(body, at, length, kernel.hashes(body, at, length), scores[part])
        groups = [(topic, len(list(same))) for topic, same in groupby(topics[part])]
        block = _as_block(gathered, [size for _, size in groups], [topic for topic, _ in groups])
        scattered.add(block.body, block.columns, block.topics, block.lines)
    return scattered


def once(block: Block) -> Block:
    """The block; raises Invalid where one of its topics has a document twice."""
    if (group := block.doubled) < 0:
        return block
    start, end = block.columns.group_start[group : group + 2].tolist()
    docnos = sorted(map(block.docno, range(start, end)))
    docno = next(earlier for earlier, later in pairwise(docnos) if earlier == later)
    rule = f"Topic {shown(block.topics[group])} has this document twice."
    problem = Problem(rule, "Keep one of the two.", None, "docno", shown(docno))
    raise Invalid(str(problem), [problem])
