"""A run against the field: topics, curves, spreads, all by hand on three topics."""

from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from sqlalchemy.orm import Session

from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.page import curves as run_curves
from leaderboard.runs.page import measures as run_measures
from leaderboard.runs.page import run as runs
from leaderboard.runs.page import topics as run_topics
from leaderboard.runs.page.curves import Curves
from leaderboard.runs.page.head import ScoredRun, scored_run
from leaderboard.runs.page.run import RunPage
from leaderboard.runs.page.topics import Order, TopicField
from leaderboard.scoring.ops.evaluations import score
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build
from tests.make.copies import built_once

Page = TypeVar("Page")
BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
MIDDLE = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
ODD = {"1": ["a"], "2": ["x", "y", "d"]}


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
@built_once
def ids(database: Database, tmp_path: Path) -> dict[str, int]:
    """Three ranked runs and a baseline that is as good as the best of them."""
    build.task(database, tmp_path, measures=("RR", "NumRet", "SearchLength"))
    made = {
        name: build.run(database, tmp_path, rankings, name)
        for name, rankings in (("best", BEST), ("middle", MIDDLE), ("odd", ODD))
    }
    made["base"] = build.run(
        database, tmp_path, BEST, "base", run_request=RunRequest("base", kind="baseline")
    )
    build.drain(database)
    return made


def page(database: Database, run_id: int) -> RunPage:
    """The page as anybody sees it."""
    with database.read() as session:
        return runs.run_page(session, ANONYMOUS, run_id)


def of_scored(database: Database, run_id: int, build_page: Callable[[Session, ScoredRun], Page]) -> Page:
    """A page of scores by topic as anybody sees it."""
    with database.read() as session:
        return build_page(session, scored_run(session, ANONYMOUS, run_id))


def field_of(
    database: Database, run_id: int, measure: str | None = None, order: Order = "difference"
) -> TopicField:
    """The run's topics by one measure."""
    field = of_scored(
        database, run_id, lambda session, run: run_topics.topics_page(session, run, measure, order)
    ).field
    assert field is not None
    return field


def curves_of(database: Database, run_id: int) -> Curves:
    """The run's curves."""
    return of_scored(database, run_id, run_curves.curves_page).curves


def test_topics_stand_between_the_ranked_runs(database: Database, ids: dict[str, int]) -> None:
    """Best, median and worst are those of ranked runs, the run among them; the baseline plays no part."""
    field = field_of(database, ids["middle"], order="topic")
    found = [
        (each.topic_id, each.score, each.best, each.median, each.worst, each.rank) for each in field.topics
    ]
    assert found == [
        ("1", 0.5, 1.0, 1.0, 0.5, 3),
        ("2", 0.5, 1.0, 0.5, pytest.approx(1 / 3), 2),
        ("3", 0.5, 1.0, 0.5, 0.0, 2),
    ]
    assert [(each.best_run, each.best_runs) for each in field.topics] == [(None, 2), ("best", 1), ("best", 1)]
    assert (field.ranked, field.better, field.worse) == (3, 0, 1)
    assert [each.key for each in field.choices] == ["RR", "SearchLength"]


def test_a_run_without_a_rank_is_held_against_the_ranked_ones(
    database: Database, ids: dict[str, int]
) -> None:
    """Its rank on a topic is the one it would share: behind those that are better."""
    field = field_of(database, ids["base"], order="topic")
    assert [(each.score, each.rank, each.difference) for each in field.topics] == [
        (1.0, 1, 0.0),
        (1.0, 1, 0.5),
        (1.0, 1, 0.5),
    ]


@pytest.mark.parametrize(
    ("order", "topics"), [("topic", "123"), ("difference", "123"), ("score", "123"), ("rank", "123")]
)
def test_equal_topics_stay_in_the_tasks_order(
    database: Database, ids: dict[str, int], order: Order, topics: str
) -> None:
    """Whatever topics are ordered by, those that are equal by it stand as the task lists them."""
    field = field_of(database, ids["best"], order=order)
    wanted = {"difference": "231"}.get(order, topics)
    assert "".join(each.topic_id for each in field.topics) == wanted


def test_lower_is_better_turns_best_and_worst(database: Database, ids: dict[str, int]) -> None:
    """By search length the best run has the smallest score, and a smaller one is a lead."""
    field = field_of(database, ids["best"], "SearchLength")
    assert field.column.direction == "lower"
    assert all(each.best <= each.median <= each.worst for each in field.topics)
    assert {each.rank for each in field.topics} == {1}
    assert field.better == sum(each.difference < 0 for each in field.topics) > 0
    differences = [each.difference for each in field.topics]
    assert differences == sorted(differences)


