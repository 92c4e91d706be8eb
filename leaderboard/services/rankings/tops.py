"""The top documents of many runs, topic by topic: what pools are made of, read from the database once."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import RankingBlock
from leaderboard.pooling.candidates import FloatArray, IntArray
from leaderboard.services.rankings import stored
from leaderboard.services.rankings.blocks import opened
from leaderboard.trec.qrels.align import order
from leaderboard.trec.qrels.remaining import DocumentsByTopic, ranking_without, remaining
from leaderboard.trec.read.blocks import Block
from leaderboard.trec.runs.runs import Ranking

Docnos = npt.NDArray[np.bytes_]
Top = tuple[Docnos, FloatArray]
"""The best documents of one ranking and their scores."""

BLOCKS_AT_ONCE = 64
"""Compressed blocks that are fetched from the database together."""
NO_TOP: Top = (np.empty(0, "S1"), np.empty(0))


@dataclass(frozen=True, eq=False)
class TopicTops:
    """The tops of all runs for one topic: docnos in byte order, and for each run, in the order asked for,
    the places of its best documents among them, best first, and their scores."""

    docnos: Docnos
    rankings: tuple[IntArray, ...]
    scores: tuple[FloatArray, ...]

    def docno(self, place: int) -> str:
        """A document's docno."""
        return bytes(self.docnos[place]).decode("utf-8", "surrogateescape")


def topic_seed(seed: int, topic_id: str) -> int:
    """What a topic's random choices are seeded with, given the pool's seed: the same for ever.

    >>> topic_seed(1, "401") == topic_seed(1, "401") != topic_seed(1, "402")
    True
    """
    digest = hashlib.sha256(f"{seed} {topic_id}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:7], "big")


def read_tops(
    session: Session,
    run_ids: Sequence[int],
    topic_ids: Iterable[str],
    depth: int,
    dialect: int,
    leave_out: Collection[bytes] = (),
    gone: DocumentsByTopic | None = None,
) -> dict[str, TopicTops]:
    """Topic -> the best documents of every run down to a depth; one statement, read run by run.

    leave_out: docnos that are passed over; the rank they take is not given to others. gone: documents that
    are taken out of their topics before ranks are counted. Only the tops are
    held, so that memory grows with the depth and not with the length of rankings.
    """
    names = {topic.encode("utf-8", "surrogateescape"): topic for topic in topic_ids}
    tops: dict[str, dict[int, Top]] = {topic: {} for topic in names.values()}
    rows = session.execute(
        select(RankingBlock.run_id, RankingBlock.body)
        .where(RankingBlock.run_id.in_(set(run_ids)))
        .order_by(RankingBlock.run_id, RankingBlock.number)
        .execution_options(yield_per=BLOCKS_AT_ONCE)
    )
    for run_id, body in rows:
        block = opened(run_id, body)
        for name, top in _tops_of(block if gone is None else remaining(block, gone), dialect, depth):
            if name in names:
                tops[names[name]][run_id] = top
    left_out = np.array(sorted(leave_out)) if leave_out else None
    return {topic: numbered([by_run.get(run_id, NO_TOP) for run_id in run_ids], left_out)
            for topic, by_run in tops.items()}  # fmt: skip


def topic_tops(
    session: Session,
    run_ids: Sequence[int],
    topic_id: str,
    depth: int,
    dialect: int,
    leave_out: Collection[bytes] = (),
    gone: Collection[bytes] = (),
) -> TopicTops:
    """The same of one topic, by the index of every run: for an assessor who waits for the next document."""
    by_run = {
        run_id: in_order(ranking_without(ranking, gone), depth, dialect)
        for run_id, ranking in stored.rankings_of(session, run_ids, topic_id)
    }
    left_out = np.array(sorted(leave_out)) if leave_out else None
    return numbered([by_run.get(run_id, NO_TOP) for run_id in run_ids], left_out)


def in_order(ranking: Ranking, depth: int, dialect: int) -> Top:
    """The top of one ranking, best first, ties by docno as the dialect has it."""
    places = order(ranking, dialect)[:depth]
    return ranking.docnos[places], ranking.scores[places]


def numbered(tops: Sequence[Top], leave_out: Docnos | None = None) -> TopicTops:
    """Tops with documents as places in the list of all of them, docnos in byte order.

    >>> tops = numbered([(np.array([b"d2", b"d10"]), np.array([2.0, 1.0])), (np.array([b"d1"]), np.ones(1))])
    >>> tops.docnos.tolist(), [places.tolist() for places in tops.rankings]
    ([b'd1', b'd10', b'd2'], [[2, 1], [0]])
    """
    if not any(len(docnos) for docnos, _ in tops):
        nothing = tuple(np.empty(0, np.int64) for _ in tops)
        return TopicTops(np.empty(0, "S1"), nothing, tuple(np.empty(0) for _ in tops))
    docnos, flat = np.unique(np.concatenate([top for top, _ in tops]), return_inverse=True)
    ends = np.cumsum([len(top) for top, _ in tops])[:-1]
    places = np.split(flat.astype(np.int64).reshape(-1), ends)
    scores = [values for _, values in tops]
    keep = np.ones(len(docnos), np.bool_) if leave_out is None else ~_among(docnos, leave_out)
    if not keep.all():
        moved = np.cumsum(keep) - 1
        scores = [values[keep[at]] for values, at in zip(scores, places, strict=True)]
        docnos, places = docnos[keep], [moved[at[keep[at]]] for at in places]
    return TopicTops(docnos, tuple(places), tuple(scores))


def judged_places(tops: TopicTops, grades: Mapping[bytes, int]) -> dict[int, int]:
    """Place -> grade of those of a topic's documents that are judged; pooled ones that are not, are none."""
    if not grades or not len(tops.docnos):
        return {}
    pairs = ((place, grades.get(docno, -1)) for place, docno in enumerate(tops.docnos.tolist()))
    return {place: grade for place, grade in pairs if grade >= 0}


def _among(docnos: Docnos, others: Docnos) -> npt.NDArray[np.bool_]:
    """Which docnos are among others, which are in byte order and at least one."""
    is_among: npt.NDArray[np.bool_] = (
        others[np.minimum(np.searchsorted(others, docnos), len(others) - 1)] == docnos
    )
    return is_among


def _tops_of(block: Block, dialect: int, depth: int) -> list[tuple[bytes, Top]]:
    """Topic and top of every ranking of a block."""
    columns, best = block.columns, block.best(dialect)
    starts = columns.group_start.astype(np.int64)
    sizes = np.minimum(np.diff(starts), depth)
    ends = np.cumsum(sizes)
    entries = best[np.arange(ends[-1]) - np.repeat(ends - sizes - starts[:-1], sizes)]
    docnos = _docnos(block, entries)
    scores = columns.score[entries]
    return [
        (topic, (docnos[end - size : end], scores[end - size : end]))
        for topic, end, size in zip(block.topics, ends.tolist(), sizes.tolist(), strict=True)
    ]


def _docnos(block: Block, entries: npt.NDArray[np.int32]) -> Docnos:
    """The docnos of entries as an array of equally wide bytes."""
    at, length = block.columns.at[entries], block.columns.length[entries]
    width = int(length.max(initial=1))
    places = at[:, None] + np.arange(width, dtype=np.int32)
    body = np.frombuffer(block.body, np.uint8)
    table = np.where(np.arange(width) < length[:, None], body[np.minimum(places, len(body) - 1)], 0)
    return np.ascontiguousarray(table, dtype=np.uint8).view(f"S{width}").reshape(-1)
