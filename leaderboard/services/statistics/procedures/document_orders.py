"""How alike a run and what it reproduces order documents, from what is stored.

SciPy is not needed here: evaluators import this module.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.services.rankings import blocks_of
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.reproductions.documents import DocumentOrder, document_order

PROCEDURE = "document_orders"
COUNTS = 2
"""Fields of DocumentOrder that come first and are whole numbers."""

Rankings = dict[bytes, list[bytes]]


def compute(
    session: Session, run_ids: Sequence[int], dialect: int, progress: Callable[[float], None]
) -> Arrays:
    """The numbers of DocumentOrder, in its order, nan where one is not defined: (9,), under the name order.

    run_ids: the original, then the run that reproduces it. All topics that either run has are compared,
    judged or not.
    """
    original, other = (_rankings(session, run_id, dialect) for run_id in run_ids)
    progress(0.1)
    topics = sorted({*original, *other})
    sides = ([rankings.get(topic, []) for topic in topics] for rankings in (original, other))
    return {"order": np.array(astuple(document_order(*sides)), dtype=np.float64)}


def seconds(topics: int) -> float:
    """About how long that takes on one core: a topic's time depends little on how many documents it has."""
    return topics * 3e-3


def of_arrays(arrays: Arrays) -> DocumentOrder:
    """The numbers again, out of what `compute` gives."""
    values = [None if np.isnan(value) else value for value in arrays["order"].astype(np.float64).tolist()]
    topics, with_ktu = (int(value or 0) for value in values[:COUNTS])
    return DocumentOrder(topics, with_ktu, *values[COUNTS:])


def _rankings(session: Session, run_id: int, dialect: int) -> Rankings:
    """Topic -> docnos in the order they are scored in."""
    rankings: Rankings = {}
    for block in blocks_of(session, run_id):
        starts, best = block.columns.group_start.tolist(), block.best(dialect).tolist()
        for topic, start, end in zip(block.topics, starts[:-1], starts[1:], strict=True):
            rankings[topic] = [block.docno(entry) for entry in best[start:end]]
    return rankings
