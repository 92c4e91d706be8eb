"""Scoring one run for one edition: read, compute outside any transaction, store once."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import typing as npt
from sqlalchemy import ColumnElement, Executable, delete, select, tuple_
from sqlalchemy.orm import Session, undefer

from leaderboard import __version__
from leaderboard.checksums import damaged, of_row
from leaderboard.db.engine import Database, now
from leaderboard.db.evaluations import DAMAGED_TOO
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
from leaderboard.errors import Damaged, MissingInput, NotFound
from leaderboard.measures.judged import Judged
from leaderboard.measures.naming import parse
from leaderboard.services import kinds
from leaderboard.services.jobs import queue
from leaderboard.services.kinds import MeasureScores, Plan, RunScores
from leaderboard.services.qrels import files
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.packed_hits import pack_hits
from leaderboard.trec.qrels.revision_inputs import compiled_inputs

log = logging.getLogger(__name__)

Places = npt.NDArray[np.int64]
IDENTITY = (
    Evaluation.run_id,
    Evaluation.revision_id,
    Evaluation.measure,
    Evaluation.measure_version,
    Evaluation.dialect,
)
MEANS: tuple[Any, ...] = (
    *IDENTITY,
    Evaluation.checksum.label("evaluation_checksum"),
    EvaluationMean.evaluation_id,
    EvaluationMean.topic_set_id,
    EvaluationMean.mean,
    EvaluationMean.topics,
    EvaluationMean.checksum.label("mean_checksum"),
)
"""Columns that a statement about means ends with; `whole_means` reads them."""
_WHO, _WHAT = slice(-11, -6), slice(-5, -1)
SCORED: tuple[Any, ...] = (*IDENTITY, Evaluation.checksum, Evaluation.scores, Evaluation.parts)


def whole_editions(session: Session, query: Executable) -> list[Any]:
    """The rows of a statement about editions, which are their `Edition`; without damaged ones."""
    rows = session.execute(query, execution_options=DAMAGED_TOO).all()
    for row in rows:
        if not row.Edition.is_whole:
            log.error("edition %d is damaged: its checksum does not match", row.Edition.id)
    return [row for row in rows if row.Edition.is_whole]


def whole_means(session: Session, rows: Iterable[Any]) -> Iterator[tuple[Any, float, int]]:
    """Each row of a statement that ends with MEANS, its mean and over how many topics it is.

    A damaged mean is computed again from its scores; a row is left out where that cannot be done, and where
    it has no mean.
    """
    for row in rows:
        if row[-5] is None:
            continue
        if row[-6] != of_row(tuple(row[_WHO])):
            log.error("evaluation %d is damaged: its checksum does not match", row[-5])
        elif row[-1] == of_row(tuple(row[_WHAT])):
            yield row, row[-3], row[-2]
        else:
            log.error("a mean of evaluation %d is damaged; it is computed from the scores", row[-5])
            again = _again(session, row[-5], row[-4])
            if again is not None:
                yield row, *again


def _again(session: Session, evaluation_id: int, set_id: int) -> tuple[float, int] | None:
    of_it = [undefer(Evaluation.scores), undefer(Evaluation.parts)]
    try:
        evaluation = session.get_one(Evaluation, evaluation_id, options=of_it)
    except Damaged:
        return None
    if parse(evaluation.measure).measure.version != evaluation.measure_version:
        return None
    places = next(places_of(session, evaluation.revision_id, set_id), None)
    return None if places is None else aggregate(evaluation, places)


def aggregate(evaluation: Evaluation, chosen: Places) -> tuple[float, int] | None:
    """What the scores make over topics at these places, and over how many; None where none is judged."""
    scores, parts = evaluation.scores, evaluation.parts
    # nan is not judged there, and is no part of a mean.
    judged = chosen[~np.isnan(scores[chosen])]
    if not len(judged):
        return None
    if parts is not None:
        parts = parts.reshape(-1, len(scores))[:, judged]
    return float(parse(evaluation.measure).aggregate(scores[judged], parts)), len(judged)


def places_of(session: Session, revision_id: int, set_id: int) -> Iterator[Places]:
    """Where a set's topics are in a revision's scores, as each edition under it had the set."""
    topics = session.get_one(QrelsRevision, revision_id).topics
    place = {topic: index for index, topic in enumerate(topics)}
    editions = select(Edition).where(Edition.revision_id == revision_id)
    for row in whole_editions(session, editions.order_by(Edition.number.desc())):
        for chosen in row.Edition.topic_sets.values():
            if chosen["id"] == set_id:
                yield np.array([place[topic] for topic in chosen["topics"]], dtype=np.int64)


def stored_scores(session: Session, *chosen: ColumnElement[bool]) -> list[Any]:
    """The rows of SCORED of the evaluations so chosen; raises Damaged, naming the run."""
    try:
        rows = list(session.execute(select(*SCORED).where(*chosen)).all())
    except Damaged as error:
        raise next(damaged_scores(session, *chosen), error) from error
    for row in rows:
        require_whole(row)
    return rows


def require_whole(row: Sequence[Any]) -> None:
    """Raise Damaged where what a row of SCORED says of its scores is not what was stored."""
    if row[5] != of_row(tuple(row[:5])):
        raise damaged(f"scores of run {row[0]} by {row[2]}", "the checksum of whose they are does not match")


def drop_damaged(database: Database) -> None:
    """Delete what has a wrong checksum, and have the runs of the tasks it belongs to scored again.

    Whose a row was cannot be told from a damaged one, so all runs of a task are looked at.
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


