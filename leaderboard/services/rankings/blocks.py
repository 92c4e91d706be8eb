"""The stored rankings of runs, a block at a time; damaged ones are an error that names the run."""

from collections.abc import Collection, Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to, damaged
from leaderboard.db.engine import Database
from leaderboard.db.tables import RankingBlock, RankingIndex
from leaderboard.trec.read.blocks import Block
from leaderboard.trec.runs.fingerprints import RankingDigest
from leaderboard.trec.runs.packing import read_index, unpack_block, unpack_topic
from leaderboard.trec.runs.runs import Ranking

BATCH = 32
"""Blocks of about a hundred KB that are read with one statement."""


def blocks_of(session: Session, run_id: int) -> Iterator[Block]:
    """A run's rankings, block by block in the order of its file; raises Damaged."""
    bodies = select(RankingBlock.body).where(RankingBlock.run_id == run_id).order_by(RankingBlock.number)
    for body in session.scalars(bodies):
        yield opened(run_id, body)


def whole_blocks(database: Database, run_id: int, ranking_sha256: str) -> Iterator[Block]:
    """A run's rankings, a few blocks in each transaction, so that none is held while computing.

    Raises Damaged, at the end, where all of them together do not have the run's digest.
    """
    digest, first, bodies = RankingDigest(), 0, [b""]
    while bodies:
        with database.read() as session:
            numbered = RankingBlock.run_id == run_id, RankingBlock.number >= first
            chosen = select(RankingBlock.body).where(*numbered).order_by(RankingBlock.number)
            bodies = list(session.scalars(chosen.limit(BATCH)))
        first += len(bodies)
        for body in bodies:
            block = opened(run_id, body)
            digest.add(block)
            yield block
    if digest.hexdigest() != ranking_sha256:
        raise damaged(f"rankings of run {run_id}", "their digest does not match")


def opened(run_id: int, body: bytes) -> Block:
    """The rankings in a block of a run; raises Damaged."""
    with belonging_to(f"run {run_id}"):
        return unpack_block(body)


def topic_in(run_id: int, body: bytes, offset: int, length: int) -> Ranking:
    """The ranking that a run's index says lies in a block; raises Damaged."""
    with belonging_to(f"run {run_id}"):
        return unpack_topic(body, offset, length)


def indices_of(session: Session, run_ids: Collection[int]) -> dict[int, dict[str, tuple[int, int, int]]]:
    """Run id -> topic -> number of its block, offset and length; one statement; raises Damaged."""
    rows = session.execute(
        select(RankingIndex.run_id, RankingIndex.body).where(RankingIndex.run_id.in_(run_ids))
    )
    return {row.run_id: _index(row.run_id, row.body) for row in rows}


def _index(run_id: int, body: bytes) -> dict[str, tuple[int, int, int]]:
    with belonging_to(f"run {run_id}"):
        return read_index(body)
