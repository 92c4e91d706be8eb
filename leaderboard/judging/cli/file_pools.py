"""Pools of run files, without a site: the same methods on rankings read from disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leaderboard.errors import Invalid
from leaderboard.judging.ops.pools.previews import sentence, strata
from leaderboard.pooling.bound import BoundMethod
from leaderboard.pooling.methods import method, pool
from leaderboard.pooling.simulation import judging_order
from leaderboard.scoring.ops.rankings import (
    NO_TOP,
    Top,
    TopicTops,
    judged_places,
    numbered,
    topic_seed,
    tops_in_order,
)
from leaderboard.trec.pools import Pooled
from leaderboard.trec.qrels.left_out import read_left_out
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.read.forms import USUAL, Asked
from leaderboard.trec.runs.runs import Ranking, read_run


@dataclass(frozen=True, slots=True)
class FilePool:
    """A pool of run files: topic -> documents still to be judged, in judging order.

    places: entries in the tops of all rankings; candidates: distinct documents there; judged: documents of
    the pool that the qrels already judge.
    """

    documents: dict[str, list[Pooled]]
    title: str
    runs: int
    places: int
    candidates: int
    judged: int
    notes: tuple[str, ...] = ()
    """The warnings from reading the files."""

    @property
    def to_judge(self) -> int:
        """Number of documents still to be judged."""
        return sum(map(len, self.documents.values()))


@dataclass(frozen=True, slots=True)
class Options:
    """Options for pooling files: level is the lowest relevant grade, for adaptive methods.

    left_out: lists of documents to remove from every ranking first.
    """

    spec: Mapping[str, Any]
    qrels: Path | None = None
    seed: int = 1
    dialect: int = 10
    level: int = 1
    left_out: Sequence[Path] = ()
    asked: Asked = USUAL
    """The warnings from reading the qrels."""


def pool_files(paths: Sequence[Path], options: Options) -> FilePool:
    """The pool of run files by a method.

    Documents that the qrels judge are left out. An adaptive method needs these judgments: it returns the
    judged documents in the order in which it would have
    selected them. Raises Invalid for an invalid spec and for unreadable files.
    """
    bound = _bound(options)
    notes: list[str] = []
    grades: dict[str, dict[bytes, int]] = {}
    if options.qrels is not None:
        qrels = read_qrels(options.qrels, asked=replace(options.asked, dialect=options.dialect))
        grades = qrels.judgments
        notes += [f"{options.qrels}: {note}" for note in qrels.notes]
    tops = _tops(paths, bound.reach, options, notes)
    documents: dict[str, list[Pooled]] = {}
    judged = 0
    for topic, of_topic in tops.items():
        graded = judged_places(of_topic, grades.get(topic, {}))
        try:
            chosen = _chosen(bound, of_topic, graded, topic, options)
        except ValueError as error:
            raise Invalid(sentence(error)) from None
        rows = chosen if bound.adaptive else [row for row in chosen if row[0] not in graded]
        judged += len(chosen) - len(rows)
        documents[topic] = [
            Pooled(of_topic.docno(place), priority, stratum, chance)
            for place, priority, stratum, chance in rows
        ]
    return FilePool(
        documents={topic: rows for topic, rows in documents.items() if rows},
        title=bound.title,
        runs=len(paths),
        places=sum(len(ranking) for of_topic in tops.values() for ranking in of_topic.rankings),
        candidates=sum(len(of_topic.docnos) for of_topic in tops.values()),
        judged=judged,
        notes=tuple(notes),
    )


def _bound(options: Options) -> BoundMethod:
    try:
        bound = method(options.spec)
        if bound.method.of_answers:
            raise ValueError("this command pools run files of rankings; pool answers on a site")
    except ValueError as error:
        raise Invalid(sentence(error)) from None
    if bound.adaptive and options.qrels is None:
        raise Invalid(
            f"{bound.title} chooses each document from the judgments so far. Create the pool on a site, "
            "where assessors get one document at a time, or give --qrels to see what it would select."
        )
    return bound


def _tops(paths: Sequence[Path], depth: int, options: Options, notes: list[str]) -> dict[str, TopicTops]:
    """Topic -> the tops of all runs, topics in order of arrival; holds one run in memory at a time."""
    left_out = read_left_out(options.left_out).by_topic
    tops: dict[str, dict[int, Top]] = {}
    for number, path in enumerate(paths):
        run = read_run(path, dialect=options.dialect)
        notes += [f"{path}: {note}" for note in run.notes]
        for topic, whole in run.rankings.items():
            ranking = _remaining(whole, left_out.get(topic, frozenset()))
            if len(ranking.docnos):
                tops.setdefault(topic, {})[number] = tops_in_order(ranking, depth, options.dialect)
    return {
        topic: numbered([by_run.get(number, NO_TOP) for number in range(len(paths))])
        for topic, by_run in tops.items()
    }


def _remaining(ranking: Ranking, left_out: frozenset[bytes]) -> Ranking:
    """A ranking without the documents left out of its topic."""
    if not left_out:
        return ranking
    keep = np.array([docno not in left_out for docno in ranking.docnos.tolist()], dtype=np.bool_)
    return Ranking(ranking.topic, ranking.docnos[keep], ranking.scores[keep])


def _chosen(
    bound: BoundMethod, tops: TopicTops, judged: Mapping[int, int], topic: str, options: Options
) -> list[tuple[int, float, str, float]]:
    """Place, priority, stratum and probability of a topic's documents, in judging order."""
    seed = topic_seed(options.seed, topic)
    if bound.adaptive:
        order = judging_order(bound, tops.rankings, judged, seed=seed, level=options.level)
        places = order[: bound.budget].tolist()
        return [(place, float(len(places) - at), "", 1.0) for at, place in enumerate(places)]
    scores = tops.scores if bound.needs_scores else None
    pooled = pool(bound, tops.rankings, seed=seed, scores=scores)
    names = strata(bound)
    columns = (pooled.documents, pooled.priority, pooled.stratum, pooled.probability)
    return [
        (place, priority, names[stratum], chance)
        for place, priority, stratum, chance in zip(*(column.tolist() for column in columns), strict=True)
    ]
