"""The order of the runs by the labels so far: how it moved, and what the labels to come may still change."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.bounds.open_documents import open_ends, regraded
from leaderboard.measures.bounds.pairs import most_ahead
from leaderboard.measures.judged import UNJUDGED, FloatArray, IntArray
from leaderboard.pages.room.scene import PooledRuns, RoomPool
from leaderboard.services.assessors import judged_pools, settle
from leaderboard.services.assessors.coming import Place
from leaderboard.services.assessors.judged_pools import GivenLabel, JudgedPool
from leaderboard.services.runs.names import RunName
from leaderboard.services.statistics.procedures.coverage import depth

RULE = settle.Choice(open="majority")
"""An adjudicator's grade, else what all agree on, else the majority's: no document is left out."""

TIE = 1e-9
"""Means nearer to each other than this are equal but for rounding: bounds add up in another order."""


@dataclass(frozen=True, slots=True)
class RankBounds:
    """Between which ranks a run may come to stand, and between which ends its mean."""

    first: int
    last: int
    low: float
    high: float

    @property
    def is_open(self) -> bool:
        """Whether the rank may change at all."""
        return self.first != self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedRun(RunName):
    """A run in the order by the labels so far.

    move is by how many ranks it stands higher than some judgments ago, None where there is nothing to
    compare; board_rank is its rank on the present board. soon says what the next judgments may make of it,
    later all that are left of the pool; None where its measure has no bounds. holds counts the documents of
    the next judgments that it has within the measure's depth.
    """

    rank: int
    mean: float
    move: int | None
    board_rank: int | None
    soon: RankBounds | None
    later: RankBounds | None
    holds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """The runs by the labels so far, best first; topics have at least one grade."""

    rows: tuple[OrderedRun, ...]
    measure: str
    digits: int
    topics: int
    since: int
    """How many judgments ago the order was that moves are told from; 0 where there is none."""
    swapped: int
    """Pairs of runs that stand the other way round than on the present board."""
    pairs: int
    """Pairs of runs that have a rank there."""

    @property
    def moved(self) -> int:
        """How many runs have another rank than then."""
        return sum(bool(row.move) for row in self.rows)

    @property
    def changeable(self) -> int:
        """How many runs may have another rank after the next judgments."""
        return sum(row.soon is not None and row.soon.is_open for row in self.rows)

    @property
    def changeable_later(self) -> int:
        """How many runs may have another rank once all that is left of the pool is judged."""
        return sum(row.later is not None and row.later.is_open for row in self.rows)

    @property
    def may_lead(self) -> tuple[OrderedRun, ...]:
        """The runs that may stand first after the next judgments."""
        return tuple(row for row in self.rows if row.soon is not None and row.soon.first == 1)


def run_order(
    scene: RoomPool,
    runs: PooledRuns,
    pool: JudgedPool,
    since: int,
    soon: Collection[Place],
    later: Collection[Place],
) -> RunOrder:
    """The order by the labels of a pool, against that of `since` judgments ago and the present board.

    soon: the documents that the next judgments are of; later: those of all that are still to come.
    """
    now = _grades(scene, runs, pool)
    means, begun = _means(runs, now)
    ranks, earlier = ranked(means), None
    if since:
        earlier = ranked(_means(runs, _grades(scene, runs, _earlier(pool, since)))[0])
    soon_bounds, later_bounds = _bounds(scene, runs, now, set(soon), later)
    holds = _holds(runs, soon)
    rows = [
        OrderedRun(
            run_id=row.run_id,
            name=row.run,
            team=row.team,
            kind=row.kind,
            rank=int(ranks[at]),
            mean=float(runs.column.sign * means[at]),
            move=None if earlier is None else int(earlier[at] - ranks[at]),
            board_rank=row.rank,
            soon=soon_bounds[at],
            later=later_bounds[at],
            holds=int(holds[at]),
        )
        for at, row in enumerate(runs.rows)
    ]
    swapped, pairs = _swapped(rows)
    return RunOrder(
        rows=tuple(sorted(rows, key=lambda row: (row.rank, row.name))),
        measure=runs.bound.key,
        digits=runs.column.digits,
        topics=begun,
        since=since,
        swapped=swapped,
        pairs=pairs,
    )


def by_time(labels: Sequence[GivenLabel]) -> list[GivenLabel]:
    """The labels with a grade in the order in which they were given."""
    return sorted((label for label in labels if label.grade is not None), key=lambda label: label.saved_at)


def ranked(means: FloatArray) -> IntArray:
    """1 for the best; equal means share a rank.

    >>> ranked(np.array([0.2, 0.5, 0.2]))
    array([2, 1, 2])
    """
    better: IntArray = (means[None, :] > means[:, None]).sum(axis=1)
    return better + 1


def rank_ranges(ahead: FloatArray) -> list[tuple[int, int]]:
    """The first and last rank that runs may have, by how much each can be above each other, (runs, runs).

    Not all of these ranks need be reached, as pairs are looked at one by one; none outside of them can be.

    >>> rank_ranges(np.array([[0.0, 0.2, 0.5], [0.1, 0.0, 0.3], [-0.1, -0.2, 0.0]]))
    [(1, 2), (1, 2), (3, 3)]
    """
    others = ~np.eye(len(ahead), dtype=np.bool_)
    first = ((ahead < -TIE) & others).sum(axis=1) + 1
    last = ((ahead.T > TIE) & others).sum(axis=1) + 1
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _earlier(pool: JudgedPool, since: int) -> JudgedPool:
    """The pool as it was so many judgments of people ago, by the labels that are in force now."""
    labels = by_time(pool.labels_of("human"))
    kept = labels[: len(labels) - since]
    then = labels[len(kept)].saved_at
    decisions = tuple(label for label in pool.decisions if label.saved_at < then)
    return replace(pool, labels=tuple(kept), decisions=decisions)


def _grades(scene: RoomPool, runs: PooledRuns, pool: JudgedPool) -> IntArray:
    """The grade of each document, (documents,), -1 where there is none."""
    grades = runs.reused.copy()
    several: set[Place] = set()
    by_place = judged_pools.by_document([*pool.labels_of("human"), *pool.decisions])
    for place, labels in by_place.items():
        if len(labels) > 1:
            several.add(place)
        elif place in runs.place and labels[0].grade is not None:
            grades[runs.place[place]] = labels[0].grade
    # What one alone judged is settled by any rule; the others are few.
    few = replace(
        pool,
        labels=tuple(label for label in pool.labels if (label.topic_id, label.docno) in several),
        decisions=tuple(label for label in pool.decisions if (label.topic_id, label.docno) in several),
    )
    for place, grade in settle.settled_grades(few, {}, RULE).items():
        if place in runs.place:
            grades[runs.place[place]] = grade
    return grades


def _by_run(runs: PooledRuns, values: FloatArray, counted: NDArray[np.bool_]) -> FloatArray:
    """Each run's mean, or sum, of scores (runs · topics,) over the topics that count, more being better."""
    table = values.reshape(len(runs.rows), runs.topics)[:, counted]
    whole = np.cumsum(table, axis=1)[:, -1] if table.shape[1] else np.zeros(len(table))
    return runs.column.sign * (whole / max(1, table.shape[1]) if runs.column.aggregate == "mean" else whole)