@pytest.mark.parametrize("name", ["NumRet", "AP", "nonsense"])
def test_topics_are_looked_at_by_a_measure_with_a_better_end(
    database: Database, ids: dict[str, int], name: str
) -> None:
    """A count, a measure that is not on the board and one that is none are refused with a sentence."""
    with pytest.raises(UnknownMeasure):
        field_of(database, ids["best"], name)


def test_measures_have_the_fields_spread(database: Database, ids: dict[str, int]) -> None:
    """Quartiles of RR 1, 1/2 and 4/9; a count has none."""
    values = {each.column.key: each for each in page(database, ids["middle"]).measures}
    low = 4 / 9
    spread = values["RR"].spread
    assert spread is not None
    assert astuple(spread) == pytest.approx((low, (low + 0.5) / 2, 0.5, 0.75, 1.0))
    assert (values["RR"].rank, values["RR"].ranked, values["RR"].best) == (2, 3, 1.0)
    assert values["NumRet"].spread is None
    search_length = values["SearchLength"]
    assert search_length.spread is not None
    assert search_length.best == search_length.spread.low


def test_curves_are_means_over_topics(database: Database, ids: dict[str, int]) -> None:
    """One of two relevant documents at rank 2 on two topics, the only one at rank 2 on the third."""
    curves = curves_of(database, ids["middle"])
    assert curves.recall.mine == pytest.approx((0.5,) * 8 + (1 / 6,) * 3)
    assert curves.precision.mine[:3] == pytest.approx((0.0, 0.5, 1 / 3))
    assert curves.gain.mine[:3] == pytest.approx((0.0, 2.0, 2.0))
    assert curves.gain.ideal is not None
    assert curves.gain.ideal[:3] == pytest.approx((2.0, 8 / 3, 8 / 3))
    assert (curves.leader, curves.leader_id, curves.ranked, curves.topics) == ("best", ids["best"], 3, 3)
    assert curves.precision.leader is not None
    assert curves.precision.leader[:2] == pytest.approx((1.0, 5 / 6))
    assert len(curves.precision.points) == 10


def test_median_and_highest_are_of_the_ranked_runs_at_each_point(
    database: Database, ids: dict[str, int]
) -> None:
    """P@1 is 1, 0 and 1/3, P@3 5/9, 1/3 and 2/9: the baseline is in neither."""
    curves = curves_of(database, ids["odd"])
    median, highest = curves.precision.median, curves.precision.highest
    assert median is not None
    assert highest is not None
    assert (median[0], highest[0]) == pytest.approx((1 / 3, 1.0))
    assert (median[2], highest[2]) == pytest.approx((1 / 3, 5 / 9))


def test_the_leader_is_not_drawn_twice(database: Database, ids: dict[str, int]) -> None:
    """The page of the run that leads has no second curve of the leader."""
    curves = curves_of(database, ids["best"])
    assert (curves.leader, curves.leader_id, curves.recall.leader) == ("", None, None)


def test_curves_are_computed_once(
    database: Database, ids: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second page finds all curves in memory: only its own hits are read."""
    first = curves_of(database, ids["best"])
    read: list[int] = []

    def counted(_: object, __: object, run_ids: list[int]) -> dict[int, object]:
        read.extend(run_ids)
        return {}

    monkeypatch.setattr("leaderboard.runs.page.curves.alignments", counted)
    second = curves_of(database, ids["middle"])
    assert read == []
    assert second.recall.leader == first.recall.mine


def test_all_measures_agree_with_the_boards(database: Database, ids: dict[str, int]) -> None:
    """Computed from the stored hits they are what was stored; those without one number have none."""
    run = of_scored(database, ids["odd"], run_measures.measures_page)
    every = {row.column.key: row.value for row in run.every}
    for row in page(database, ids["odd"]).measures:
        assert every[row.column.key] == row.value
    assert len(every) > 100
    assert every["NumRel"] == 5.0
    assert all(value is None or np.isfinite(value) for value in every.values())


def test_a_run_that_is_not_scored_by_all_measures_has_no_pages_by_topic(
    database: Database, tmp_path: Path, ids: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until all scores of an edition are there nothing is made of some of them."""
    real = score.stored

    def fewer(*given: object) -> dict[str, object]:
        found = real(*given)  # type: ignore[arg-type]
        return {key: each for key, each in found.items() if key != "SearchLength"}

    monkeypatch.setattr(score, "stored", fewer)
    with pytest.raises(NotFound, match="no visible scores by topic"):
        field_of(database, ids["best"])
