"""A run's scores on every topic: by all measures, and by one measure compared with the ranked runs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row
from leaderboard.db.tables import Run, Topic
from leaderboard.errors import UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.runs.page.head import RunHead, ScoredRun, board_rows, caption, head_facts
from leaderboard.scoring.ops.evaluations import shown
from leaderboard.scoring.ops.evaluations.shown import FloatArray, Source, scores_of
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.procedures import ranking_overlaps
from leaderboard.scoring.ops.statistics.requests import Request
from leaderboard.tables.record import Column, Files, Place, Shown, Table
from leaderboard.trec.runs.fingerprints import similarity

Order = Literal["difference", "topic", "score", "rank"]
ORDERS: tuple[Order, ...] = ("difference", "topic", "score", "rank")


@dataclass(frozen=True, slots=True)
class TopicScores:
    """One topic's scores, in the order of the measures."""

    topic_id: str
    title: str
    scores: tuple[float | None, ...]


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
    """All topics by one measure in the requested order; the number better and worse than the median."""

    column: MeasureColumn
    choices: tuple[MeasureColumn, ...]
    """The measures available for the topics."""
    order: Order
    ranked: int
    topics: tuple[TopicPlace, ...]
    better: int
    worse: int


@dataclass(frozen=True, slots=True, eq=False)
class MeasureByTopic:
    """The measure shown by topic, its topics, and run id -> scores by it, (topics,)."""

    column: MeasureColumn
    topics: tuple[str, ...]
    scores: dict[int, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPage(RunHead):
    """A run topic by topic; field is None if no measure of the board has a direction."""

    columns: tuple[MeasureColumn, ...]
    topics: tuple[TopicScores, ...]
    values: Mapping[str, float | None]
    """The run's own value by each measure."""
    field: TopicField | None


def topics_page(
    session: Session, scored: ScoredRun, measure: str | None = None, order: Order = "difference"
) -> TopicsPage:
    """A run topic by topic, by the primary measure unless another of the board is named.

    Raises UnknownMeasure for one that is not on the board or has no better and worse.
    """
    titles = titles_of(session, scored.run.task_id)
    rows = board_rows(session, scored)
    looked = looked_at(session, scored, rows, measure)
    own = next(row for row in rows if row.run_id == scored.run.id)
    return TopicsPage(
        **scored.seen.head(by_topic=True),
        columns=scored.columns,
        topics=_all_scores(titles, scored),
        values=own.scores,
        field=None if looked is None else _against_field(scored, rows, looked, titles, order),
    )


def looked_at(
    session: Session, scored: ScoredRun, rows: Sequence[Row], measure: str | None = None
) -> MeasureByTopic | None:
    """The requested measure and every scored run's scores by it, None if absent; one statement.

    Raises UnknownMeasure for a measure that is not on the board or has no direction.
    """
    choices = {column.key: column for column in directed(scored)}
    key = scored.primary if measure is None else parse(measure).key
    if measure is not None and key not in choices:
        raise UnknownMeasure(f"Topics cannot be shown by {key}; choose {', '.join(choices)}.")
    column = choices.get(key) or next(iter(choices.values()), None)
    if column is None:
        return None
    run_ids = [row.run_id for row in rows]
    source = shown.narrowed(scored.source, scored.edition, column.key)
    scores = scores_of(session, source, column.key, column.version, run_ids)
    return MeasureByTopic(column, source.topics, scores) if scored.run.id in scores else None


def facts(page: TopicsPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {**head_facts(page), **topic_facts(page), "by_topic": field_facts(page)}


def topic_facts(page: TopicsPage) -> dict[str, Any]:
    """The scores of every topic by every measure."""
    keys = [column.key for column in page.columns]
    return {"per_topic": {row.topic_id: dict(zip(keys, row.scores, strict=True)) for row in page.topics}}


def field_facts(page: TopicsPage) -> dict[str, Any] | None:
    """Every topic by one measure, compared with the ranked runs."""
    field = page.field
    if field is None:
        return None
    return {
        "measure": field.column.key,
        "order": field.order,
        "ranked": field.ranked,
        "topics": [asdict(topic) for topic in field.topics],
    }


def table(page: TopicsPage) -> Table[TopicScores]:
    """The scores of every topic by every measure, with `all` for the run's own value."""
    own = TopicScores("all", "", tuple(page.values[column.key] for column in page.columns))
    return Table(
        page.name,
        caption(page, "Scores by topic"),
        [
            Column("topic", lambda row: row.topic_id, "Topic"),
            Column("title", lambda row: row.title, "Title", shown=Place.PAGE),
            *(_score_column(column, at) for at, column in enumerate(page.columns)),
        ],
        [*page.topics, own],
    )


def field_table(page: TopicsPage) -> Table[TopicPlace]:
    """Every topic by one measure between the best, median and worst ranked run."""
    field = page.field
    digits = field.column.digits if field else None
    return Table(
        f"{page.name}-field",
        caption(page, "Scores by topic compared with the ranked runs", field.column.key if field else ""),
        [
            Column("topic", lambda row: row.topic_id, "Topic"),
            Column("title", lambda row: row.title, "Title"),
            Column("score", lambda row: row.score, field.column.key if field else "", digits=digits),
            Column("difference", lambda row: row.difference, "From the median", digits=digits),
            _end("best", digits),
            Column("best_run", lambda row: row.best_run, "By"),
            _end("median", digits),
            _end("worst", digits),
            Column("rank", lambda row: row.rank, "Rank", digits=0),
        ],
        field.topics if field else (),
    )


FILES = Files(facts=facts, tables={"field": field_table, "topics": table})


def _score_column(column: MeasureColumn, at: int) -> Column[TopicScores]:
    return Column(column.key, lambda row: row.scores[at], digits=column.digits, group="measure")


def _end(name: str, digits: int | None) -> Column[TopicPlace]:
    return Column(name, lambda row: getattr(row, name), name.title(), digits=digits)


def _all_scores(titles: Mapping[str, str], scored: ScoredRun) -> tuple[TopicScores, ...]:
    """The scores on every topic that counts, in the task's order."""
    place = dict(zip(scored.source.topics, scored.source.places, strict=True))
    stored = [scored.stored[column.key].scores for column in scored.columns]
    return tuple(
        TopicScores(topic, title, tuple(_known(float(scores[place[topic]])) for scores in stored))
        for topic, title in titles.items()
        if topic in place
    )


def _known(score: float) -> float | None:
    """A score, None for nan: not judged there."""
    return None if math.isnan(score) else score


def titles_of(session: Session, task_id: int) -> dict[str, str]:
    """Topic id -> title, in the task's order."""
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task_id).order_by(Topic.position)
    )
    return {row.topic_id: row.title for row in rows}


