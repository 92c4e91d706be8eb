"""Why a run stands where it does, against worked examples."""

from pathlib import Path

import pytest

from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.runs.page.explanation import ExplanationPage, explanation_page
from leaderboard.runs.page.head import scored_run
from tests.make import build
from tests.make.copies import built_once

FIRST = {"1": ["a", "c"], "2": ["d", "a"], "3": ["e", "f"]}
SECOND = {"1": ["a", "b"], "2": ["a", "d"], "3": ["e", "y"]}
LAST = {"1": ["b", "x"], "2": ["d", "a"], "3": ["y", "z"]}
"""P@2 1, 0.5 and 1; 0.5 each; 0, 0.5 and 0: the median is 0.5 on all topics."""


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> list[int]:
    """The three runs of an open task, the best first, and a copy of the last by a baseline."""
    build.task(database, tmp_path, measures=("P@2", "NumRelRet", "SearchLength", "Judged@2"))
    made = [
        build.run(database, tmp_path, run, name)
        for run, name in ((FIRST, "first"), (SECOND, "second"), (LAST, "last"))
    ]
    build.drain(database)
    return made


def explained(database: Database, run_id: int, measure: str | None = None) -> ExplanationPage:
    """The page of a run."""
    with database.read() as session:
        return explanation_page(session, scored_run(session, ANONYMOUS, run_id), measure)


def test_the_last_run_explained(database: Database, runs: list[int]) -> None:
    """What cost it most, with what was missed there; with the median on both topics it would be second."""
    page = explained(database, runs[2])
    assert (page.column.key, page.rank, page.ranked, page.below_median, page.topics) == ("P@2", 3, 3, 2, 3)
    assert page.value == pytest.approx(1 / 6)
    assert page.above is not None
    assert (page.above.name, page.above.difference) == ("second", pytest.approx(1 / 3))
    assert [(topic.place.topic_id, topic.share) for topic in page.costly] == [
        ("1", pytest.approx(-1 / 6)),
        ("3", pytest.approx(-1 / 6)),
    ]
    assert (page.raised, page.raised_rank) == (pytest.approx(0.5), 2)
    assert page.good == ()
    assert (page.depth, page.others, page.others_are_better) == (10, 2, True)
    told = {topic.place.topic_id: topic.overlooked for topic in page.costly}
    assert [(row.docno, row.grade, row.others, row.rank) for row in told["1"].documents] == [
        ("a", 2, 2, None),
        ("c", 1, 1, None),
    ]
    assert [(row.docno, row.grade, row.others) for row in told["3"].documents] == [("e", 3, 2), ("f", 1, 1)]
    assert [told[topic].total for topic in told] == [2, 2]
    assert (page.ties, page.near) == (None, ())


def test_what_is_unjudged_leaves_open(database: Database, runs: list[int]) -> None:
    """Half of what P@2 looks at: were x, y and z relevant, it would have 2/3 and be second."""
    page = explained(database, runs[2])
    assert page.open is not None
    assert (page.open.share, page.open.low, page.open.high) == pytest.approx((0.5, 1 / 6, 2 / 3))
    assert (page.open.rank_low, page.open.rank_high) == (2, 3)
    assert [(row.topic_id, row.unjudged, row.looked_at) for row in page.open.topics] == [
        ("3", 2, 2),
        ("1", 1, 2),
    ]
    assert explained(database, runs[0]).open is None


def test_the_best_run_learns_from_all_others(database: Database, runs: list[int]) -> None:
    """Nobody is above it, no topic cost it anything, two brought it something."""
    page = explained(database, runs[0])
    assert (page.above, page.costly, page.others, page.others_are_better) == (None, (), 2, False)
    assert [topic.place.topic_id for topic in page.good] == ["1", "3"]
    assert (page.raised, page.raised_rank) == (pytest.approx(2.5 / 3), 1)


def test_a_sum_and_a_measure_of_which_less_is_better(database: Database, runs: list[int]) -> None:
    """A topic's part of a sum is its whole difference; costs of a search length are added to it."""
    summed = explained(database, runs[2], "NumRelRet")
    assert [topic.share for topic in summed.costly] == [-1.0, -1.0]
    assert (summed.value, summed.raised) == (1, 3)
    length = explained(database, runs[2], "SearchLength")
    assert all(topic.share is not None and topic.share > 0 for topic in length.costly)
    assert length.raised is not None
    assert length.raised < length.value


def test_measures_it_cannot_be_explained_by(database: Database, runs: list[int]) -> None:
    """One that is not on the board, and one that has no better and worse."""
    for measure in ("AP", "Judged@2"):
        with pytest.raises(UnknownMeasure):
            explained(database, runs[0], measure)
    with pytest.raises(NotFound):
        explained(database, 999)