def _topics_with(runs: PooledRuns, documents: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which topics have some of these documents, (topics,)."""
    topic = runs.judged.judgments.topic[: len(documents)]
    return np.bincount(topic[documents], minlength=runs.topics) > 0


def _means(runs: PooledRuns, grades: IntArray) -> tuple[FloatArray, int]:
    """Every run's mean over the topics with a grade, (runs,), more being better; how many these are."""
    scores = runs.bound.compute(regraded(runs.judged, np.tile(grades, len(runs.rows))))
    begun = _topics_with(runs, grades != UNJUDGED)
    return _by_run(runs, scores, begun), int(begun.sum())


def _bounds(
    scene: RoomPool, runs: PooledRuns, grades: IntArray, soon: Collection[Place], later: Collection[Place]
) -> tuple[Sequence[RankBounds | None], Sequence[RankBounds | None]]:
    """What the next judgments may make of each run, and all that are left, the ungraded documents too."""
    if runs.full is None:
        return [None] * len(runs.rows), [None] * len(runs.rows)
    left = (place for place, document in scene.documents.items() if document.grade is None)
    unjudged = (place for place in left if place in runs.place and grades[runs.place[place]] == UNJUDGED)
    in_the_end = {*later, *unjudged}
    # Pairs take as long as all else together, and say little while much is open.
    of_soon = _ranges(scene, runs, grades, soon, by_pairs=True)
    if in_the_end == soon:
        return of_soon, of_soon
    return of_soon, _ranges(scene, runs, grades, in_the_end, by_pairs=False)


def _ranges(
    scene: RoomPool, runs: PooledRuns, grades: IntArray, places: Collection[Place], *, by_pairs: bool
) -> list[RankBounds]:
    """What judgments of some documents may make of each run; a grade that they have may change too."""
    assert runs.full is not None, "the measure has bounds"
    opened = grades.copy()
    opened[[runs.place[place] for place in places if place in runs.place]] = UNJUDGED
    counted = _topics_with(runs, (grades != UNJUDGED) | _marked(runs, places))
    # Documents that nobody is to judge now are as good as not relevant.
    opened[(grades == UNJUDGED) & ~_marked(runs, places)] = 0
    judged = regraded(runs.judged, np.tile(opened, len(runs.rows)))
    highest = max(1, *(grade.value for grade in scene.facts.scale))
    ahead = most_ahead(runs.bound, judged, len(runs.rows), highest) if by_pairs else None
    ends = [_by_run(runs, end, counted) for end in open_ends(runs.bound, judged, runs.full, highest)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    if ahead is None:
        ahead = high[:, None] - low
    else:
        ahead = ahead[:, :, counted].sum(axis=2) / (counted.sum() if runs.column.aggregate == "mean" else 1)
    ranks = rank_ranges(ahead)
    plain = np.sort(runs.column.sign * np.stack([low, high]), axis=0).T.tolist()
    return [RankBounds(*of_rank, *of_mean) for of_rank, of_mean in zip(ranks, plain, strict=True)]


def _marked(runs: PooledRuns, places: Collection[Place]) -> NDArray[np.bool_]:
    """Which documents these are, (documents,)."""
    marked = np.zeros(len(runs.judged.judgments.grades) // len(runs.rows), dtype=np.bool_)
    marked[[runs.place[place] for place in places if place in runs.place]] = True
    return marked


def _holds(runs: PooledRuns, places: Collection[Place]) -> IntArray:
    """How many of these documents each run has within the measure's depth, (runs,)."""
    marked = np.tile(_marked(runs, places), len(runs.rows))
    looked_at = runs.judged.rank <= (depth(runs.bound) or np.inf)
    mine = runs.judged.topic[marked[runs.judged.document] & looked_at] // runs.topics
    return np.bincount(mine, minlength=len(runs.rows))


def _swapped(rows: Sequence[OrderedRun]) -> tuple[int, int]:
    """Pairs of runs that stand the other way round than on the board, and how many pairs have ranks there."""
    known = [(row.rank, row.board_rank) for row in rows if row.board_rank is not None]
    here, there = np.array(known, dtype=np.int64).reshape(-1, 2).T
    turned = np.sign(here[:, None] - here) * np.sign(there[:, None] - there)
    return int(np.count_nonzero(turned < 0)) // 2, len(known) * (len(known) - 1) // 2
