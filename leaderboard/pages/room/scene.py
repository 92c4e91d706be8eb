"""What stands still in a judging room while judgments come in: pool, queues, the runs on its documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Pool, Task, Topic
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.bounds.open_documents import filled, stack
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import UNJUDGED, IntArray, Judged
from leaderboard.memory import keep_by
from leaderboard.pages.boards.coverage import has_bounds
from leaderboard.services.assessors import coming, judged_pools, settle
from leaderboard.services.assessors.coming import AssessorQueue, Place
from leaderboard.services.assessors.judged_pools import PoolAssessor, PoolFacts
from leaderboard.services.boards.rows import Row, rank, read_rows
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.shown import Basis, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.pools.documents import PoolDocument
from leaderboard.services.qrels import left_out
from leaderboard.services.rankings.blocks import blocks_of
from leaderboard.services.statistics.procedures.coverage import depth
from leaderboard.services.statistics.requests import refusal
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments, compile_judgments
from leaderboard.trec.read.lines import bytes_of

SECONDS_KEPT = 15
"""How long a run that came or went since may be missing or shown; labels are always those of the moment."""
MOST_RANKINGS = 20_000
"""Runs times topics of the pool that are read while a reader waits: a few seconds, once."""
MOST_PLACES = 2_000_000
"""Runs times topics times ranks that bounds are worked out for at each judgment."""


@dataclass(frozen=True, slots=True)
class RoomAudience:
    """For whom a room is shown: whose names of the runs, and what of the task."""

    viewer: Viewer
    sight: Sight
    sees_order: bool
    """Whether the order of the runs may be shown."""


@dataclass(frozen=True, slots=True, eq=False)
class PooledRuns:
    """The ranked runs of a task on the documents of a pool, by their place on the board, then by name."""

    rows: tuple[Row, ...]
    bound: BoundMeasure
    column: MeasureColumn
    place: Mapping[Place, int]
    """Topic and docno -> where the document's grade stands among those of one run."""
    topics: int
    reused: IntArray
    """The grades that the pool uses again, (documents,); -1 where there is none."""
    judged: Judged
    """All runs, stacked."""
    full: Judged | None
    """The same with every rank filled; None where the measure has no bounds, or there are too many ranks."""


@dataclass(frozen=True, slots=True, eq=False)
class RoomPool:
    """A pool and the runs that its judgments decide about; runs is None for the reason that why gives."""

    facts: PoolFacts
    judges: tuple[PoolAssessor, ...]
    documents: Mapping[Place, PoolDocument]
    queues: tuple[AssessorQueue, ...]
    basis: Basis | None
    """What the present board rests on; None where it has no scores."""
    runs: PooledRuns | None
    why: str = ""


def _key(session: Session, audience: RoomAudience, task: Task, pool: Pool) -> tuple[Any, ...]:
    """What tells rooms apart, and one room from itself when others may see more or less of it."""
    return (
        str(session.get_bind().engine.url),
        pool.id,
        pool.created_at,
        pool.state,
        audience,
        task.name,
        task.naming,
        task.names_at,
    )


# The lock is for the threads of the web server; a pool may be read twice at once, which does no harm.
@keep_by(_key, SECONDS_KEPT)
def room_pool(session: Session, audience: RoomAudience, task: Task, pool: Pool) -> RoomPool:
    """The pool and its runs as they were within the last seconds; some ten statements, else none."""
    facts = judged_pools.pool_facts(session, task, pool)
    documents = _documents(session, pool)
    by_topic: dict[str, list[PoolDocument]] = {topic.topic_id: [] for topic in facts.topics}
    for (topic, _), document in documents.items():
        by_topic[topic].append(document)
    shown = shown_edition(session, task, audience.sight) if audience.sees_order else None
    runs, why = None, audience.sight.why or "Only organisers may see the order of the runs now."
    if shown is not None:
        key = shown.edition.primary_measure if shown.edition else task.primary_measure
        by = column(parse(key))
        rows = rank(read_rows(session, audience.viewer, task, audience.sight, shown.edition, (by,)), by)
        runs, why = _runs(session, task, pool, [row for row in rows if row.kind == RANKED_KIND], parse(key))
    return RoomPool(
        facts=facts,
        judges=judged_pools.judges_of(session, task),
        documents=documents,
        queues=coming.queues_of(session, pool, {topic: tuple(rows) for topic, rows in by_topic.items()}),
        basis=shown.basis if shown is not None else None,
        runs=runs,
        why=why,
    )


