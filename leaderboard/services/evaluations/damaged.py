"""Damaged scores: an error that names the run; damaged means: computed again from the scores."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Executable, delete, select, tuple_
from sqlalchemy.orm import Session, undefer

from leaderboard.checksums import damaged, of_row
from leaderboard.db.engine import Database
from leaderboard.db.evaluations import DAMAGED_TOO
from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, Qrels, QrelsRevision, Run, TopicSet
from leaderboard.errors import Damaged
from leaderboard.measures.naming import parse
from leaderboard.services.jobs import queue

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