def directed(scored: ScoredRun) -> tuple[MeasureColumn, ...]:
    """The measures of the board that have a better and a worse."""
    return tuple(column for column in scored.columns if column.direction != "none")


def _against_field(
    scored: ScoredRun, rows: Sequence[Row], looked: MeasureByTopic, titles: Mapping[str, str], order: Order
) -> TopicField:
    """The run's score on each of the topics against those of the ranked runs."""
    sign, ranked = looked.column.sign, ranked_of(rows, looked)
    places = places_of(scored, ranked, looked, titles)
    return TopicField(
        column=looked.column,
        choices=directed(scored),
        order=order,
        ranked=len(ranked),
        topics=_ordered(places, order, sign, list(titles)),
        better=sum(sign * place.difference > 0 for place in places),
        worse=sum(sign * place.difference < 0 for place in places),
    )


def ranked_of(rows: Sequence[Row], looked: MeasureByTopic) -> list[Row]:
    """The ranked runs of a board that have scores by the measure, in its order."""
    return [row for row in rows if row.rank is not None and row.run_id in looked.scores]


def places_of(
    scored: ScoredRun, ranked: list[Row], looked: MeasureByTopic, titles: Mapping[str, str]
) -> list[TopicPlace]:
    """The run on each topic that counts, against the ranked runs, in the order of the source.

    The run itself is one of these if it is ranked; a run without a rank is compared with the ranked ones.
    Where no run is ranked it is compared with itself.
    """
    scores, sign, mine = looked.scores, looked.column.sign, looked.scores[scored.run.id]
    field = np.array([scores[row.run_id] for row in ranked]) if ranked else mine[None, :]
    return _places(field * sign, mine * sign, sign, ranked, looked.topics, titles)


