"""Run files as rankings in memory, one per topic."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaderboard.errors import Problem
from leaderboard.trec.read import kernel
from leaderboard.trec.read.columns import Columns
from leaderboard.trec.read.kernel import SLACK, Block
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, bytes_of, text_of
from leaderboard.trec.read.scanning import scan_run

Docnos = NDArray[np.bytes_]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """One topic of one run, in the order of the file.

    docnos: (documents,) raw bytes, dtype S; scores: (documents,) float64, finite.
    """

    topic: str
    docnos: Docnos
    scores: Scores


@dataclass(frozen=True, eq=False)
class Run:
    """A run as its file says: rankings by topic in order of arrival.

    tag is the last line's and tags the first few distinct ones; split_topics came in several parts,
    which are joined here; metadata is the ir_metadata header, {} without one; notes are oddities
    seen while reading; first_lines tells on which line each topic starts.
    """

    tag: str
    tags: tuple[str, ...]
    rankings: dict[str, Ranking]
    split_topics: tuple[str, ...]
    entries: int
    metadata: dict[str, Any]
    notes: tuple[Problem, ...]
    first_lines: dict[str, int] = field(default_factory=dict)


def read_run(source: Path, *, strict: bool = True, limits: Limits = DEFAULT_LIMITS, dialect: int = 10) -> Run:
    """The run in a file: six columns, tabs or blanks, `#` comments, plain or .gz, .bz2, .xz, .zst.

    strict also accepts MS MARCO's three columns (topic docno rank) and refuses what the upload refuses;
    otherwise only what trec_eval 10 refuses, and scores that are not finite numbers. Raises Invalid
    with up to 25 problems, TooLarge beyond limits.
    """
    scanned = scan_run(source, _Rankings, strict=strict, limits=limits, dialect=dialect)
    return Run(
        tag=scanned.tag,
        tags=scanned.tags,
        rankings=scanned.consumer.rankings,
        split_topics=scanned.split_topics,
        entries=scanned.entries,
        metadata=scanned.metadata,
        notes=scanned.notes,
        first_lines=scanned.consumer.first_lines,
    )


class _Rankings:
    """Keeps every block's rankings."""

    def __init__(self) -> None:
        self.rankings: dict[str, Ranking] = {}
        self.first_lines: dict[str, int] = {}

    def add(self, block: Block) -> None:
        """Take a block."""
        for ranking, line in zip(rankings_of(block), block.lines, strict=True):
            self.rankings[ranking.topic] = ranking
            self.first_lines[ranking.topic] = line


def rankings_of(block: Block) -> list[Ranking]:
    """A block's rankings one by one, copied out of it."""
    ends = block.columns.at + block.columns.length
    docnos = [
        bytes(block.body[at:end]) for at, end in zip(block.columns.at.tolist(), ends.tolist(), strict=True)
    ]
    starts = block.columns.group_start.tolist()
    return [
        Ranking(text_of(topic), np.array(docnos[start:end]), block.columns.score[start:end].copy())
        for topic, start, end in zip(block.topics, starts[:-1], starts[1:], strict=True)
    ]


def block_of(rankings: Sequence[Ranking]) -> Block:
    """Rankings as one block."""
    docnos = [docno for ranking in rankings for docno in ranking.docnos.tolist()]
    length = np.array(list(map(len, docnos)), np.int32)
    body = b"".join(docnos) + bytes(SLACK)
    at = np.cumsum(length, dtype=np.int32) - length
    nothing = np.zeros(len(rankings), np.int32)
    columns = Columns(
        at=at,
        length=length,
        hash=kernel.hashes(body, at, length),
        score=np.concatenate([np.empty(0), *(ranking.scores for ranking in rankings)]),
        group_start=np.cumsum([0, *(len(ranking.scores) for ranking in rankings)], dtype=np.int32),
        group_at=nothing,
        group_length=nothing,
        group_line=np.zeros(len(rankings), np.int64),
    )
    return Block(body, columns, [bytes_of(ranking.topic) for ranking in rankings], [0] * len(rankings))
