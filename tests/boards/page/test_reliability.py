"""What a board says about itself: reliability, the smallest difference seen, halves of the topics."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from leaderboard.boards.ops import board
from leaderboard.boards.page import intervals
from leaderboard.boards.page.intervals import Reliability
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults, WaitingResult
from leaderboard.stats.reliability import power
from tests.make import build

TOPICS = tuple(str(number) for number in range(1, 9))
JUDGMENTS = {topic: {f"r{topic}": 1, f"n{topic}": 0} for topic in TOPICS}
RANKS: dict[str, tuple[int | None, ...]] = {
    "strong": (1, 2, 1, 1, 3, 1, 1, 1),
    "middle": (2, 2, 1, 3, 4, 2, 1, 2),
    "weak": (5, 6, 2, 9, None, 7, 3, None),
}
"""Run -> the rank of each topic's one relevant document; None where it is not found."""


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def fill(
    database: Database,
    folder: Path,
    ranks: Mapping[str, Sequence[int | None]] = RANKS,
    topics: Sequence[str] = TOPICS,
    **options: object,
) -> dict[str, int]:
    """A scored board of runs with these ranks of their relevant documents; run -> id."""
    options = {"measures": ("RR", "NumRelRet", "GMAP", "SearchLength"), "primary": "RR", **options}
    judgments = {topic: JUDGMENTS[topic] for topic in topics}
    build.task(database, folder, judgments=judgments, topics=topics, **options)  # type: ignore[arg-type]
    ids = {}
    for name, each in ranks.items():
        rankings = {topic: _ranking(topic, rank) for topic, rank in zip(topics, each, strict=False)}
        ids[name] = build.run(database, folder, rankings, name)
    build.drain(database)
    return ids


def _ranking(topic: str, rank: int | None) -> list[str]:
    found = [f"x{place}" for place in range(1, 13)]
    if rank is not None:
        found[rank - 1] = f"r{topic}"
    return found


def of_board(
    database: Database, measure: str | None = None, viewer: Viewer = ANONYMOUS
) -> Reliability | WaitingResult | None:
    """The reliability as a viewer may see it."""
    with database.read() as session:
        return intervals.of_board(session, board.board(session, viewer, "t", measure))


def known(database: Database, measure: str | None = None, viewer: Viewer = ANONYMOUS) -> Reliability:
    """The reliability, which is there at once."""
    found = of_board(database, measure, viewer)
    assert isinstance(found, Reliability)
    return found


def components(scores: np.ndarray) -> tuple[float, float, float]:  # type: ignore[type-arg]
    """Variances between runs, between topics and of the rest, by the definition."""
    runs, topics = scores.shape
    rest = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    noise = float((rest**2).sum() / (runs - 1) / (topics - 1))
    of_runs = topics * scores.mean(axis=1).var(ddof=1)
    of_topics = runs * scores.mean(axis=0).var(ddof=1)
    return (float(of_runs) - noise) / topics, (float(of_topics) - noise) / runs, noise


def reciprocal(ranks: Mapping[str, Sequence[int | None]] = RANKS) -> np.ndarray:  # type: ignore[type-arg]
    """The scores by RR."""
    return np.array([[0.0 if rank is None else 1 / rank for rank in each] for each in ranks.values()])


def test_reliability_is_what_the_variance_components_say(database: Database, tmp_path: Path) -> None:
    """E rho squared, Phi and the shares of variance from the two-way table of scores."""
    fill(database, tmp_path)
    found = known(database)
    runs, topics, rest = components(reciprocal())
    assert found.order == pytest.approx(runs / (runs + rest / 8), abs=1e-12)
    assert found.absolute == pytest.approx(runs / (runs + (topics + rest) / 8), abs=1e-12)
    total = runs + topics + rest
    assert found.shares == pytest.approx((runs / total, topics / total, rest / total), abs=1e-12)
    assert found.enough_topics == int(np.ceil(19 * rest / runs))
    assert (found.runs, found.topics, found.pairs) == (3, 8, 3)
    assert -1 <= found.halves_low <= found.halves <= found.halves_high <= 1


