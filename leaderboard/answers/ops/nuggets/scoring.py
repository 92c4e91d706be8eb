"""Scores of a run's stored answers under a revision of judgments of answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.answers.ops import answers as answers_services
from leaderboard.checksums import belonging_to
from leaderboard.core.kinds import Again, MeasureScores, Plan, RunScores
from leaderboard.db.engine import Database
from leaderboard.db.tables import QrelsRevision, Task
from leaderboard.measures.answers.registry import parse
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.memory import keep
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.packing import PackedAnswers, unpacked


def newest(session: Session, task_id: int, line: str = MAIN) -> PackedAnswers | None:
    """The newest judgments of a series, by default the board's; None without any, raises Damaged."""
    revision = files.newest(session, task_id, line)
    return None if revision is None else _of(revision)


def of_revision(session: Session, revision_id: int) -> PackedAnswers:
    """The judgments of a revision of answers; raises Damaged."""
    query = select(QrelsRevision).where(QrelsRevision.id == revision_id)
    return _of(session.scalars(query.options(undefer(QrelsRevision.packed))).one())


def packed_of(session: Session, revision_id: int) -> bytes:
    """The stored judgments of a revision of answers; one statement."""
    return session.scalars(select(QrelsRevision.packed).where(QrelsRevision.id == revision_id)).one()


def _of(revision: QrelsRevision) -> PackedAnswers:
    with belonging_to(f"revision {revision.number} (number {revision.id} of all)"):
        return opened(revision.packed)


# An evaluator scores all runs of an edition with the same judgments in sequence.
@keep
def opened(stored: bytes) -> PackedAnswers:
    """The judgments in a revision's bytes, read once for all runs."""
    return unpacked(stored)


def compute(database: Database, run_id: int, plan: Plan) -> RunScores:
    """All missing scores of a run, by the measures of a plan; raises Damaged."""
    judged, answers = _both(database, run_id, plan)
    keys = [measure["key"] for measure in plan.missing]
    return RunScores(scores(judged, plan.ranking_sha256, answers, keys), None)


def again(database: Database, run_id: int, plan: Plan, _: bytes | None) -> tuple[tuple[()], Again]:
    """Function that recomputes a run's scores by a measure from stored answers; raises Damaged."""
    judged, answers = _both(database, run_id, plan)

    def of(bound: BoundMeasure) -> tuple[FloatArray, FloatArray | None]:
        measure_scores = scores(judged, plan.ranking_sha256, answers, [bound.key])[bound.key]
        return measure_scores.scores, measure_scores.parts

    return (), of


def scores(
    judged: PackedAnswers, run: str, answers: Mapping[str, Answer], keys: Iterable[str]
) -> dict[str, MeasureScores]:
    """Key -> scores on all judged topics; nan if the run is unjudged or the measure does not apply.

    run: digest of its answers. A measure not supported by the judgments covers no topic.
    """
    by_measure = {}
    for key in keys:
        bound = parse(key)
        topics = judged.topics_of(bound)
        over = [topic for topic in judged.topics if topic in topics]
        by_measure[bound.key] = (
            _of_measure(judged, run, answers, bound, over)
            if over
            else MeasureScores(np.full(len(judged.topics), np.nan), None)
        )
    return by_measure


def left_out(judged: PackedAnswers, key: str) -> list[str]:
    """The judged topics that a measure does not cover."""
    over = judged.topics_of(parse(key))
    return [topic for topic in judged.topics if topic not in over]


def of_edition(session: Session, task: Task, revision: QrelsRevision) -> list[dict[str, Any]]:
    """The measures of a task as stored in an edition; raises Damaged."""
    return measures(of_revision(session, revision.id), task.measures, task.primary_measure)


def measures(judged: PackedAnswers, keys: Sequence[str], primary: str) -> list[dict[str, Any]]:
    """The measures of an edition, each with the topics that it does not cover.

    Omits measures without judgments; the primary one stays, and the board says what is missing.
    """
    return [
        {"key": key, "version": parse(key).measure.version, "left_out": left_out(judged, key)}
        for key in keys
        if key == primary or judged.topics_of(parse(key))
    ]


def _both(database: Database, run_id: int, plan: Plan) -> tuple[PackedAnswers, dict[str, Answer]]:
    with belonging_to(plan.inputs.name):
        judged = opened(plan.inputs.judgments)
    with database.read() as session:
        return judged, {answer.topic: answer for answer in answers_services.of_run(session, run_id)}


def _of_measure(
    judged: PackedAnswers, run: str, answers: Mapping[str, Answer], bound: BoundMeasure, over: Sequence[str]
) -> MeasureScores:
    topics = judged.topics
    places = [topics.index(topic) for topic in over]
    seen = [judged.judgments.seen(run, topic, answers.get(topic)) for topic in over]
    values = np.full(len(topics), np.nan)
    values[places] = bound.measure.compute(seen, **bound.params)
    if bound.measure.parts is None:
        return MeasureScores(values, None)
    made_of = bound.measure.parts(seen, **bound.params)
    parts: FloatArray = np.zeros((len(made_of), len(topics)))
    # Unjudged parts add nothing to a sum, but their part of the divisor is known.
    parts[:, places] = np.nan_to_num(made_of)
    return MeasureScores(values, parts)