def _made(session: Session, pool: Pool) -> tuple[Any, ...]:
    """The documents of a pool are never changed after it was made; see `judged_pools` for the rest."""
    return str(session.get_bind().engine.url), pool.id, pool.created_at


# As above.
@keep_by(_made, 3600)
def _documents(session: Session, pool: Pool) -> Mapping[Place, PoolDocument]:
    return settle.documents_of(session, pool.id)


def _runs(
    session: Session, task: Task, pool: Pool, rows: Sequence[Row], bound: BoundMeasure
) -> tuple[PooledRuns | None, str]:
    """The runs on the pool's documents of the topics that count, else why there is no order of them."""
    if why := refusal(bound.measure):
        return None, why
    if bound.measure.needs - {"graded"}:
        return None, f"{bound.key} needs more than the grades that assessors give here."
    if len(rows) < 2:
        return None, "There are fewer than two ranked runs to put in an order."
    compiled, place = _compiled(session, task, pool)
    topics = len(compiled.judgments)
    if not topics:
        return None, "No topic of this pool counts."
    if len(rows) * topics > MOST_RANKINGS:
        return None, f"That would be more than {MOST_RANKINGS:,} rankings to read while you wait."
    digests = tuple((row.run_id, row.ranking_sha256) for row in rows)
    judged = _stacked(session, pool, task.dialect, digests, compiled)
    found = PooledRuns(
        rows=tuple(rows),
        bound=bound,
        column=column(bound),
        place=place,
        topics=topics,
        reused=_reused(_documents(session, pool), place),
        judged=judged,
        full=_full(judged, bound),
    )
    return found, ""


def _reused(documents: Mapping[Place, PoolDocument], places: Mapping[Place, int]) -> IntArray:
    grades = np.full(len(places), UNJUDGED, dtype=np.int64)
    for place, at in places.items():
        grade = documents[place].grade
        grades[at] = UNJUDGED if grade is None else grade
    return grades


def _compiled(session: Session, task: Task, pool: Pool) -> tuple[CompiledJudgments, Mapping[Place, int]]:
    """The pool's documents of topics that count as judgments, and where each of them stands there."""
    counts = select(Topic.topic_id).where(Topic.task_id == task.id, Topic.excluded == "")
    counted = set(session.scalars(counts))
    by_topic: dict[str, dict[bytes, str]] = {}
    for topic, docno in _documents(session, pool):
        if topic in counted:
            by_topic.setdefault(topic, {})[bytes_of(docno)] = docno
    plain = compile_judgments({topic: dict.fromkeys(found, 0) for topic, found in by_topic.items()})
    gone = left_out.index(left_out.of_pool(session, pool))
    compiled = replace(plain, left_out=gone)
    in_order = (
        (topic, docno) for topic in compiled.judgments.topics for _, docno in sorted(by_topic[topic].items())
    )
    return compiled, {place: at for at, place in enumerate(in_order)}


def _pooled(
    session: Session, pool: Pool, dialect: int, runs: tuple[tuple[int, str], ...], compiled: CompiledJudgments
) -> tuple[Any, ...]:
    """Rankings are told by their digests; the topics that count may change."""
    return *_made(session, pool), dialect, runs, compiled.judgments.topics


# As above; runs are read from their rankings, which takes a tenth of a second or more.
@keep_by(_pooled, 3600)
def _stacked(
    session: Session, pool: Pool, dialect: int, runs: tuple[tuple[int, str], ...], compiled: CompiledJudgments
) -> Judged:
    found = []
    for run_id, _ in runs:
        aligner = Aligner(compiled, dialect=dialect)
        for block in blocks_of(session, run_id):
            aligner.add(block)
        found.append(aligner.judged())
    return stack(found)


def _full(judged: Judged, bound: BoundMeasure) -> Judged | None:
    if not has_bounds(bound):
        return None
    deepest = int(judged.rank.max(initial=0))
    ranks = min(depth(bound) or deepest, deepest)
    return filled(judged, depth(bound)) if len(judged.judgments) * ranks <= MOST_PLACES else None
