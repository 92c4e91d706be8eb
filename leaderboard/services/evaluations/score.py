"""Scoring one run for one edition: read, compute outside any transaction, store once."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session, undefer

from leaderboard import __version__
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Alignment, Edition, Evaluation, EvaluationMean, QrelsRevision, Run
from leaderboard.errors import MissingInput, NotFound
from leaderboard.measures.judged import Judged
from leaderboard.measures.naming import parse
from leaderboard.services.evaluations.damaged import aggregate, stored_scores
from leaderboard.services.evaluations.plans import MeasureScores, Plan, RunScores
from leaderboard.services.qrels import judged_inputs
from leaderboard.services.rankings.blocks import whole_blocks
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.packed_hits import pack_hits
from leaderboard.trec.qrels.revision_inputs import compiled_inputs


def plan(session: Session, run_id: int, edition_id: int) -> Plan:
    """What is still to be computed for the run in the edition; raises NotFound where either is gone."""
    edition = session.get(Edition, edition_id)
    run = session.get(Run, run_id)
    if edition is None or run is None:
        raise NotFound(f"Run {run_id} or edition {edition_id} is gone.")
    scored = stored(session, run_id, edition)
    missing = tuple(measure for measure in edition.measures if measure["key"] not in scored)
    whole = _plan(session, edition, missing, lacks_hits=not _has_hits(session, run_id, edition))
    if not whole.inputs.are_of_documents:
        lacks = whole.lacks_hits and whole.inputs.is_board and _makes_a_board(session, run_id)
        whole = replace(whole, lacks_hits=lacks)
    return replace(whole, ranking_sha256=run.ranking_sha256)


def ahead(session: Session, task_id: int) -> list["EarlyEvaluation"]:
    """What a run that comes now has to be scored for: the task's shown edition and one being built."""
    editions = select(Edition).where(Edition.task_id == task_id, Edition.state.in_(("current", "building")))
    plans = [
        (edition.id, _plan(session, edition, tuple(edition.measures), lacks_hits=True))
        for edition in session.scalars(editions)
    ]
    return [EarlyEvaluation(number, plan) for number, plan in plans if plan.inputs.are_of_documents]


def _makes_a_board(session: Session, run_id: int) -> bool:
    """Whether a run of a task of judges is labels, whose board is stored where hits are."""
    from leaderboard.services.judges import store as boards

    return boards.has_labels(session, run_id)


def _has_hits(session: Session, run_id: int, edition: Edition) -> bool:
    key = run_id, edition.revision_id, edition.dialect
    hits = select(Alignment.run_id).where(
        tuple_(Alignment.run_id, Alignment.revision_id, Alignment.dialect) == key
    )
    return session.scalar(hits) is not None


def _plan(
    session: Session, edition: Edition, missing: tuple[dict[str, Any], ...], *, lacks_hits: bool
) -> Plan:
    inputs = judged_inputs.inputs(session, edition.revision_id)
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

    The rankings are read block by block from the database, so memory stays flat. Raises Damaged where they
    are not those that were accepted.
    """
    if not plan.missing and not plan.lacks_hits:
        return RunScores({}, None)
    if plan.inputs.is_board:
        from leaderboard.services.judges import scoring as of_judges

        return of_judges.compute(database, run_id, plan)
    if not plan.inputs.are_of_documents:
        from leaderboard.services.nuggets import scoring as of_answers

        return of_answers.compute(database, run_id, plan)
    aligner = Aligner(compiled_inputs(plan.inputs), dialect=plan.dialect)
    for block in whole_blocks(database, run_id, plan.ranking_sha256):
        aligner.add(block)
    return of_judged(plan, aligner.judged())


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
