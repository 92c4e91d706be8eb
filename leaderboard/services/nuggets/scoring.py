"""Scores of a run's stored answers under a revision of judgments of answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from leaderboard.checksums import belonging_to
from leaderboard.db.engine import Database
from leaderboard.measures.answers.registry import parse
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.services.answers import store
from leaderboard.services.evaluations.plans import MeasureScores, Plan, RunScores
from leaderboard.services.nuggets.stored import opened
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.packing import PackedAnswers


def compute(database: Database, run_id: int, plan: Plan) -> RunScores:
    """All scores that the run lacks, by the measures of a plan; raises Damaged."""
    with database.read() as session:
        answers = {answer.topic: answer for answer in store.of_run(session, run_id)}
    return of_answers(plan, answers)


def of_answers(plan: Plan, answers: Mapping[str, Answer]) -> RunScores:
    """The same of the answers by topic, wherever they were read; raises Damaged."""
    with belonging_to(plan.inputs.name):
        judged = opened(plan.inputs.judgments)
    keys = [measure["key"] for measure in plan.missing]
    return RunScores(scores(judged, plan.ranking_sha256, answers, keys), None)


def again(
    database: Database, run_id: int, plan: Plan
) -> Callable[[BoundMeasure], tuple[FloatArray, FloatArray | None]]:
    """What computes a run's scores by a measure anew, from its stored answers; raises Damaged."""
    with belonging_to(plan.inputs.name):
        judged = opened(plan.inputs.judgments)
    with database.read() as session:
        answers = {answer.topic: answer for answer in store.of_run(session, run_id)}

    def of(bound: BoundMeasure) -> tuple[FloatArray, FloatArray | None]:
        found = scores(judged, plan.ranking_sha256, answers, [bound.key])[bound.key]
        return found.scores, found.parts

    return of


def scores(
    judged: PackedAnswers, run: str, answers: Mapping[str, Answer], keys: Iterable[str]
) -> dict[str, MeasureScores]:
    """Key -> scores on all topics of the judgments, nan where the run is not judged, or the measure not over.

    run: the digest of its answers. A measure that the judgments do not allow is over no topic.
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
    """The topics of the judgments that a measure is not over."""
    over = judged.topics_of(parse(key))
    return [topic for topic in judged.topics if topic not in over]


def measures(judged: PackedAnswers, keys: Sequence[str], primary: str) -> list[dict[str, Any]]:
    """The measures of an edition, each with the topics that it is not over.

    Without those that the judgments say nothing of; the primary one stays, and the board says what it lacks.
    """
    return [
        {"key": key, "version": parse(key).measure.version, "left_out": left_out(judged, key)}
        for key in keys
        if key == primary or judged.topics_of(parse(key))
    ]


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
    # What is not judged adds nothing to a sum, but its part of the divisor is known.
    parts[:, places] = np.nan_to_num(made_of)
    return MeasureScores(values, parts)
