"""Scoring one run for one edition: read, compute outside any transaction, store once."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import delete, select, tuple_
from sqlalchemy.orm import Session, undefer

from leaderboard import __version__
from leaderboard.core import kinds
from leaderboard.core.jobs import queue
from leaderboard.core.kinds import MeasureScores, Plan, RunScores
from leaderboard.db.engine import Database, now, of_row
from leaderboard.db.tables import (
    Alignment,
    Edition,
    Evaluation,
    EvaluationMean,
    Qrels,
    QrelsRevision,
    Run,
    TopicSet,
)
from leaderboard.errors import MissingInput, NotFound
from leaderboard.measures.judged import Judged
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.evaluations.shown import IDENTITY, _whole_scores, aggregate, whole_editions
from leaderboard.scoring.ops.qrels import files
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.packed import pack_hits
from leaderboard.trec.qrels.revision_inputs import compiled_inputs

log = logging.getLogger(__name__)


def drop_damaged(database: Database) -> None:
    """Delete rows with a wrong checksum, and score the runs of the affected tasks again.

    A damaged row does not identify its run reliably, so all runs of the task are checked.
    """
    with database.read() as session:
        checked = select(*IDENTITY, Evaluation.checksum, Evaluation.id)
        scores = [row.id for row in _in_parts(session, checked) if row[5] != of_row(tuple(row[:5]))]
        columns = (EvaluationMean.evaluation_id, EvaluationMean.topic_set_id)
        values = select(*columns, EvaluationMean.mean, EvaluationMean.topics, EvaluationMean.checksum)
        means = [tuple(row[:2]) for row in _in_parts(session, values) if row[4] != of_row(tuple(row[:4]))]
    if not scores and not means:
        return
    log.error("%d damaged evaluations and %d damaged means are computed again", len(scores), len(means))
    with database.write() as session:
        tasks = _tasks(session, scores, means)
        session.execute(delete(Evaluation).where(Evaluation.id.in_(scores)))
        session.execute(delete(EvaluationMean).where(tuple_(*columns).in_(means)))
        for row in whole_editions(session, select(Edition).where(Edition.state.in_(("current", "building")))):
            edition = row.Edition
            if edition.task_id in tasks:
                runs = select(Run.id).where(Run.task_id == edition.task_id, Run.withdrawn_at.is_(None))
                for run_id in session.scalars(runs.order_by(Run.id)).all():
                    queue.enqueue(
                        session, queue.EVALUATE, run_id, priority=queue.AGAIN, edition_id=edition.id
                    )


def _in_parts(session: Session, query: Any) -> Any:
    return session.execute(query.execution_options(yield_per=1000))


def _tasks(session: Session, scores: Sequence[int], means: Sequence[tuple[int, int]]) -> set[int]:
    """The tasks that damaged rows may belong to."""
    of_scores = Evaluation.id.in_({*scores, *(evaluation_id for evaluation_id, _ in means)})
    of_runs = select(Run.task_id).join(Evaluation, Evaluation.run_id == Run.id).where(of_scores)
    of_revisions = (
        select(Qrels.task_id)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .join(Evaluation, Evaluation.revision_id == QrelsRevision.id)
        .where(of_scores)
    )
    of_sets = select(TopicSet.task_id).where(TopicSet.id.in_({set_id for _, set_id in means}))
    return {task for query in (of_runs, of_revisions, of_sets) for task in session.scalars(query)}


def plan(session: Session, run_id: int, edition_id: int) -> Plan:
    """The computations still missing for a run in an edition; raises NotFound if either was removed."""
    edition = session.get(Edition, edition_id)
    run = session.get(Run, run_id)
    if edition is None or run is None:
        raise NotFound(f"Run {run_id} or edition {edition_id} is gone.")
    scored = stored(session, run_id, edition)
    missing = tuple(measure for measure in edition.measures if measure["key"] not in scored)
    whole = _plan(session, edition, missing, lacks_hits=not _has_hits(session, run_id, edition))
    lacks = whole.lacks_hits and kinds.judged_by(whole.inputs.kind).has_hits(session, run_id)
    return replace(whole, lacks_hits=lacks, ranking_sha256=run.ranking_sha256)


def ahead(session: Session, task_id: int) -> list["EarlyEvaluation"]:
    """The editions that a new run must be scored for: the shown one and one in progress."""
    editions = select(Edition).where(Edition.task_id == task_id, Edition.state.in_(("current", "building")))
    plans = [
        (edition.id, _plan(session, edition, tuple(edition.measures), lacks_hits=True))
        for edition in session.scalars(editions)
    ]
    return [EarlyEvaluation(number, plan) for number, plan in plans if plan.inputs.are_of_documents]


def _has_hits(session: Session, run_id: int, edition: Edition) -> bool:
    key = run_id, edition.revision_id, edition.dialect
    hits = select(Alignment.run_id).where(
        tuple_(Alignment.run_id, Alignment.revision_id, Alignment.dialect) == key
    )
    return session.scalar(hits) is not None


def _plan(
    session: Session, edition: Edition, missing: tuple[dict[str, Any], ...], *, lacks_hits: bool
) -> Plan:
    inputs = files.inputs(session, edition.revision_id)
    return Plan(edition.dialect, missing, lacks_hits, inputs, revision_id=edition.revision_id)


class EarlyEvaluation:
    """Scores a submitted file for an edition while it is first read, before it becomes a run."""

    def __init__(self, edition_id: int, plan: Plan) -> None:
        self.edition_id = edition_id
        self._plan = plan
        self._compiled = compiled_inputs(plan.inputs)
        self._aligner = self.start()

    def start(self) -> Aligner:
        """A consumer of the run's blocks; it restarts if the file has to be read again."""
        self._aligner = Aligner(self._compiled, dialect=self._plan.dialect)
        return self._aligner

    def scored(self) -> RunScores:
        """The scores and hits, as returned by `compute`."""
        return of_judged(self._plan, self._aligner.judged())


