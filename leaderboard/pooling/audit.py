"""Unique contributions to a pool, and judgments without them.

Documents are counted from 0: of one topic's docnos, or of all judged documents of a revision, topic
by topic, as in the judgments that measures are computed from.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.pooling.candidates import FloatArray, IntArray

NOBODY, SEVERAL = -1, -2
"""In place of a group: no group has the document, or more than one does."""
NEVER = np.iinfo(np.int64).max
"""Best rank of a document that no run has."""


class Unique(NamedTuple):
    """Number of documents unique to each run (runs,) and each team (teams,), and number of relevant ones."""

    run: IntArray
    run_relevant: IntArray
    team: IntArray
    team_relevant: IntArray


class Kept(NamedTuple):
    """Judgments without some documents.

    documents: (kept,) the old indices of those kept. place: (documents,) the new index of each old
    one, -1 if removed. starts: (topics + 1,) start of each topic's documents, and the end of the last.
    """

    documents: IntArray
    place: IntArray
    starts: IntArray


def holders(documents: Sequence[IntArray], groups: IntArray, count: int) -> IntArray:
    """The only group with each document, (count,), NOBODY or SEVERAL if there is no single one.

    documents: of every run, down to the pool depth. groups: (runs,) a number from 0 for each run: its
    team's, or its own position to find the only run with a document.

    >>> holders([np.array([0, 1]), np.array([1]), np.array([1, 2])], np.array([0, 0, 1]), 4)
    array([ 0, -2,  1, -1])
    """
    lowest, highest = np.full(count, NEVER), np.full(count, NOBODY)
    for pooled, group in zip(documents, groups.tolist(), strict=True):
        lowest[pooled] = np.minimum(lowest[pooled], group)
        highest[pooled] = np.maximum(highest[pooled], group)
    return np.where((highest >= 0) & (lowest != highest), SEVERAL, highest)


def unique(
    documents: Sequence[IntArray], teams: IntArray, counted: NDArray[np.bool_], relevant: NDArray[np.bool_]
) -> Unique:
    """Number of counted documents, and of relevant ones, unique to each run and team.

    documents: of every run, down to the pool depth; teams: (runs,) from 0; counted: (documents,) those
    in the pool; relevant: (documents,) those known to be relevant.
    """
    runs = len(documents)
    run = holders(documents, np.arange(runs), len(counted))
    team = holders(documents, teams, len(counted))
    size = int(teams.max(initial=-1)) + 1
    return Unique(
        _count(run, counted, runs),
        _count(run, counted & relevant, runs),
        _count(team, counted, size),
        _count(team, counted & relevant, size),
    )


def best_ranks(documents: Sequence[IntArray], ranks: Sequence[IntArray], count: int) -> IntArray:
    """Best rank of each document in any run, (count,), NEVER if no run has it.

    A depth-k pool contains those with at most k, so this shows how judgments grow with pool depth.
    """
    best = np.full(count, NEVER)
    for pooled, rank in zip(documents, ranks, strict=True):
        best[pooled] = np.minimum(best[pooled], rank)
    return best


def without(starts: IntArray, removed: NDArray[np.bool_]) -> Kept:
    """Judgments without the documents removed, (documents,); starts: start of each topic, and the end.

    A ranking keeps its ranks: a removed document counts as never judged.

    >>> without(np.array([0, 2, 3]), np.array([True, False, False]))
    Kept(documents=array([1, 2]), place=array([-1,  0,  1]), starts=array([0, 1, 2]))
    """
    before = np.concatenate(([0], np.cumsum(~removed)))
    return Kept(np.flatnonzero(~removed), np.where(removed, -1, before[:-1]), before[starts])


def rank_drops(full: FloatArray, left_out: FloatArray, teams: IntArray) -> IntArray:
    """Number of ranks each run falls if its team had contributed nothing to the pool, (runs,).

    full: (runs,) scores under all judgments, higher is better; left_out: (runs,) each run's score under
    the judgments without its team's unique documents. Only the team's own runs are scored again; a run
    is behind those with a higher score. Negative if a run would have risen.

    >>> rank_drops(np.array([0.6, 0.5, 0.4]), np.array([0.45, 0.5, 0.3]), np.array([0, 1, 2]))
    array([1, 0, 0])
    """
    drops = np.zeros(len(full), dtype=np.int64)
    places = _places(full)
    for team in np.unique(teams).tolist():
        own = teams == team
        drops[own] = (_places(np.where(own, left_out, full)) - places)[own]
    return drops


def relative_change(full: FloatArray, left_out: FloatArray) -> float | None:
    """Mean relative change of the scores of runs with a score above 0; None if absent.

    >>> relative_change(np.array([0.5, 0.4, 0.0]), np.array([0.25, 0.4, 0.0]))
    0.25
    """
    scored = full > 0
    if not scored.any():
        return None
    return float(np.mean(np.abs(full[scored] - left_out[scored]) / full[scored]))


def _places(scores: FloatArray) -> IntArray:
    return len(scores) - np.searchsorted(np.sort(scores), scores, side="right")


def _count(holder: IntArray, mask: NDArray[np.bool_], groups: int) -> IntArray:
    alone = holder[mask & (holder >= 0)]
    return np.bincount(alone, minlength=groups)
