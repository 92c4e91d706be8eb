"""Reading of stored rankings."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from numpy import typing as npt
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to, damaged
from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment, RankingBlock, RankingIndex
from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.memory import Kept, keep_by
from leaderboard.pooling.candidates import FloatArray as CandidatesFloatArray
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.qrels import files
from leaderboard.tables.record import Shown
from leaderboard.trec.qrels.align import (
    Aligner,
    CompiledJudgments,
    DocumentsByTopic,
    order,
    ranking_without,
    remaining,
)
from leaderboard.trec.qrels.packed import unpack_hits
from leaderboard.trec.qrels.revision_inputs import compiled_inputs
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.lines import bytes_of
from leaderboard.trec.runs.fingerprints import RankingDigest
from leaderboard.trec.runs.packing import read_index, unpack_block, unpack_topic
from leaderboard.trec.runs.runs import Ranking

BATCH = 32
"""Number of blocks of about 100 KB read per statement."""


def blocks_of(session: Session, run_id: int) -> Iterator[Block]:
    """A run's rankings, block by block in the order of its file; raises Damaged."""
    bodies = select(RankingBlock.body).where(RankingBlock.run_id == run_id).order_by(RankingBlock.number)
    for body in session.scalars(bodies):
        yield opened(run_id, body)


def whole_blocks(database: Database, run_id: int, ranking_sha256: str) -> Iterator[Block]:
    """A run's rankings, a few blocks per transaction, so that no transaction is open while computing.

    Raises Damaged at the end if they do not match the run's digest.
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
    """The ranking at an index entry of a block; raises Damaged."""
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


RUNS_AT_ONCE = 50
"""Maximum number of runs with blocks in memory at a time."""


_kept: Kept[Ranking] = Kept(__name__)


@dataclass(frozen=True, eq=False)
class OrderedRanking:
    """One run's ranking of one topic, in scoring order."""

    docnos: tuple[str, ...]
    scores: FloatArray
    """(documents,) as submitted."""
    first: tuple[int, ...]
    """For each document, the first rank of its tie."""
    last: tuple[int, ...]
    """For each document, the last rank of its tie."""

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.docnos)


@dataclass(frozen=True, slots=True)
class PassedDocument:
    """A document removed from a ranking, with its score and the rank of the next document."""

    docno: Annotated[str, Shown("Document")]
    score: float
    before: Annotated[int, Shown("Before rank")]


NOTHING = OrderedRanking((), np.empty(0), (), ())


def ordered(session: Session, run_id: int, topic_id: str, dialect: int) -> OrderedRanking:
    """A run's ranking of a topic, best first; empty if the run misses the topic."""
    return ordered_without(session, run_id, topic_id, dialect, ())[0]


def ordered_without(
    session: Session, run_id: int, topic_id: str, dialect: int, left_out: Collection[bytes]
) -> tuple[OrderedRanking, tuple[PassedDocument, ...]]:
    """The ranking without some docnos, removed before ranking, and the removed ones it had."""
    for _, ranking in rankings_of(session, [run_id], topic_id):
        remaining = stored_in_order(ranking_without(ranking, left_out), dialect)
        return remaining, _passed(stored_in_order(ranking, dialect), left_out) if left_out else ()
    return NOTHING, ()


def _passed(whole: OrderedRanking, left_out: Collection[bytes]) -> tuple[PassedDocument, ...]:
    passed, rank = [], 1
    for docno, score in zip(whole.docnos, whole.scores.tolist(), strict=True):
        if docno.encode() in left_out:
            passed.append(PassedDocument(docno, score, rank))
        else:
            rank += 1
    return tuple(passed)


def stored_in_order(ranking: Ranking, dialect: int) -> OrderedRanking:
    """A ranking by score, ties by docno, as the dialect compares scores.

    >>> ranking = stored_in_order(Ranking("1", np.array([b"a", b"b", b"c"]), np.array([1.0, 2.0, 1.0])), 10)
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
    """The rank and submitted score of a document in a run."""

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
    """Run id -> rank and score of a document for a topic, for runs that have it.

    left_out: docnos removed before ranking. Rankings are cached for the next document of the topic, since
    reading those of 150 runs dominates the time of a page.
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
    """As rankings_of, but cached, since rankings never change."""
    url = str(session.get_bind().engine.url)
    kept = {run_id: _kept.get((url, run_id, topic_id)) for run_id in run_ids}
    yield from ((run_id, ranking) for run_id, ranking in kept.items() if ranking is not None)
    missing = [run_id for run_id, ranking in kept.items() if ranking is None]
    for run_id, ranking in rankings_of(session, missing, topic_id):
        yield run_id, _kept.put((url, run_id, topic_id), ranking)


def rank_in(ranking: Ranking, docno: bytes, dialect: int) -> int | None:
    """The rank of a document, None if it is not in the ranking; computed without sorting.

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
    """Run id and ranking of the runs that have the topic, two statements per fifty runs."""
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
    """The scores as compared by trec_eval: version 9 uses 32 bits."""
    if dialect != 9:
        return scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


Docnos = npt.NDArray[np.bytes_]
Top = tuple[Docnos, CandidatesFloatArray]
"""The best documents of one ranking and their scores."""

BLOCKS_AT_ONCE = 64
"""Number of compressed blocks fetched together."""
NO_TOP: Top = (np.empty(0, "S1"), np.empty(0))


@dataclass(frozen=True, eq=False)
class TopicTops:
    """The tops of all runs for one topic: docnos in byte order, and for each run, in the requested order, the
    places of its best documents among them, best first, and their scores."""

    docnos: Docnos
    rankings: tuple[IntArray, ...]
    scores: tuple[CandidatesFloatArray, ...]

    def docno(self, place: int) -> str:
        """A document's docno."""
        return bytes(self.docnos[place]).decode("utf-8", "surrogateescape")


