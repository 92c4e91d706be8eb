"""What a run got on every topic, and how that stands to the ranked runs."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.errors import UnknownMeasure
from leaderboard.measures.grammar import parse
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import FloatArray, Source, scores_of

Order = Literal["difference", "topic", "score", "rank"]
ORDERS: tuple[Order, ...] = ("difference", "topic", "score", "rank")


@dataclass(frozen=True, slots=True)
class TopicScores:
    """One topic's scores, in the order of the measures."""

    topic_id: str
    title: str
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TopicPlace:
    """One topic by one measure: the run's score between the best, median and worst of the ranked runs.

    rank: how many ranked runs are better on the topic, plus one; best_run is the one run with the best
    score, None where several share it.
    """

    topic_id: str
    title: str
    score: float
    difference: float
    """From the median, as the measure prints it."""
    best: float
    median: float
    worst: float
    rank: int
    best_run: str | None
    best_run_id: int | None
    best_runs: int


@dataclass(frozen=True, slots=True)
class TopicField:
    """All topics by one measure in the order asked for; how many are better and worse than the median."""

    column: MeasureColumn
    choices: tuple[MeasureColumn, ...]
    """The measures that topics can be looked at by."""
    order: Order
    ranked: int
    topics: tuple[TopicPlace, ...]
    better: int
    worse: int


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """The measure that topics are looked at by, and run id -> scores by it, (topics,)."""

    column: MeasureColumn
    scores: dict[int, FloatArray]


def all_scores(
    titles: dict[str, str],
    source: Source,
    scores: dict[str, FloatArray],
    columns: tuple[MeasureColumn, ...],
) -> tuple[TopicScores, ...]:
    """The scores on every topic that counts, in the order of titles, which is topic id -> title.

    scores: measure key -> (all topics of the revision,), of every column.
    """
    place = dict(zip(source.topics, source.places, strict=True))
    return tuple(
        TopicScores(topic, title, tuple(float(scores[each.key][place[topic]]) for each in columns))
        for topic, title in titles.items()
        if topic in place
    )


def topic_titles(session: Session, task_id: int) -> dict[str, str]:
    """Topic id -> title, in the task's order."""
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task_id).order_by(Topic.position)
    )
    return {row.topic_id: row.title for row in rows}


def field_of(
    session: Session, board: Board, source: Source, run_id: int, measure: str | None
) -> Looked | None:
    """The measure meant and every scored run's scores by it, or None where there is nothing to look at.

    Topics are looked at by the primary measure unless another of the board is named; one statement.
    Raises UnknownMeasure for one that is not on the board or has no better and worse.
    """
    choices = {each.key: each for each in directed(board)}
    key = board.primary if measure is None else parse(measure).key
    if measure is not None and key not in choices:
        raise UnknownMeasure(f"Topics cannot be looked at by {key}; choose {', '.join(choices)}.")
    column = choices.get(key) or next(iter(choices.values()), None)
    if column is None or not source.topics:
        return None
    ids = [row.run_id for row in board.rows]
    scores = scores_of(session, source, column.key, column.version, ids)
    return Looked(column, scores) if run_id in scores else None


def directed(board: Board) -> tuple[MeasureColumn, ...]:
    """The measures of a board that have a better and a worse."""
    return tuple(each for each in board.measures if each.direction != "none")


def against_field(
    board: Board,
    looked_at: Looked,
    run_id: int,
    titles: dict[str, str],
    topics: tuple[str, ...],
    order: Order,
) -> TopicField:
    """The run's score on each of the topics, as those of the scores, against those of the ranked runs.

    The run itself is one of these if it is ranked; a run without a rank is compared with the ranked ones.
    Where no run is ranked it is compared with itself.
    """
    column, scores = looked_at.column, looked_at.scores
    ranked = [row for row in board.rows if row.rank is not None and row.run_id in scores]
    field = np.array([scores[row.run_id] for row in ranked]) if ranked else scores[run_id][None, :]
    sign = -1.0 if column.direction == "lower" else 1.0
    places = _places(field * sign, scores[run_id] * sign, sign, ranked, topics, titles)
    better = sum(sign * place.difference > 0 for place in places)
    worse = sum(sign * place.difference < 0 for place in places)
    return TopicField(
        column=column,
        choices=directed(board),
        order=order,
        ranked=len(ranked),
        topics=_ordered(places, order, sign, list(titles)),
        better=better,
        worse=worse,
    )


def _places(
    field: FloatArray,
    mine: FloatArray,
    sign: float,
    ranked: list[Row],
    topics: tuple[str, ...],
    titles: dict[str, str],
) -> list[TopicPlace]:
    """Of each topic, from scores of which higher is better: field (runs, topics), mine (topics,)."""
    median, best, worst = np.median(field, axis=0), field.max(axis=0), field.min(axis=0)
    ranks = 1 + (field > mine).sum(axis=0)
    first, sharing = field.argmax(axis=0), (field == best).sum(axis=0)
    found = []
    for at, topic in enumerate(topics):
        alone = ranked[int(first[at])] if ranked and sharing[at] == 1 else None
        found.append(
            TopicPlace(
                topic_id=topic,
                title=titles.get(topic, ""),
                # Adding 0 turns the -0.0 of a sign that was turned twice into 0.0.
                score=float(sign * mine[at]) + 0.0,
                difference=float(sign * (mine[at] - median[at])) + 0.0,
                best=float(sign * best[at]) + 0.0,
                median=float(sign * median[at]) + 0.0,
                worst=float(sign * worst[at]) + 0.0,
                rank=int(ranks[at]),
                best_run=alone.run if alone else None,
                best_run_id=alone.run_id if alone else None,
                best_runs=int(sharing[at]) if ranked else 0,
            )
        )
    return found


def _ordered(
    places: list[TopicPlace], order: Order, sign: float, listed: list[str]
) -> tuple[TopicPlace, ...]:
    """By topic as the task lists them; else what is best for the run first, equal ones as listed."""
    place = {topic: at for at, topic in enumerate(listed)}
    by_topic = sorted(places, key=lambda each: place.get(each.topic_id, len(place)))
    if order == "difference":
        by_topic.sort(key=lambda each: -sign * each.difference)
    elif order == "score":
        by_topic.sort(key=lambda each: -sign * each.score)
    elif order == "rank":
        by_topic.sort(key=lambda each: each.rank)
    return tuple(by_topic)
