"""The documents that answers cite, in the order in which a pool takes them, as it does rankings."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.pooling.bound import BoundMethod
from leaderboard.services.answers import store
from leaderboard.services.rankings.tops import NO_TOP, Top, TopicTops, numbered
from leaderboard.trec.answers.record import Answer


def read_cited(
    session: Session, run_ids: Sequence[int], topic_ids: Sequence[str], bound: BoundMethod
) -> dict[str, TopicTops]:
    """Topic -> what the answers of every run cite by a method of answers; an answer is read at a time.

    Scores are 1 / place. Segments beyond the limit do not count. Raises Damaged.
    """
    first = bound.values["first"]
    assert isinstance(first, int), "methods of answers take the first so many"
    chosen = cited_first if bound.method.name == "citations" else references_first
    tops: dict[str, dict[int, Top]] = {topic: {} for topic in topic_ids}
    for run_id in run_ids:
        for answer in store.of_run(session, run_id):
            if answer.topic in tops:
                tops[answer.topic][run_id] = _top(chosen(answer, first))
    return {topic: numbered([of.get(run_id, NO_TOP) for run_id in run_ids]) for topic, of in tops.items()}


def cited_first(answer: Answer, first: int) -> Iterator[str]:
    """What its segments cite first, in their order, then what they cite second, down to the first so many."""
    most = max((len(segment.citations) for segment in answer.segments), default=0)
    for place in range(min(first, most)):
        for segment in answer.segments:
            for citation in islice(segment.citations, place, place + 1):
                yield citation.docno


def references_first(answer: Answer, first: int) -> Iterator[str]:
    """Its first so many references."""
    yield from answer.references[:first]


def _top(docnos: Iterator[str]) -> Top:
    found = [docno.encode("utf-8", "surrogateescape") for docno in dict.fromkeys(docnos)]
    return (np.array(found), 1.0 / np.arange(1, len(found) + 1)) if found else NO_TOP
