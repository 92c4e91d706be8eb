"""Run rankings under each assessor of a pool, to show whether the assessor matters.

After Voorhees, Variations in Relevance Judgments and the Measurement of Retrieval Effectiveness,
Information Processing & Management 36, 2000.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import phase_rules
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Pool, PoolTopic, Run, Task, Topic
from leaderboard.errors import Invalid, MissingInput
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import JudgedPool
from leaderboard.judging.ops.judging import WHOSE, GivenLabel, Judge
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import FloatArray, IntArray, Judged, Judgments
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.qrels import left_out
from leaderboard.scoring.ops.rankings import blocks_of
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, column
from leaderboard.scoring.ops.statistics import requests
from leaderboard.stats.assessors import settle
from leaderboard.stats.orders.rank_correlation import tau_ap_b, tau_b
from leaderboard.tables.record import Column, Place, Shown, Table, columns_from
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments, compile_judgments
from leaderboard.trec.read.lines import bytes_of

MOST_RANKINGS = 20_000
"""Maximum runs times topics of the pool to score while a reader waits: a few seconds."""
VERSION = 1
By = dict[str, dict[bytes, int]]
"""Topic -> docno -> grade."""


@dataclass(frozen=True, slots=True)
class BoardOfAssessor:
    """The ranking of runs with one assessor's labels where available."""

    judge: Judge
    documents: Annotated[int, Shown("Shared documents")]
    """Documents that others also judged."""
    changed: Annotated[int, Shown("Different grade")]
    """Those with a grade that differs from the settled one."""
    tau: Annotated[float | None, Shown("Kendall’s tau", digits=3)]
    tau_ap: Annotated[float | None, Shown("tau_AP", digits=3)]
    leader: Annotated[str, Shown("Top run")]
    mover: str
    """The run whose rank differs most; empty if none does."""
    mover_ranks: tuple[int, int]
    """Its rank by the settled grades, and by this assessor."""

    @property
    def move(self) -> Annotated[str, Shown("Largest move", shown=Place.PAGE)]:
        """The run whose rank differs most, with both of its ranks, as text."""
        before, after = self.mover_ranks
        return f"{self.mover}, rank {before} → {after}" if self.mover else "none"


@dataclass(frozen=True, slots=True)
class BoardsByAssessor:
    """The rankings under each assessor who shares documents with others."""

    measure: str
    runs: int
    topics: int
    leader: str
    """The top run by the majority of all labels."""
    rows: tuple[BoardOfAssessor, ...]
    why: str = ""
    """The reason why there are no rows; empty if there are."""


def boards_by_assessor(
    session: Session, viewer: Viewer, slug: str, number: int, whose: str = "human"
) -> BoardsByAssessor:
    """Rankings of the runs by the primary measure under the pool's labels, by assessor.

    Starts from the majority of labels and the judgments that the pool reuses; each
    assessor's own labels then take precedence. Raises NotFound, Forbidden, SignInNeeded as `judged_pool`.
    """
    if whose not in WHOSE:
        raise Invalid(f"The labels must be one of {', '.join(WHOSE)}, not {whose[:20]!r}.")
    task, pool = log.judged_pool(session, viewer, slug, number)
    labels = [label for label in pool.labels_of(whose) if label.grade is not None]
    measure = parse(task.primary_measure)
    runs = _runs(session, task)
    settled = _settled(session, task, pool, labels)
    empty = BoardsByAssessor(
        measure=task.primary_measure, runs=len(runs), topics=len(settled), leader="", rows=()
    )
    own = _own(labels)
    if why := _why_not(runs, settled, own):
        return replace(empty, why=why)
    gone = left_out.index(left_out.of_pool(session, session.get_one(Pool, pool.facts.id)))
    compiled = replace(compile_judgments(settled), left_out=gone)
    variants = [_with(compiled, settled, {}), *(_with(compiled, settled, own[judge]) for judge in own)]
    try:
        means = _means(session, task, measure, runs, compiled, variants)
    except MissingInput as error:
        return replace(empty, why=error.message)
    names = tuple(runs.values())
    rows = tuple(
        _row(judge, own[judge], settled, names, means[0], mean)
        for judge, mean in zip(own, means[1:], strict=True)
    )
    return replace(empty, leader=names[int(np.argmax(means[0]))], rows=rows)


def facts(boards: BoardsByAssessor) -> dict[str, Any]:
    """The boards under each assessor as plain values."""
    return {
        "measure": boards.measure,
        "runs": boards.runs,
        "topics": boards.topics,
        "leader": boards.leader or None,
        "why_not": boards.why or None,
        "assessors": table(boards).facts(),
    }


def table(boards: BoardsByAssessor) -> Table[BoardOfAssessor]:
    """The boards under each assessor."""
    columns = columns_from(
        BoardOfAssessor,
        "judge.name documents changed tau tau_ap leader move",
        Column("largest_move", lambda row: row.mover or None, "Largest move", shown=~Place.PAGE),
        Column("rank", lambda row: _rank(row, 0), "Rank", shown=~Place.PAGE),
        Column("rank_by_assessor", lambda row: _rank(row, 1), "Rank by assessor", shown=~Place.PAGE),
    )
    caption = (
        f"{boards.runs:,} ranked runs by mean {boards.measure} over {boards.topics:,} topics of this pool: "
        f"the ranking by the majority of all labels ({boards.leader} leads) compared with the ranking by "
        "this assessor’s labels where available. 1 means the same ranking."
    )
    return Table("boards", caption, columns, boards.rows)


def _rank(row: BoardOfAssessor, place: int) -> int | None:
    return row.mover_ranks[place] if row.mover else None