def damaged_scores(session: Session, *chosen: ColumnElement[bool]) -> Iterator[Damaged]:
    """An error for each of the evaluations whose scores are damaged; one statement for each evaluation."""
    rows = session.execute(select(*IDENTITY, Evaluation.checksum, Evaluation.id).where(*chosen)).all()
    for row in rows:
        what = f"scores of run {row.run_id} by {row.measure}"
        try:
            require_whole(row)
            session.execute(select(Evaluation.scores, Evaluation.parts).where(Evaluation.id == row.id)).one()
        except Damaged as error:
            yield damaged(what, str(error.facts["why"]))


def plan(session: Session, run_id: int, edition_id: int) -> Plan:
    """What is still to be computed for the run in the edition; raises NotFound where either is gone."""
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
    """What a run that comes now has to be scored for: the task's shown edition and one being built."""
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
    """Scores a run for an edition while its file is read for the first time, before it is a run."""

    def __init__(self, edition_id: int, plan: Plan) -> None:
        self.edition_id = edition_id
        self._plan = plan
        self._compiled = compiled_inputs(plan.inputs)
        self._aligner = self.start()

    def start(self) -> Aligner:
        """A consumer of the run's blocks; the file may have to be read again, then it starts anew."""
        self._aligner = Aligner(self._compiled, dialect=self._plan.dialect)
        return self._aligner

    def scored(self) -> RunScores:
        """The scores and hits, as `compute` gives them."""
        return of_judged(self._plan, self._aligner.judged())


def compute(database: Database, run_id: int, plan: Plan) -> RunScores:
    """All that is missing; scores are in the revision's topic order.

    Raises Damaged where what the run says is not what was accepted.
    """
    if not plan.missing and not plan.lacks_hits:
        return RunScores({}, None)
    return kinds.judged_by(plan.inputs.kind).compute(database, run_id, plan)


def of_judged(plan: Plan, judged: Judged) -> RunScores:
    """What the plan lacks, of the judged hits of a run."""
    by_measure = {}
    for measure in plan.missing:
        bound = parse(measure["key"])
        # What a measure needs may come with a later revision: until then a run has no score by it.
        with suppress(MissingInput):
            by_measure[bound.key] = MeasureScores(bound.compute(judged), bound.parts(judged))
    return RunScores(by_measure, pack_hits(judged) if plan.lacks_hits else None)


def store(session: Session, run_id: int, edition_id: int, scored: RunScores) -> None:
    """Add the hits and scores that are not there yet, and each score's aggregate over every topic set."""
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
    known = {(row.evaluation_id, row.topic_set_id) for row in rows if row.is_whole}
    for topic_set in edition.topic_sets.values():
        chosen = np.array([place[topic] for topic in topic_set["topics"]], dtype=np.int64)
        for evaluation in evaluations:
            if (evaluation.id, topic_set["id"]) in known:
                continue
            if (made := aggregate(evaluation, chosen)) is not None:
                key = {"evaluation_id": evaluation.id, "topic_set_id": topic_set["id"]}
                session.add(EvaluationMean(**key, mean=made[0], topics=made[1]))


def stored(session: Session, run_id: int, edition: Edition) -> dict[str, Evaluation]:
    """Measure -> the run's evaluation under the edition's revision, dialect and measure versions."""
    versions = {measure["key"]: measure["version"] for measure in edition.measures}
    wanted = (
        Evaluation.revision_id == edition.revision_id,
        Evaluation.run_id == run_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure.in_(versions),
    )
    query = select(Evaluation).where(*wanted).options(undefer(Evaluation.scores), undefer(Evaluation.parts))
    stored_scores(session, *wanted)
    rows = session.scalars(query).all()
    return {row.measure: row for row in rows if row.measure_version == versions[row.measure]}