def topic_seed(seed: int, topic_id: str) -> int:
    """The seed of a topic's random choices, from the pool's seed; reproducible.

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
    """Topic -> top documents of every run to a depth; one statement, read run by run.

    leave_out: docnos to skip without giving their rank to others. gone: documents removed from their topics
    before ranking. Only the tops are in memory, so memory grows with the depth, not with the length of
    rankings.
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
    """The same for one topic by the index of each run, for an assessor waiting for a document."""
    by_run = {
        run_id: tops_in_order(ranking_without(ranking, gone), depth, dialect)
        for run_id, ranking in rankings_of(session, run_ids, topic_id)
    }
    left_out = np.array(sorted(leave_out)) if leave_out else None
    return numbered([by_run.get(run_id, NO_TOP) for run_id in run_ids], left_out)


def tops_in_order(ranking: Ranking, depth: int, dialect: int) -> Top:
    """The top of one ranking, best first, ties by docno as in the dialect."""
    places = order(ranking, dialect)[:depth]
    return ranking.docnos[places], ranking.scores[places]


def numbered(tops: Sequence[Top], leave_out: Docnos | None = None) -> TopicTops:
    """Tops with documents as indices into the list of all docnos, in byte order.

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
    """Index -> grade of a topic's judged documents; unjudged pooled documents are omitted."""
    if not grades or not len(tops.docnos):
        return {}
    pairs = ((place, grades.get(docno, -1)) for place, docno in enumerate(tops.docnos.tolist()))
    return {place: grade for place, grade in pairs if grade >= 0}


def _among(docnos: Docnos, others: Docnos) -> npt.NDArray[np.bool_]:
    """Mask of the docnos contained in others, which are in byte order and not empty."""
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


def _revision(session: Session, source: Source) -> tuple[str, int, str]:
    """Cache key of judgments; a revision never changes, and ids belong to one database."""
    return str(session.get_bind().engine.url), source.revision_id, source.revision_sha256


@keep_by(_revision)
def compiled_judgments(session: Session, source: Source) -> CompiledJudgments:
    """The judgments an edition is based on, with the collection size if known."""
    return compiled_inputs(files.inputs(session, source.revision_id))


class Alignments(Mapping[int, Judged]):
    """Run id -> aligned run; unpacked on each access to keep memory bounded."""

    def __init__(self, makers: Mapping[int, Callable[[], Judged]]) -> None:
        self._makers = makers

    def __getitem__(self, run_id: int) -> Judged:
        return self._makers[run_id]()

    def __iter__(self) -> Iterator[int]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def docnos_of(compiled: CompiledJudgments, documents: IntArray) -> list[str]:
    """The docnos of judged documents, given as indices into judgments.grades."""
    named = compiled.documents
    start, length = named.at[documents], named.length[documents]
    ends = (start + length).tolist()
    return [named.letters[at:end].decode() for at, end in zip(start.tolist(), ends, strict=True)]


def listed(compiled: CompiledJudgments, place: int) -> tuple[int, int]:
    """Start and end of the documents with a docno, of the topic at an index.

    A topic with all judged documents left out has one without a docno.
    """
    start, end = compiled.judgments.listed(place)
    return start + int(start < end and not compiled.documents.length[start]), end


def left_out_of(compiled: CompiledJudgments, topic_id: str) -> frozenset[bytes]:
    """Docnos removed from every ranking of a topic."""
    return frozenset() if compiled.left_out is None else compiled.left_out.of(bytes_of(topic_id))


def alignment(session: Session, source: Source, run_id: int) -> Judged:
    """One run aligned with the edition's judgments."""
    return alignments(session, source, [run_id])[run_id]


def alignments(session: Session, source: Source, run_ids: Collection[int]) -> Alignments:
    """Runs aligned with the edition's judgments, by id, in the requested order; iterate only once.

    One statement, plus one for the first use of a revision. A run scored before hits were stored is aligned
    again from its rankings.
    """
    compiled = compiled_judgments(session, source)
    rows = session.execute(
        select(Alignment.run_id, Alignment.body).where(
            Alignment.revision_id == source.revision_id,
            Alignment.dialect == source.dialect,
            Alignment.run_id.in_(run_ids),
        )
    )
    bodies = {row.run_id: row.body for row in rows}

    def maker(run_id: int) -> Callable[[], Judged]:
        if run_id in bodies:
            return partial(_unpacked, run_id, bodies[run_id], compiled, source.dialect)
        return partial(_aligned, session, compiled, source.dialect, run_id)

    return Alignments({run_id: maker(run_id) for run_id in run_ids})


def _unpacked(run_id: int, body: bytes, compiled: CompiledJudgments, dialect: int) -> Judged:
    with belonging_to(f"run {run_id}"):
        return unpack_hits(body, compiled.judgments, dialect)


def _aligned(session: Session, compiled: CompiledJudgments, dialect: int, run_id: int) -> Judged:
    aligner = Aligner(compiled, dialect=dialect)
    for block in blocks_of(session, run_id):
        aligner.add(block)
    return aligner.judged()
