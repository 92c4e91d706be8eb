"""Lists of topics: difficulty by any measure, in any order, over the runs that have a rank."""

from pathlib import Path

import pytest

from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid, UnknownMeasure
from leaderboard.qrels.page.topics.lists import TopicList, topic_list
from leaderboard.runs.ops.limits import RunRequest
from tests.make import build
from tests.make.copies import built_once

JUDGMENTS = {"1": {"a": 1, "b": 2}, "2": {"d": 1}, "3": {"e": 0}, "4": {"f": 1}}
RUNS = {
    "good": {"1": ["a", "b"], "2": ["d"], "4": ["x"]},
    "fair": {"1": ["x", "a"], "2": ["x", "d"], "4": ["x"]},
    "poor": {"1": ["x", "y", "b"], "2": ["x", "y", "z", "d"], "4": ["x"]},
}


@pytest.fixture
@built_once
def scored(database: Database, tmp_path: Path) -> Database:
    """Three ranked runs and a baseline that is better than they are."""
    build.task(
        database,
        tmp_path,
        topics=("1", "2", "3", "4"),
        judgments=JUDGMENTS,
        measures=("RR", "NumRet", "SearchLength"),
    )
    for name, rankings in RUNS.items():
        build.run(database, tmp_path, rankings, name)
    perfect = build.run_file(tmp_path, {"1": ["b", "a"], "2": ["d"], "4": ["f"]}, "perfect")
    build.submit(database, perfect, run_request=RunRequest("perfect", kind="baseline"))
    build.drain(database)
    return database


def _list(database: Database, measure: str | None = None, sort: str = "") -> TopicList:
    with database.read() as session:
        return topic_list(session, ANONYMOUS, "t", measure, sort)


def _order(database: Database, sort: str, measure: str | None = None) -> list[str]:
    return [row.topic_id for row in _list(database, measure, sort).topics]


def test_difficulty_is_that_of_ranked_runs(scored: Database) -> None:
    """The baseline's scores count for nothing, and the list says of which runs its numbers are."""
    shown = _list(scored)
    assert (shown.field, shown.runs, shown.separates) == ("3 ranked runs", 3, True)
    first, second, third, last = (row.difficulty for row in shown.topics)
    assert first is not None
    assert second is not None
    assert [first.worst, first.median, first.best] == pytest.approx([1 / 3, 0.5, 1.0])
    assert (second.worst, second.lower, second.upper) == (0.25, 0.375, 0.75)
    assert (second.best_run, second.best_runs, second.is_flat) == ("good", 1, False)
    for flat in (third, last):
        assert flat is not None
        assert (flat.best, flat.best_runs, flat.is_flat, flat.sd) == (0.0, 3, True, 0.0)


def test_topics_on_which_runs_do_not_differ_separate_nothing(scored: Database) -> None:
    """There the correlation has no value; elsewhere it is that with the other topics' means."""
    found = [row.discrimination for row in _list(scored).topics]
    assert found[2:] == [None, None]
    assert found[:2] == pytest.approx([0.9959, 0.9959], abs=1e-4)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        *(("", "1234"), ("topic", "1234"), ("-topic", "4321"), ("title", "1234")),
        *(("-relevant", "1243"), ("median", "3412"), ("-worst", "1234"), ("worst", "3421")),
        *(("-grade2", "1234"), ("grade0", "1243")),
    ],
)
def test_any_column_sorts_either_way(scored: Database, sort: str, order: str) -> None:
    """Equal topics stay in the task's order, and those without a value are last either way."""
    assert "".join(_order(scored, sort)) == order


def test_the_hardest_topic_has_the_worst_median(scored: Database) -> None:
    """By a measure of which less is better it is the topic with the highest."""
    assert _order(scored, _list(scored).hardest_first)[-2:] == ["1", "2"]
    assert _list(scored, "SearchLength").measure.direction == "lower"
    shown = _list(scored, "SearchLength", _list(scored, "SearchLength").hardest_first)
    medians = [row.difficulty.median for row in shown.topics if row.difficulty]
    assert medians == sorted(medians, reverse=True)
    worst = shown.topics[0].difficulty
    assert worst is not None
    assert worst.worst >= worst.lower >= worst.median >= worst.upper >= worst.best


def test_grades_are_columns_where_several_are_relevant(scored: Database) -> None:
    """With the place of each count in a row; documents of any grade are judged."""
    shown = _list(scored)
    assert (shown.grades, shown.relevant_grades) == ((2, 1, 0), ((0, 2), (1, 1)))
    assert [(row.judged, row.relevant, row.grades) for row in shown.topics] == [
        *((2, 2, (1, 1, 0)), (1, 1, (0, 1, 0)), (1, 0, (0, 0, 1)), (1, 1, (0, 1, 0)))
    ]


def test_what_cannot_be_asked_for(scored: Database) -> None:
    """A column there is not, and a measure that has no better and worse."""
    with pytest.raises(Invalid, match="choose one of topic, title"):
        _list(scored, sort="grade7")
    with pytest.raises(UnknownMeasure, match="gives no topic difficulty"):
        _list(scored, "NumRet")


def test_runs_without_a_rank_are_the_field_where_there_are_no_others(
    database: Database, tmp_path: Path
) -> None:
    """Two baselines: both count, and the list does not say how topics separate them."""
    build.task(database, tmp_path, measures=("RR",))
    for name, first in (("one", "a"), ("two", "b")):
        path = build.run_file(tmp_path, {"1": [first]}, name)
        build.submit(database, path, run_request=RunRequest(name, kind="baseline"))
    build.drain(database)
    shown = _list(database)
    assert (shown.field, shown.separates) == ("2 runs", False)
    assert {row.discrimination for row in shown.topics} == {None}
