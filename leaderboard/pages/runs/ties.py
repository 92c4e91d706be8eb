"""Equal scores in a run's rankings, and what their order does to the run's value by each measure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import RankingBlock
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import IntArray, Judged
from leaderboard.measures.ties.effects import UNORDERED, Tied, TieGroups, counts, effect, tie_groups, tied
from leaderboard.measures.ties.expectations import EXPECTED
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.digests import run_digest
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests
from leaderboard.stats.arrays import Arrays
from leaderboard.trec.runs.packing import unpack_block

GROUPS, EFFECT = 1, 1
"""Versions of what is kept: a new one makes the old unused."""
BY_TOPIC = ("mean", "sum", "geometric")
"""Aggregates that are smallest where each topic's score is, and largest where that is; others say nothing."""


@dataclass(frozen=True, slots=True)
class UnderTies:
    """A run's value by a measure over all orders of its equal scores; expected is None where it is not known.

    exact: whether all orders count; else only those drawn, and error is the standard error of expected.
    """

    column: MeasureColumn
    lowest: float
    expected: float | None
    highest: float
    error: float
    exact: bool


@dataclass(frozen=True, slots=True)
class RunTies:
    """How much of a run is tied, and what that does to it by every measure it moves."""

    topics: int
    of_topics: int
    documents: int
    largest: int
    measures: tuple[UnderTies, ...]
    left: tuple[str, ...]
    """Measures without a formula, whose orders have to be drawn, where that was not asked for."""


def run_ties(
    session: Session,
    source: Source,
    run_id: int,
    file_sha256: str,
    judged: Judged,
    columns: Sequence[MeasureColumn],
    *,
    drawn: bool,
) -> RunTies:
    """The ties of a run on the topics of the source; its stored rankings are read the first time only.

    judged: the run as the source's judgments see it; file_sha256: of its file, as ties depend on scores;
    drawn: whether orders are drawn for measures without a formula, which takes a third of a second each.
    """
    found = tied(judged, _groups(session, source, run_id, file_sha256, judged))
    number = counts(found, np.array(source.places, dtype=np.int64))
    measured: list[UnderTies] = []
    left: list[str] = []
    for column in columns if number.documents else ():
        if column.aggregate not in BY_TOPIC:
            continue
        if drawn or is_exact(column.key):
            measured.append(_under_ties(source, file_sha256, found, column))
        else:
            left.append(column.key)
    return RunTies(
        *(number.topics, len(source.topics), number.documents, number.largest), tuple(measured), tuple(left)
    )


def is_exact(key: str) -> bool:
    """Whether what ties do to a measure has a formula.

    >>> is_exact("AP"), is_exact("Bpref")
    (True, False)
    """
    name = parse(key).measure.name
    return name in EXPECTED or name in UNORDERED


def _groups(session: Session, source: Source, run_id: int, file_sha256: str, judged: Judged) -> TieGroups:
    digest = run_digest("tie groups", GROUPS, source, file_sha256)
    kept = requests.kept.get(digest)
    if kept is None:
        topic, score = _scores(session, source, run_id, judged.judgments.topics)
        made = tie_groups(topic, score)
        kept = requests.kept.put(digest, {"topic": made.topic, "first": made.first, "size": made.size})
    topic, first, size = (kept[name].astype(np.int64, copy=False) for name in ("topic", "first", "size"))
    return TieGroups(topic, first, size)


def _scores(
    session: Session, source: Source, run_id: int, topics: Sequence[str]
) -> "tuple[IntArray, np.ndarray[tuple[int], np.dtype[np.floating]]]":
    """The judged topics' rankings as the topic and score of every document, best first in each topic."""
    place = {topic.encode("utf-8", "surrogateescape"): at for at, topic in enumerate(topics)}
    precision = np.float32 if source.dialect == 9 else np.float64
    found = [(np.empty(0, np.int64), np.empty(0, np.float64))]
    for body in session.scalars(select(RankingBlock.body).where(RankingBlock.run_id == run_id)):
        block = unpack_block(body)
        at = np.repeat(np.array([place.get(topic, -1) for topic in block.topics], np.int64), block.sizes())
        found.append((at[at >= 0], block.columns.score[at >= 0]))
    topic, score = (np.concatenate([each[part] for each in found]) for part in (0, 1))
    score = score.astype(precision)
    order = np.lexsort((-score, topic))
    return topic[order], score[order]


def _under_ties(source: Source, file_sha256: str, found: Tied, column: MeasureColumn) -> UnderTies:
    """What ties do to one measure."""
    digest = run_digest("tie effect", EFFECT, source, file_sha256, column.key, column.version)
    kept = requests.kept.get(digest)
    if kept is None:
        kept = requests.kept.put(digest, _aggregated(source, found, column))
    lowest, expected, highest, error, exact = kept["values"].tolist()
    # The mean of a geometric mean is not the geometric mean of means.
    known = column.aggregate != "geometric" or lowest == highest
    return UnderTies(column, lowest, expected if known else None, highest, error, bool(exact))


def _aggregated(source: Source, found: Tied, column: MeasureColumn) -> Arrays:
    measure, places = parse(column.key), np.array(source.places)
    effects = effect(found, column.key)
    values = [measure.aggregate(each[places]) for each in (effects.lowest, effects.expected, effects.highest)]
    total = float(np.sqrt((effects.error[places] ** 2).sum()))
    error = total if column.aggregate == "sum" else total / len(places)
    return {"values": np.array([*values, error, float(effects.exact)])}