def test_the_smallest_difference_is_found_with_the_power_said(database: Database, tmp_path: Path) -> None:
    """At 5% for a planned pair, at 2.5% over three pairs for any, with the median spread of differences."""
    fill(database, tmp_path)
    found = known(database)
    scores = reciprocal()
    spreads = [(scores[one] - scores[two]).std(ddof=1) for one, two in ((0, 1), (0, 2), (1, 2))]
    assert found.sd == pytest.approx(np.median(spreads), abs=1e-12)
    assert found.planned is not None
    assert found.any is not None
    assert power(found.planned, found.sd, 8) == pytest.approx(0.8, abs=1e-9)
    assert power(found.any, found.sd, 8, alpha=0.025 / 3) == pytest.approx(0.8, abs=1e-9)
    assert power(found.planned / 2, found.sd, found.planned_topics) >= 0.8
    assert power(found.planned / 2, found.sd, found.planned_topics - 1) < 0.8


def test_differences_of_sums_are_sums(database: Database, tmp_path: Path) -> None:
    """A value that is a sum over eight topics differs by eight times what it differs by on each."""
    fill(database, tmp_path)
    found = known(database, "NumRelRet")
    assert found.planned is not None
    assert power(found.planned / 8, found.sd, 8) == pytest.approx(0.8, abs=1e-9)


def test_lower_values_may_be_better(database: Database, tmp_path: Path) -> None:
    """Turning a measure round changes neither components nor spreads."""
    fill(database, tmp_path, {name: RANKS[name] for name in ("strong", "middle")}, primary="SearchLength")
    found = known(database)
    ranks = np.array([RANKS["strong"], RANKS["middle"]], dtype=float)
    runs, _, rest = components(ranks)
    assert found.order == pytest.approx(max(runs, 0) / (max(runs, 0) + rest / 8), abs=1e-12)


@pytest.mark.parametrize(
    ("ranks", "topics", "measure"),
    [
        ({}, TOPICS, None),
        ({"weak": RANKS["weak"]}, TOPICS, None),
        (RANKS, TOPICS[:1], None),
        (RANKS, TOPICS, "GMAP"),
    ],
    ids=["no run", "one run", "one topic", "no mean"],
)
def test_nothing_is_said_where_nothing_can_be(
    database: Database,
    tmp_path: Path,
    ranks: Mapping[str, Sequence[int | None]],
    topics: Sequence[str],
    measure: str | None,
) -> None:
    """Reliability needs two runs, two topics and a measure that is a mean over topics."""
    fill(database, tmp_path, ranks, topics)
    found = of_board(database, measure)
    assert found is None
    assert intervals.reliability_facts(found) is None


def test_two_topics_may_show_no_difference_at_all(database: Database, tmp_path: Path) -> None:
    """Where even the largest difference of the measure would be missed, there is no smallest one."""
    fill(database, tmp_path, topics=TOPICS[:2])
    found = known(database)
    assert (found.planned, found.any) == (None, None)
    facts = intervals.reliability_facts(found)
    assert facts is not None
    assert facts["smallest_difference_any_pair"] is None


def test_equal_runs_are_not_reliable(database: Database, tmp_path: Path) -> None:
    """Runs that do not differ have no order on any number of topics."""
    fill(database, tmp_path, {"one": RANKS["middle"], "other": RANKS["middle"]})
    found = known(database)
    assert (found.order, found.absolute, found.enough_topics, found.planned) == (0.0, 0.0, None, 0.0)
    assert found.shares is not None
    assert found.shares[0] == 0.0


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_what_is_held_back_is_not_told_by_reliability(
    database: Database, tmp_path: Path, visibility: str
) -> None:
    """Readers learn nothing of a blind or sealed board, its organisers all."""
    fill(database, tmp_path, visibility=visibility)
    assert of_board(database) is None
    assert known(database, viewer=OPERATOR).runs == 3


@pytest.mark.trial
@pytest.mark.usefixtures("own_process")
def test_a_job_finds_the_same_as_a_page(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes long is asked for once, done by an evaluator, and says the same for ever."""
    fill(database, tmp_path)
    at_once = known(database)
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    waiting = of_board(database)
    assert isinstance(waiting, WaitingResult)
    assert intervals.reliability_facts(waiting) is None
    with database.write() as session:
        requests.have_computed(session, waiting.request)
    build.drain(database)
    assert known(database) == at_once
