"""Rankings and judgments of several topics, written out or drawn, for tests of measures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from leaderboard.measures.judged import Judged, Judgments

Grades = Sequence[int | None]


@dataclass(frozen=True)
class Topic:
    """One topic: the grade at every rank, None for a document not in the qrels, and grades missed."""

    ranking: tuple[int | None, ...] = ()
    missed: tuple[int, ...] = ()


def scored(*topics: Topic, collection_size: int | None = None) -> Judged:
    """The topics' rankings as measures take them."""
    hits = [
        (place, rank, grade)
        for place, topic in enumerate(topics)
        for rank, grade in enumerate(topic.ranking, start=1)
        if grade is not None
    ]
    grades: list[int] = []
    documents: list[int] = []
    starts = [0]
    for place, topic in enumerate(topics):
        retrieved = [grade for at, _, grade in hits if at == place]
        documents.extend(range(len(grades), len(grades) + len(retrieved)))
        grades.extend([*retrieved, *topic.missed])
        starts.append(len(grades))
    judgments = Judgments(
        tuple(map(str, range(len(topics)))),
        np.array(grades, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        collection_size=collection_size,
    )
    return Judged(
        judgments,
        np.array([place for place, _, _ in hits], dtype=np.int64),
        np.array([rank for _, rank, _ in hits], dtype=np.int64),
        np.array(documents, dtype=np.int64),
        np.array([len(topic.ranking) for topic in topics], dtype=np.int64),
    )


def drawn(longest: int = 30, most_missed: int = 10) -> st.SearchStrategy[Topic]:
    """Topics of any grades from -2 to 4, with unjudged documents."""
    grades = st.integers(-2, 4)
    rankings = st.lists(st.none() | grades, max_size=longest).map(tuple)
    return st.builds(Topic, rankings, st.lists(grades, max_size=most_missed).map(tuple))