def _runs(session: Session, task: Task) -> dict[int, str]:
    """Id -> name of the ranked runs, by name."""
    phase = phase_rules.newest(session, phase_rules.rules_of(session, task))
    rows = session.execute(
        select(Run.id, Run.name)
        .where(Run.phase_id == phase.id, Run.withdrawn_at.is_(None), Run.kind == RANKED_KIND)
        .order_by(Run.name)
    )
    left_out = scored_topics.not_chosen(session, task)
    return {run_id: name for run_id, name in rows if run_id not in left_out}


def _settled(session: Session, task: Task, pool: JudgedPool, labels: Iterable[GivenLabel]) -> By:
    """The majority labels and reused judgments of scored topics."""
    settled: By = {}
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.body)
        .join(Topic, (Topic.task_id == task.id) & (Topic.topic_id == PoolTopic.topic_id))
        .where(PoolTopic.pool_id == pool.facts.id, Topic.excluded == "")
    ).all()
    for topic_id, body in rows:
        settled[topic_id] = {
            bytes_of(document.docno): document.grade
            for document in pool_documents.unpack(body)
            if document.grade is not None
        }
    counted = (label for label in labels if label.topic_id in settled)
    for (topic_id, docno), grade in settle(counted, "majority").grades.items():
        settled[topic_id][bytes_of(docno)] = grade
    return {topic_id: grades for topic_id, grades in settled.items() if grades}


def _own(labels: Iterable[GivenLabel]) -> dict[Judge, list[GivenLabel]]:
    """Assessor -> labels of documents that others also judged; without assessors that have none."""
    own: dict[Judge, list[GivenLabel]] = {}
    for given in judging.by_place(labels).values():
        for label in given if len(given) > 1 else ():
            own.setdefault(label.judge, []).append(label)
    return dict(sorted(own.items(), key=lambda item: item[0].name))


def _why_not(runs: Mapping[int, str], settled: By, own: Mapping[Judge, object]) -> str:
    if len(runs) < 2:
        return "Fewer than two ranked runs, so there is nothing to compare."
    if not own:
        return "No document has been judged by two assessors yet."
    if len(runs) * len(settled) > MOST_RANKINGS:
        return f"This page can score at most {MOST_RANKINGS:,} rankings, and this pool needs more."
    return ""


def _with(compiled: CompiledJudgments, settled: By, labels: Iterable[GivenLabel]) -> Judgments:
    """The compiled judgments with some labels in place of the settled ones."""
    mine = {(label.topic_id, bytes_of(label.docno)): label.grade for label in labels}
    grades = np.array(
        [
            mine.get((topic, docno), grade)
            for topic in compiled.judgments.topics
            for docno, grade in sorted(settled[topic].items())
        ],
        dtype=np.int64,
    )
    return replace(compiled.judgments, grades=grades)


def _means(
    session: Session,
    task: Task,
    measure: BoundMeasure,
    runs: Mapping[int, str],
    compiled: CompiledJudgments,
    variants: Sequence[Judgments],
) -> FloatArray:
    """Every run's mean under each of several grades of the same documents, (variants, runs)."""
    digests = session.execute(select(Run.id, Run.ranking_sha256).where(Run.id.in_(runs)).order_by(Run.name))
    # Covers everything the means depend on, so that values cached under its digest are never stale.
    facts = (
        "boards_by_assessor",
        VERSION,
        measure.key,
        measure.measure.version,
        task.dialect,
        [digest for _, digest in digests],
        compiled.judgments.topics,
        hashlib.sha256(compiled.documents.letters).hexdigest(),
        [judgments.grades.tolist() for judgments in variants],
    )
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    kept = requests.kept.get(digest)
    if kept is None:
        means = [_scores(session, task, measure, run_id, compiled, variants) for run_id in runs]
        kept = requests.kept.put(digest, {"means": np.array(means, dtype=np.float64).T})
    return np.asarray(kept["means"], dtype=np.float64)


def _scores(
    session: Session,
    task: Task,
    measure: BoundMeasure,
    run_id: int,
    compiled: CompiledJudgments,
    variants: Sequence[Judgments],
) -> list[float]:
    """One run's mean under each variant; aligns its rankings once, because the documents are the same."""
    aligner = Aligner(compiled, dialect=task.dialect)
    for block in blocks_of(session, run_id):
        aligner.add(block)
    seen = aligner.judged()
    sign = column(measure).sign
    means = []
    for judgments in variants:
        judged = Judged(judgments, seen.topic, seen.rank, seen.document, seen.retrieved, seen.dialect)
        means.append(sign * measure.aggregate(measure.compute(judged), measure.parts(judged)))
    return means


def _row(
    judge: Judge,
    labels: Sequence[GivenLabel],
    settled: By,
    names: Sequence[str],
    base: FloatArray,
    mean: FloatArray,
) -> BoardOfAssessor:
    before, after = _ranks(base), _ranks(mean)
    farthest = int(np.argmax(np.abs(before - after)))
    moved = before[farthest] != after[farthest]
    compared = [label for label in labels if label.topic_id in settled]
    return BoardOfAssessor(
        judge=judge,
        documents=len(compared),
        changed=sum(settled[label.topic_id][bytes_of(label.docno)] != label.grade for label in compared),
        tau=tau_b(mean, base),
        tau_ap=tau_ap_b(mean, base),
        leader=names[int(np.argmax(mean))],
        mover=names[farthest] if moved else "",
        mover_ranks=(int(before[farthest]), int(after[farthest])),
    )


def _ranks(means: FloatArray) -> IntArray:
    """Ranks from 1 for the best; equal means share a rank."""
    better: IntArray = (means[None, :] > means[:, None]).sum(axis=1)
    return better + 1