def compute(database: Database, run_id: int, plan: Plan) -> RunScores:
    """Compute everything missing; scores are in the revision's topic order.

    Raises Damaged if the stored run differs from the accepted one.
    """
    if not plan.missing and not plan.lacks_hits:
        return RunScores({}, None)
    return kinds.judged_by(plan.inputs.kind).compute(database, run_id, plan)


def of_judged(plan: Plan, judged: Judged) -> RunScores:
    """Compute the missing scores of a plan from the judged hits of a run."""
    by_measure = {}
    for measure in plan.missing:
        bound = parse(measure["key"])
        # A later revision may provide the needs of a measure: until then runs have no score by it.
        with suppress(MissingInput):
            by_measure[bound.key] = MeasureScores(bound.compute(judged), bound.parts(judged))
    return RunScores(by_measure, pack_hits(judged) if plan.lacks_hits else None)


def store(session: Session, run_id: int, edition_id: int, scored: RunScores) -> None:
    """Store missing hits and scores, and the aggregate of each score over every topic set."""
    edition = session.get_one(Edition, edition_id)
    if scored.hits is not None and not _has_hits(session, run_id, edition):
        key = {"run_id": run_id, "revision_id": edition.revision_id, "dialect": edition.dialect}
        session.add(Alignment(**key, body=scored.hits))
    evaluations = stored(session, run_id, edition)
    for measure in edition.measures:
        key = measure["key"]
        if key not in evaluations and key in scored.by_measure:
            evaluations[key] = _add(session, run_id, edition, measure, scored.by_measure[key])
    session.flush()
    _add_means(session, edition, list(evaluations.values()))


def _add(
    session: Session, run_id: int, edition: Edition, measure: dict[str, Any], computed: MeasureScores
) -> Evaluation:
    evaluation = Evaluation(
        run_id=run_id,
        revision_id=edition.revision_id,
        measure=measure["key"],
        measure_version=measure["version"],
        dialect=edition.dialect,
        evaluator=__version__,
        scores=computed.scores,
        parts=computed.parts,
        created_at=now(session),
    )
    session.add(evaluation)
    return evaluation


def _add_means(session: Session, edition: Edition, evaluations: list[Evaluation]) -> None:
    topics = session.get_one(QrelsRevision, edition.revision_id).topics
    place = {topic: index for index, topic in enumerate(topics)}
    ids = [evaluation.id for evaluation in evaluations]
    rows = session.scalars(select(EvaluationMean).where(EvaluationMean.evaluation_id.in_(ids))).all()
    for row in rows:
        if not row.is_whole:
            session.delete(row)
    session.flush()
    stored = {(row.evaluation_id, row.topic_set_id) for row in rows if row.is_whole}
    for topic_set in edition.topic_sets.values():
        chosen = np.array([place[topic] for topic in topic_set["topics"]], dtype=np.int64)
        for evaluation in evaluations:
            if (evaluation.id, topic_set["id"]) in stored:
                continue
            if (aggregated := aggregate(evaluation, chosen)) is not None:
                key = {"evaluation_id": evaluation.id, "topic_set_id": topic_set["id"]}
                session.add(EvaluationMean(**key, mean=aggregated[0], topics=aggregated[1]))


def stored(session: Session, run_id: int, edition: Edition) -> dict[str, Evaluation]:
    """Measure -> the run's evaluation under the edition's revision, dialect and measure versions."""
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    conditions = (
        Evaluation.revision_id == edition.revision_id,
        Evaluation.run_id == run_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure.in_(versions),
    )
    query = (
        select(Evaluation).where(*conditions).options(undefer(Evaluation.scores), undefer(Evaluation.parts))
    )
    rows = _whole_scores(session, lambda: session.scalars(query).all(), *conditions)
    return {row.measure: row for row in rows if row.measure_version == versions[row.measure]}
