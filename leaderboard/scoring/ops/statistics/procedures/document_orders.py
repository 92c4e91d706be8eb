"""Similarity of document order between a run and its original, from stored rankings.

SciPy is not needed here: evaluators import this module.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.scoring.ops.rankings import blocks_of
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.reproductions.documents import DocumentOrder, document_order

PROCEDURE = "document_orders"
COUNTS = 2
"""Number of leading integer fields of DocumentOrder."""

Rankings = dict[bytes, list[bytes]]


def compute(
    session: Session, run_ids: Sequence[int], dialect: int, progress: Callable[[float], None]
) -> Arrays:
    """The fields of DocumentOrder as (9,), nan if undefined, under the name `order`.

    run_ids: the original, then the run that reproduces it. All topics that either run has are compared,
    judged or not.
    """
    original, reproduction = (_rankings(session, run_id, dialect) for run_id in run_ids)
    progress(0.1)
    topics = sorted({*original, *reproduction})
    sides = ([rankings.get(topic, []) for topic in topics] for rankings in (original, reproduction))
    return {"order": np.array(astuple(document_order(*sides)), dtype=np.float64)}


def seconds(topics: int) -> float:
    """Estimated time on one core: the time of a topic hardly depends on its number of documents."""
    return topics * 3e-3


def of_arrays(arrays: Arrays) -> DocumentOrder:
    """Unpack the result of `compute`."""
    values = [None if np.isnan(value) else value for value in arrays["order"].astype(np.float64).tolist()]
    topics, with_ktu = (int(value or 0) for value in values[:COUNTS])
    return DocumentOrder(topics, with_ktu, *values[COUNTS:])


def _rankings(session: Session, run_id: int, dialect: int) -> Rankings:
    """Topic -> docnos in scoring order."""
    rankings: Rankings = {}
    for block in blocks_of(session, run_id):
        starts, best = block.columns.group_start.tolist(), block.best(dialect).tolist()
        for topic, start, end in zip(block.topics, starts[:-1], starts[1:], strict=True):
            rankings[topic] = [block.docno(entry) for entry in best[start:end]]
    return rankings
