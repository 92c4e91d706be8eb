"""Runs aligned with the judgments of a revision: stored with scores, read in one statement."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import Alignment
from leaderboard.measures.judged import IntArray, Judged
from leaderboard.memory import keep_by
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.rankings import blocks_of
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.packed_hits import unpack_hits
from leaderboard.trec.qrels.revision_inputs import compiled_inputs
from leaderboard.trec.read.lines import bytes_of


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


def docnos(compiled: CompiledJudgments, documents: IntArray) -> list[str]:
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
