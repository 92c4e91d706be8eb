"""Rank-biased overlap of every pair of runs, from stored rankings.

SciPy is not needed here: evaluators import this module.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from leaderboard.db.tables import RankingBlock
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.qrels import left_out
from leaderboard.scoring.ops.rankings import indices_of, opened
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.orders.rbo_all_pairs import rbo_of_all_pairs
from leaderboard.trec.qrels.align import remaining
from leaderboard.trec.read.kernel import Block

PROCEDURE = "overlaps"
P = 0.9
DEPTH = 100
METHOD = f"rbo(p={P:g})@{DEPTH}"
"""Method key of the overlap: its p, and the number of documents of each ranking."""
BLOCKS_KEPT = 128
"""Blocks of rankings in memory at once, at least one per run: most have 128 to 256 KB."""

Documents = npt.NDArray[np.int64]
Progress = Callable[[float], None]


def compute(session: Session, run_ids: Sequence[int], source: Source, progress: Progress) -> Arrays:
    """The mean overlap of every pair of runs over the topics, (pairs,), under the name rbo.

    Documents left out by the source's revision are not part of the rankings.
    """
    documents = StoredRankings(session, run_ids, source, DEPTH)
    return {"rbo": rbo_of_all_pairs(documents, P, progress=progress)}


def seconds(runs: int, topics: int) -> float:
    """Estimated time on one core."""
    return runs * topics * (1e-4 + runs * 3e-7)


class StoredRankings(Collection[Documents]):
    """Top documents of runs by topic, (runs, depth): document indices, -1 beyond the end.

    Blocks of whole topics are read when they are needed. Topics are in the order of the first run's blocks,
    which most runs share.
    """

    def __init__(self, session: Session, run_ids: Sequence[int], source: Source, depth: int) -> None:
        self._session = session
        self._run_ids = tuple(run_ids)
        self._dialect = source.dialect
        self._left_out = None
        if source.leaves_out:
            self._left_out = left_out.index(left_out.by_id(session, source.revision_id))
        self._depth = depth
        self._places = indices_of(session, self._run_ids)
        first = self._places[self._run_ids[0]]
        self._topics = sorted(source.topics, key=lambda topic: first.get(topic, (0, 0, 0)))
        # All blocks of a topic are needed together. Only one job reads them, so no lock is needed.
        self._blocks: LRUCache[tuple[int, int], Block] = LRUCache(max(BLOCKS_KEPT, 2 * len(self._run_ids)))

    def __len__(self) -> int:
        """Number of topics."""
        return len(self._topics)

    def __contains__(self, other: object) -> bool:
        """Whether some topic has these documents."""
        return any(other is documents for documents in self)

    def __iter__(self) -> Iterator[Documents]:
        """The documents of one topic after the other."""
        for topic in self._topics:
            yield self._of(topic)

    def _of(self, topic: str) -> Documents:
        numbers: dict[bytes, int] = {}
        ranked = np.full((len(self._run_ids), self._depth), -1, dtype=np.int64)
        keys = {
            run_id: (run_id, self._places[run_id][topic][0])
            for run_id in self._run_ids
            if topic in self._places[run_id]
        }
        self._read(keys.values())
        for row, run_id in enumerate(self._run_ids):
            if run_id in keys:
                best = _best(self._blocks[keys[run_id]], topic.encode(), self._dialect, self._depth)
                ranked[row, : len(best)] = [numbers.setdefault(docno, len(numbers)) for docno in best]
        return ranked

    def _read(self, keys: Collection[tuple[int, int]]) -> None:
        """Load these blocks, by run and number, evicting the least recently used."""
        # Marking a block as recently used keeps requested blocks from evicting each other.
        missing = [key for key in keys if self._blocks.get(key) is None]
        if not missing:
            return
        blocks = select(RankingBlock.run_id, RankingBlock.number, RankingBlock.body)
        for row in self._session.execute(
            blocks.where(tuple_(RankingBlock.run_id, RankingBlock.number).in_(missing))
        ):
            block = opened(row.run_id, row.body)
            if self._left_out is not None:
                block = remaining(block, self._left_out)
            self._blocks[row.run_id, row.number] = block


def _best(block: Block, topic: bytes, dialect: int, depth: int) -> list[bytes]:
    if topic not in block.topics:
        return []
    group = block.topics.index(topic)
    start, end = block.columns.group_start[group : group + 2].tolist()
    entries = block.best(dialect)[start : min(end, start + depth)]
    at = block.columns.at[entries]
    ends = (at + block.columns.length[entries]).tolist()
    return [bytes(block.body[first:last]) for first, last in zip(at.tolist(), ends, strict=True)]