def _places(
    field: FloatArray,
    mine: FloatArray,
    sign: int,
    ranked: list[Row],
    topics: tuple[str, ...],
    titles: Mapping[str, str],
) -> list[TopicPlace]:
    """Of each topic, from scores of which higher is better: field (runs, topics), mine (topics,)."""
    median, best, worst = np.median(field, axis=0), field.max(axis=0), field.min(axis=0)
    ranks = 1 + (field > mine).sum(axis=0)
    first, sharing = field.argmax(axis=0), (field == best).sum(axis=0)
    places = []
    for at, topic in enumerate(topics):
        alone = ranked[int(first[at])] if ranked and sharing[at] == 1 else None
        places.append(
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
    return places


def _ordered(places: list[TopicPlace], order: Order, sign: int, listed: list[str]) -> tuple[TopicPlace, ...]:
    """By topic as the task lists them; else the run's best first, equal ones as listed."""
    place = {topic: at for at, topic in enumerate(listed)}
    by_topic = sorted(places, key=lambda row: place.get(row.topic_id, len(place)))
    if order == "difference":
        by_topic.sort(key=lambda row: -sign * row.difference)
    elif order == "score":
        by_topic.sort(key=lambda row: -sign * row.score)
    elif order == "rank":
        by_topic.sort(key=lambda row: row.rank)
    return tuple(by_topic)


SAME_SCORE = 1e-5
"""Topic scores that differ by no more count as equal: four decimals do not show the difference."""
OVERLAP = 0.95
"""Minimum mean rank-biased overlap of near-duplicate runs."""
SCREENED = 0.7
"""Estimated share of the top ten documents in common below which an overlap that large is unattainable."""
NEAR_DUPLICATES_MOST = 8
"""Maximum pairs whose overlap is computed on request: the most similar ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicate:
    """Another run, and what makes it nearly the same."""

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    run: str
    team: str
    same_team: Annotated[bool, Shown(shown=Place.DATA)]
    same_ranking: bool
    """All rankings contain the same documents in the same order."""
    same_scores: bool
    """The scores by the measure agree on every topic."""
    overlap: Annotated[float | None, Shown(digits=3)]
    """Mean rank-biased overlap of the rankings; None where it was not computed."""
    shared: float
    """Estimated share of all top ten documents in common."""


def near_duplicates(
    session: Session,
    scored: ScoredRun,
    measure: str | None = None,
    rows: Sequence[Row] = (),
    looked: MeasureByTopic | None = None,
) -> tuple[NearDuplicate, ...]:
    """The near duplicates of a run, most similar first; organisers also see those of other teams.

    measure: the measure whose scores are compared, by default the primary one. A pair of runs of two
    teams may be chance, a shared baseline or copying: that is for the organisers to find out, so others
    do not see it. rows, looked: the board, and the scores by that measure, where they were read before.
    """
    source, rows = scored.source, rows or board_rows(session, scored)
    run = next(row for row in rows if row.run_id == scored.run.id)
    all_teams = scored.seen.access.organises
    chosen = [row for row in rows if row.run_id != run.run_id and (all_teams or row.team_id == run.team_id)]
    if not chosen:
        return ()
    looked = looked or looked_at(session, scored, rows, measure)
    scores = looked.scores if looked else {}
    alike = _alike(session, scored.run, chosen)
    closest = sorted(
        (row for row in chosen if alike[row.run_id] >= SCREENED), key=lambda row: -alike[row.run_id]
    )
    overlaps = {row.run_id: _overlap(session, source, run, row) for row in closest[:NEAR_DUPLICATES_MOST]}
    pairs = [
        NearDuplicate(
            run_id=row.run_id,
            run=row.run,
            team=row.team,
            same_team=row.team_id == run.team_id,
            same_ranking=row.ranking_sha256 == run.ranking_sha256,
            same_scores=_same_scores(scores, run.run_id, row.run_id),
            overlap=overlaps.get(row.run_id),
            shared=alike[row.run_id],
        )
        for row in chosen
    ]
    near = [pair for pair in pairs if _is_near(pair)]
    return tuple(
        sorted(near, key=lambda pair: (not pair.same_ranking, -(pair.overlap or pair.shared), pair.run))
    )


def _is_near(pair: NearDuplicate) -> bool:
    """By overlap where it was computed, else by the estimate."""
    overlap = pair.shared if pair.overlap is None else pair.overlap
    return pair.same_ranking or pair.same_scores or overlap >= OVERLAP


def _alike(session: Session, run: Run, others: Sequence[Row]) -> dict[int, float]:
    """Run id -> estimated share of top documents in common with the run; one statement."""
    ids = [row.run_id for row in others]
    sketches = {
        row.id: row.sketch for row in session.execute(select(Run.id, Run.sketch).where(Run.id.in_(ids)))
    }
    return {row.run_id: similarity(run.sketch, sketches[row.run_id]) for row in others}


def _same_scores(scores: dict[int, FloatArray], run_id: int, other: int) -> bool:
    """Whether both have scores, equal on all topics; two runs that found nothing are not alike for that."""
    if run_id not in scores or other not in scores:
        return False
    mine, its = scores[run_id], scores[other]
    return bool(mine.any() and np.all(np.abs(mine - its) <= SAME_SCORE))


def _overlap(session: Session, source: Source, run: Row, other: Row) -> float | None:
    """The mean overlap of two runs' rankings; None where it takes too long and is not computed yet."""
    pair = sorted((run, other), key=lambda row: row.run_id)
    request = Request(
        procedure=ranking_overlaps.PROCEDURE,
        method="",
        source=source,
        measure="",
        measure_version=0,
        run_ids=tuple(row.run_id for row in pair),
        rankings=tuple(row.ranking_sha256 for row in pair),
    )
    kept = requests.kept.get(request.digest)
    if kept is None:
        if request.seconds * NEAR_DUPLICATES_MOST > requests.AT_ONCE_S:
            return None
        overlaps = ranking_overlaps.compute(session, request.run_ids, source, lambda _: None)
        kept = requests.kept.put(request.digest, overlaps)
    return float(kept["rbo"][0])
