"""Mean ROC curves: by hand, against the curve of one topic, and their area against the registry's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.measures import curves, roc
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged
from tests.measures.rankings import Topic, drawn, scored

SIZE = 60


def every(judged: Judged) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The places of all topics that have a curve."""
    return roc.usable(judged.judgments, np.arange(len(judged.judgments)), 1, judged_only=False)


@settings(deadline=None)
@given(st.lists(drawn(longest=20), min_size=1, max_size=3))
def test_the_area_under_the_curve_is_the_registrys(topics: list[Topic]) -> None:
    """The steps at whole documents, added up exactly, give the mean of ROCAUC."""
    judged = scored(*topics, collection_size=SIZE)
    places = every(judged)
    area = 0.0
    for place in places.tolist():
        others = SIZE - int(judged.judgments.relevant(1)[place])
        # Recall rises at whole documents only, and in a straight line behind the last one retrieved.
        wrong = int(judged.retrieved[place] - judged.relevant_count(1)[place])
        middles = (np.arange(others) + 0.5) / others
        recall = roc.mean_recall(judged, np.array([place]), middles, level=1)
        area += recall.mean()
        assert wrong <= others
    expected = parse("ROCAUC").compute(judged)[places]
    assert area / max(len(places), 1) == pytest.approx(expected.mean() if len(places) else 0.0)


@given(drawn(longest=20))
def test_one_topic_is_its_own_curve(topic: Topic) -> None:
    """At the fallout of each rank, recall is that of the last rank with it."""
    judged = scored(topic, collection_size=SIZE)
    places = every(judged)
    if not len(places) or not topic.ranking:
        return
    recall, fallout = curves.roc(curves.relevance(judged, 0), int(judged.judgments.relevant(1)[0]), SIZE)
    levels, last = np.unique(fallout[::-1], return_index=True)
    expected = recall[::-1][last]
    # A hair to the right, so that rounding of the fractions decides nothing.
    recalls = roc.mean_recall(judged, places, np.minimum(levels + 1e-9, 1.0), level=1)
    assert recalls == pytest.approx(expected, abs=1e-6)


def test_topics_are_averaged_at_each_fallout() -> None:
    """Topic 1 has recall 1 at once; topic 2 none before all 4 others, half of which it retrieves."""
    judged = scored(Topic((1,)), Topic((0, None), (1,)), collection_size=5)
    recalls = roc.mean_recall(judged, every(judged), np.array([0.0, 0.5, 0.75, 1.0]), level=1)
    assert recalls.tolist() == [0.5, 0.5, 0.75, 1.0]
    assert roc.reach(judged, np.array([0, 1]), 1, judged_only=False) == 0.5


def test_without_a_collection_size_the_judged_documents_count() -> None:
    """Unjudged ones and those of negative grade are passed over: 1 of 2 non-relevant ones stands above."""
    judged = scored(Topic((None, 0, None, -1, 1), (0, 2)))
    places = np.array([0])
    fallout = np.array([0.0, 0.49, 0.5, 1.0])
    recalls = roc.mean_recall(judged, places, fallout, level=1, judged_only=True)
    assert recalls.tolist() == [0.0, 0.0, 0.5, 1.0]
    assert roc.reach(judged, places, 1, judged_only=True) == 0.5
    with pytest.raises(ValueError, match="size is not known"):
        roc.mean_recall(judged, places, fallout, level=1)


def test_topics_with_one_kind_of_document_have_no_curve() -> None:
    """Neither one without a relevant document nor one with nothing else."""
    judgments = scored(Topic((0, 1)), Topic((1, 1)), Topic((0,))).judgments
    places = np.array([0, 1, 2])
    assert roc.usable(judgments, places, 1, judged_only=True).tolist() == [0]
    sized = replace(judgments, collection_size=2)
    assert roc.usable(sized, places, 1, judged_only=False).tolist() == [0]
    assert roc.usable(sized, np.array([2]), 1, judged_only=False).tolist() == []
