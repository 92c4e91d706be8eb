"""The relevant documents that other runs have near the top of a topic and one run has not."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.measures.judged import IntArray, Judged
from leaderboard.pages.runs.head import ScoredRun
from leaderboard.pages.scores import fields
from leaderboard.pages.topics import found_documents
from leaderboard.pages.topics.found_documents import NEAR
from leaderboard.services import collections
from leaderboard.services.evaluations import alignments
from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.read.lines import bytes_of

BoolArray = npt.NDArray[np.bool_]

TOLD = 5
"""Documents of a topic that are told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlookedDocument:
    """A relevant document that other runs have down to a depth and this one has not."""

    docno: str
    title: str
    grade: int
    others: int
    """How many of the other runs have it."""
    rank: int | None
    """Where this run has it, below the depth; None where it has it nowhere."""


@dataclass(frozen=True, slots=True)
class OverlookedDocuments:
    """What a run overlooked on a topic: how many documents, and those that most other runs have."""

    total: int
    documents: tuple[OverlookedDocument, ...]


NOTHING_OVERLOOKED = OverlookedDocuments(0, ())


def overlooked(
    session: Session,
    scored: ScoredRun,
    topic_ids: Sequence[str],
    others: Collection[int],
    judged: Judged,
    depth: int,
) -> dict[str, OverlookedDocuments]:
    """Topic -> what the run, aligned as judged, overlooked of what the other runs have down to a depth.

    The depth is NEAR or FAR of what runs found, the topics are judged ones. The document that most other runs
    have comes first, of these the one with the higher grade.
    """
    if not others or not topic_ids:
        return dict.fromkeys(topic_ids, NOTHING_OVERLOOKED)
    task, sight = scored.seen.task, scored.seen.sight
    runs = [run for run in fields.runs_of(session, scored.seen.viewer, task, sight) if run.run_id in others]
    finds = found_documents.found(session, scored.source, runs, task.level)
    counts = (finds.near if depth == NEAR else finds.far).astype(np.int64)
    compiled = alignments.compiled_judgments(session, scored.source)
    ranks = np.zeros(len(counts), dtype=np.int64)
    ranks[judged.document] = judged.rank
    is_overlooked = (
        (compiled.judgments.grades >= task.level) & (counts > 0) & ((ranks == 0) | (ranks > depth))
    )
    places = {topic: _places(compiled, counts, is_overlooked, topic) for topic in topic_ids}
    documents = _documents(session, scored, compiled, (ranks, counts), [at[:TOLD] for at in places.values()])
    return {
        topic: OverlookedDocuments(len(at), tuple(documents[place] for place in at[:TOLD].tolist()))
        for topic, at in places.items()
    }


def _places(
    compiled: CompiledJudgments, counts: IntArray, is_overlooked: BoolArray, topic_id: str
) -> IntArray:
    """Which of judgments.grades are overlooked on a topic, in the order of the telling."""
    here = np.arange(*compiled.judgments.listed(compiled.index[bytes_of(topic_id)]))
    chosen: IntArray = here[is_overlooked[here]]
    return chosen[np.lexsort((chosen, -compiled.judgments.grades[chosen], -counts[chosen]))]


def _documents(
    session: Session,
    scored: ScoredRun,
    compiled: CompiledJudgments,
    columns: tuple[IntArray, IntArray],
    places: Sequence[IntArray],
) -> dict[int, OverlookedDocument]:
    """Place in judgments.grades -> the document; columns are the run's ranks and the counts of the others."""
    told, (ranks, counts) = np.concatenate(places), columns
    docnos = alignments.docnos(compiled, told)
    texts = collections.texts(session, scored.seen.task.collection_id, docnos)
    return {
        place: OverlookedDocument(
            docno=docno,
            title=texts[docno].title if docno in texts else "",
            grade=int(compiled.judgments.grades[place]),
            others=int(counts[place]),
            rank=int(ranks[place]) or None,
        )
        for place, docno in zip(told.tolist(), docnos, strict=True)
    }
