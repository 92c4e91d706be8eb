"""Rankings as they were sent, read back one topic at a time: of one run, or one document in those of many."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from leaderboard.db.tables import RankingBlock
from leaderboard.measures.judged import FloatArray
from leaderboard.memory import Kept
from leaderboard.services.rankings.blocks import indices_of, topic_in
from leaderboard.tables.record import Shown
from leaderboard.trec.qrels.align import order
from leaderboard.trec.qrels.remaining import ranking_without
from leaderboard.trec.runs.runs import Ranking

RUNS_AT_ONCE = 50
"""Runs whose blocks are held in memory at a time."""


_kept: Kept[Ranking] = Kept(__name__)


@dataclass(frozen=True, eq=False)
class OrderedRanking:
    """One run's ranking of one topic in the order it is scored in."""

    docnos: tuple[str, ...]
    scores: FloatArray
    """(documents,) as they were sent."""
    first: tuple[int, ...]
    """The rank at which the documents of equal score begin, of every document."""
    last: tuple[int, ...]
    """The rank at which they end."""

    def __len__(self) -> int:
        """How many documents it has."""
        return len(self.docnos)


@dataclass(frozen=True, slots=True)
class PassedDocument:
    """A document that was taken out of a ranking: its score, and the rank that the next document has."""

    docno: Annotated[str, Shown("Document")]
    score: float
    before: Annotated[int, Shown("Before rank")]


NOTHING = OrderedRanking((), np.empty(0), (), ())


def ordered(session: Session, run_id: int, topic_id: str, dialect: int) -> OrderedRanking:
    """A run's ranking of a topic, best first; without documents where the run misses the topic."""
    return ordered_without(session, run_id, topic_id, dialect, ())[0]


def ordered_without(
    session: Session, run_id: int, topic_id: str, dialect: int, left_out: Collection[bytes]
) -> tuple[OrderedRanking, tuple[PassedDocument, ...]]:
    """The same without some docnos, taken out before ranks are counted, and those that the run has."""
    for _, ranking in rankings_of(session, [run_id], topic_id):
        remaining = in_order(ranking_without(ranking, left_out), dialect)
        return remaining, _passed(in_order(ranking, dialect), left_out) if left_out else ()
    return NOTHING, ()


def _passed(whole: OrderedRanking, left_out: Collection[bytes]) -> tuple[PassedDocument, ...]:
    passed, rank = [], 1
    for docno, score in zip(whole.docnos, whole.scores.tolist(), strict=True):
        if docno.encode() in left_out:
            passed.append(PassedDocument(docno, score, rank))
        else:
            rank += 1
    return tuple(passed)


def in_order(ranking: Ranking, dialect: int) -> OrderedRanking:
    """A ranking by score, ties by docno, as the dialect compares scores.

    >>> ranking = in_order(Ranking("1", np.array([b"a", b"b", b"c"]), np.array([1.0, 2.0, 1.0])), 10)
    >>> ranking.docnos, ranking.first, ranking.last
    (('b', 'c', 'a'), (1, 2, 2), (1, 3, 3))
    """
    places = order(ranking, dialect)
    scores = ranking.scores[places]
    docnos = tuple(docno.decode() for docno in ranking.docnos[places].tolist())
    compared = _compared(scores, dialect)
    starts = np.flatnonzero(np.concatenate(([True], compared[1:] != compared[:-1]))) + 1
    ends = np.concatenate((starts[1:] - 1, [len(docnos)]))
    first, last = (np.repeat(ranks, ends - starts + 1).tolist() for ranks in (starts, ends))
    return OrderedRanking(docnos, scores, tuple(first), tuple(last))


@dataclass(frozen=True, slots=True)
class DocumentPosition:
    """Where a run has a document: its rank and the score it was sent with."""

    run_id: int
    rank: int
    score: float


def positions_of(
    session: Session,
    run_ids: Collection[int],
    topic_id: str,
    docno: str,
    dialect: int,
    left_out: Collection[bytes] = (),
) -> tuple[DocumentPosition, ...]:
    """Where those of the runs that have a document for a topic have it, by the ids of the runs.

    left_out: docnos that are taken out of the rankings before ranks are counted. Rankings are kept for the
    topic's next document: to open those of 150 runs takes most of a page.
    """
    name = docno.encode()
    kept = _kept_rankings(session, run_ids, topic_id)
    remaining = ((run_id, ranking_without(ranking, left_out)) for run_id, ranking in kept)
    ranked = ((run_id, ranking, rank_in(ranking, name, dialect)) for run_id, ranking in remaining)
    positions = [
        DocumentPosition(run_id, rank, float(ranking.scores[ranking.docnos == name][0]))
        for run_id, ranking, rank in ranked
        if rank is not None
    ]
    return tuple(sorted(positions, key=lambda position: position.run_id))


def _kept_rankings(
    session: Session, run_ids: Collection[int], topic_id: str
) -> Iterator[tuple[int, Ranking]]:
    """As rankings_of, out of memory where a ranking was read before: no ranking ever changes."""
    url = str(session.get_bind().engine.url)
    known = {run_id: _kept.get((url, run_id, topic_id)) for run_id in run_ids}
    yield from ((run_id, ranking) for run_id, ranking in known.items() if ranking is not None)
    missing = [run_id for run_id, ranking in known.items() if ranking is None]
    for run_id, ranking in rankings_of(session, missing, topic_id):
        yield run_id, _kept.put((url, run_id, topic_id), ranking)


def rank_in(ranking: Ranking, docno: bytes, dialect: int) -> int | None:
    """The rank of a document, None where the ranking does not have it; without sorting it.

    >>> rank_in(Ranking("1", np.array([b"a", b"b", b"c"]), np.array([1.0, 2.0, 1.0])), b"a", 10)
    3
    """
    (here,) = np.nonzero(ranking.docnos == docno)
    if not len(here):
        return None
    scores = _compared(ranking.scores, dialect)
    mine = scores[here[0]]
    tied = (scores == mine) & (ranking.docnos > docno)
    return 1 + int(np.count_nonzero(scores > mine)) + int(np.count_nonzero(tied))


def rankings_of(session: Session, run_ids: Collection[int], topic_id: str) -> Iterator[tuple[int, Ranking]]:
    """Run id and ranking of the runs that have the topic, two statements for every fifty runs."""
    ids = sorted(run_ids)
    for start in range(0, len(ids), RUNS_AT_ONCE):
        indices = indices_of(session, ids[start : start + RUNS_AT_ONCE])
        where = {run_id: index[topic_id] for run_id, index in indices.items() if topic_id in index}
        blocks = session.execute(
            select(RankingBlock.run_id, RankingBlock.body)
            .where(
                tuple_(RankingBlock.run_id, RankingBlock.number).in_(
                    [(run_id, number) for run_id, (number, _, _) in where.items()]
                )
            )
            .order_by(RankingBlock.run_id)
        )
        for block in blocks:
            _, offset, length = where[block.run_id]
            yield block.run_id, topic_in(block.run_id, block.body, offset, length)


def _compared(scores: FloatArray, dialect: int) -> FloatArray:
    """The scores as they are compared: trec_eval 9 has 32 bits."""
    if dialect != 9:
        return scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)
