"""Rankings with some documents of their topics removed; ranks close up."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from leaderboard.trec.read import kernel
from leaderboard.trec.read.blocks import Block
from leaderboard.trec.read.columns import Columns, Index
from leaderboard.trec.runs.runs import Ranking


@dataclass(frozen=True, eq=False)
class DocumentsByTopic:
    """Documents of topics, ready to be found in any number of runs.

    index: topic as bytes -> its place; documents: those of each topic in that order.
    """

    index: Mapping[bytes, int]
    documents: Index

    def of(self, topic: bytes) -> frozenset[bytes]:
        """The docnos of a topic."""
        place, named = self.index.get(topic), self.documents
        if place is None:
            return frozenset()
        here = slice(*named.starts[place : place + 2].tolist())
        pairs = zip(named.at[here].tolist(), named.length[here].tolist(), strict=True)
        return frozenset(bytes(named.letters[at : at + length]) for at, length in pairs)


def remaining(block: Block, left_out: DocumentsByTopic) -> Block:
    """A block without what is left out of its topics; a topic with nothing else is gone."""
    columns = block.columns
    place = np.array([left_out.index.get(topic, -1) for topic in block.topics], np.int32)
    every = np.arange(len(columns.at), dtype=np.int32)
    topic, rank, _ = kernel.match(block.body, columns, every, place, left_out.documents, None)
    if not len(topic):
        return block
    group = np.full(len(left_out.index) + 1, -1, np.int64)
    group[place] = np.arange(len(place))
    keep = np.ones(len(every), dtype=np.bool_)
    keep[columns.group_start[group[topic]] + rank - 1] = False
    sizes = np.add.reduceat(keep, columns.group_start[:-1], dtype=np.int64)
    groups = np.flatnonzero(sizes)
    return Block(
        block.body,
        Columns(
            at=columns.at[keep],
            length=columns.length[keep],
            hash=columns.hash[keep],
            score=columns.score[keep],
            group_start=np.concatenate(([0], np.cumsum(sizes[groups]))).astype(np.int32),
            group_at=columns.group_at[groups],
            group_length=columns.group_length[groups],
            group_line=columns.group_line[groups],
        ),
        [block.topics[number] for number in groups.tolist()],
        [block.lines[number] for number in groups.tolist()],
    )


def ranking_without(ranking: Ranking, left_out: Collection[bytes]) -> Ranking:
    """A ranking of one topic without some documents.

    >>> ranking = Ranking("1", np.array([b"a", b"b", b"c"]), np.array([3.0, 2.0, 1.0]))
    >>> ranking_without(ranking, {b"b", b"x"}).docnos.tolist()
    [b'a', b'c']
    """
    if not left_out:
        return ranking
    keep = ~np.isin(ranking.docnos, np.array(sorted(left_out)))
    return Ranking(ranking.topic, ranking.docnos[keep], ranking.scores[keep])
