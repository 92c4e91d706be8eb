"""Two runs of a task compared: scores, tests, rankings, and who may see it."""

import json
from pathlib import Path

import pytest
from scipy.stats import ttest_rel

from leaderboard.comparisons.page import matrix, pair_tables
from leaderboard.comparisons.page import pair as comparisons
from leaderboard.comparisons.page.pair import BoardVerdict, PairPage
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid, NotFound, UnknownMeasure
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.stats.orders.rbo import rbo_with_ties
from leaderboard.stats.orders.two_rankings import compare_rankings
from tests.make import build
from tests.make.copies import built_once
from tests.scoring.ops.statistics.test_standings import RANKS, TOPICS, rankings

ONE = {"1": ["a", "x", "c"], "2": ["y", "d"], "3": ["e", "f"]}
TWO = {"1": ["x", "a", "z"], "2": ["d"], "3": []}


@pytest.fixture
@built_once
def ids(database: Database, tmp_path: Path) -> tuple[int, int]:
    """Two scored runs; the second has nothing for the third topic."""
    build.task(database, tmp_path, measures=("AP", "RR", "NumRet", "SearchLength"), primary="AP")
    found = tuple(
        build.run(database, tmp_path, rankings, name) for name, rankings in (("one", ONE), ("two", TWO))
    )
    build.drain(database)
    return found  # type: ignore[return-value]


def pair(
    database: Database, first: int, second: int, viewer: Viewer = ANONYMOUS, **options: object
) -> PairPage:
    """The page of two runs."""
    with database.read() as session:
        return comparisons.pair_page(session, viewer, "t", first, second, **options)  # type: ignore[arg-type]


def test_scores_are_compared_by_topic(database: Database, ids: tuple[int, int]) -> None:
    """Means, differences in the order of the first run's lead, the p that SciPy finds."""
    page = pair(database, *ids, measure="RR")
    assert {each.topic_id: (each.first, each.second) for each in page.topics} == {
        "1": (1.0, 0.5),
        "2": (0.5, 1.0),
        "3": (1.0, 0.0),
    }
    rows = pair_tables.topics(page).facts()
    assert [(row["topic"], row[page.first.name], row[page.second.name]) for row in rows] == [
        ("3", 1.0, 0.0),
        ("1", 1.0, 0.5),
        ("2", 0.5, 1.0),
    ]
    assert page.scores.tests["t"] == pytest.approx(ttest_rel([1, 0.5, 1], [0.5, 1, 0]).pvalue, abs=1e-12)
    ahead, behind = page.contrasting
    assert ([each.topic_id for each in ahead], [each.topic_id for each in behind]) == (["3", "1"], ["2"])


def test_lower_values_may_be_better(database: Database, ids: tuple[int, int]) -> None:
    """The topic with the shorter search of the first run comes first and counts as its win."""
    page = pair(database, *ids, measure="SearchLength")
    ahead, _ = page.contrasting
    assert page.measure.lower_is_better
    assert {each.topic_id for each in ahead} >= {"1"}
    assert page.scores.wins == len([each for each in page.topics if each.difference < 0])


def test_rankings_are_those_of_the_files(database: Database, ids: tuple[int, int]) -> None:
    """The stored rankings compare as the lists that were sent."""
    page = pair(database, *ids)
    sides = ([rankings[topic] for topic in ("1", "2", "3")] for rankings in (ONE, TWO))
    expected = compare_rankings(*sides)
    found = page.rankings.comparison
    assert found is not None
    assert found.means == pytest.approx(expected.means, abs=1e-15)
    assert page.rankings.by_topic()["1"]["overlap@10"] == 0.2
    assert page.rankings.precision[0][0] == pytest.approx((1 + 0.5 + 1) / 3)


def test_equal_scores_are_ties(database: Database, tmp_path: Path) -> None:
    """With ties the overlap of rankings is also given for ties, on its topics; without, it is not."""
    build.task(database, tmp_path, measures=("AP",))
    ids = []
    for name, scores in {"tied": (2, 2, 1), "clear": (3, 2, 1), "again": (9, 8, 7)}.items():
        lines = [f"1 Q0 {docno} 0 {score} {name}\n" for docno, score in zip("axc", scores, strict=True)]
        (tmp_path / f"{name}.txt").write_text("".join([*lines, f"2 Q0 d 0 1 {name}\n"]))
        run_id = build.submit(database, tmp_path / f"{name}.txt").run_id
        assert run_id is not None
        ids.append(run_id)
    build.drain(database)
    tied, clear, again = ids
    found = pair(database, tied, clear).rankings
    assert found.ties == (1, 0)
    expected = rbo_with_ties(["xa", "c"], ["a", "x", "c"], 0.9, "a").ext
    assert found.with_ties["rbo_ext(p=0.9,ties=a)"].tolist() == pytest.approx([expected, 1.0])
    assert set(found.by_topic()["1"]) >= {"rbo_ext(p=0.9,ties=a)", "rbo_ext(p=0.9,ties=b)", "overlap@10"}
    assert pair(database, clear, again).rankings.with_ties == {}


def test_only_the_first_rankings_of_many_topics_are_compared(
    database: Database, ids: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page can say how many of all topics stand for them; the others have no value."""
    monkeypatch.setattr(comparisons, "MOST_TOPICS", 2)
    page = pair(database, *ids)
    assert (page.rankings.topics, page.rankings.of) == (("1", "2"), 3)
    assert {each.topic_id: bool(each.alike) for each in page.topics} == {"1": True, "2": True, "3": False}


@pytest.mark.dialect
def test_one_topic_stands_side_by_side(database: Database, ids: tuple[int, int]) -> None:
    """Both rankings with grades, and where each document is in the other."""
    both = pair(database, *ids, topic="1").side_by_side
    assert both is not None
    assert [(each.docno, each.grade, each.elsewhere) for each in both.first] == [
        ("a", 2, 2),
        ("x", None, 1),
        ("c", 1, None),
    ]
    assert [each.elsewhere for each in both.second] == [2, 1, None]
    assert pair(database, *ids, topic="3").side_by_side is not None
    with pytest.raises(NotFound, match="no judged topic"):
        pair(database, *ids, topic="77")


def test_the_boards_verdict_stands_beside_that_of_the_pair(database: Database, tmp_path: Path) -> None:
    """As the board says it of all ranked runs, from either side; nothing of a run that is not ranked."""
    judgments = {topic: {f"r{topic}": 1, f"n{topic}": 0} for topic in TOPICS}
    build.task(database, tmp_path, judgments=judgments, topics=TOPICS, measures=("RR",))
    runs = {name: build.run(database, tmp_path, rankings(ranks), name) for name, ranks in RANKS.items()}
    run_request = RunRequest("floor", "baseline")
    floor = build.run(database, tmp_path, rankings(RANKS["weak"]), "floor", run_request=run_request)
    build.drain(database)
    strong, weak, alike = runs["strong"], runs["weak"], runs["alike"]
    assert pair(database, strong, weak).on_board == BoardVerdict(1, len(RANKS), 10, None)
    assert pair(database, weak, strong).on_board == BoardVerdict(-1, len(RANKS), 10, None)
    undecided = pair(database, strong, alike).on_board
    assert undecided == BoardVerdict(0, len(RANKS), 10, 309)
    assert undecided is not None
    assert undecided.more == (
        "About 309 topics like these 10 would decide it with 80% power, if the observed difference is true."
    )
    assert pair(database, strong, floor).on_board is None
    found = pair_tables.facts(pair(database, weak, strong))
    assert found["on_board"] == {"verdict": "beaten", "ranked_runs": len(RANKS), "topics_needed": None}


def test_json_has_the_keys_that_were_promised(database: Database, ids: tuple[int, int]) -> None:
    """Strict JSON, with what the numbers rest on."""
    found = pair_tables.facts(pair(database, *ids))
    json.dumps(found, allow_nan=False)
    assert (found["measure"], found["topics"], found["revision"], found["dialect"]) == ("AP", 3, 1, 10)
    assert found["mean_a"] - found["mean_b"] == pytest.approx(found["difference"])
    assert (found["a"]["run"], found["measure_version"]) == ("one", 1)
    page = pair(database, *ids)
    assert found["compat"] == {
        side: pytest.approx(values.mean()) for side, values in zip("ab", page.rankings.compat, strict=True)
    }
    header, rows = pair_tables.topics(page).data()
    assert header[:5] == ["topic", "title", "one", "two", "difference"]
    assert header[-2:] == ["Compat of one", "Compat of two"]
    assert len(rows) == 3
    assert {len(row) for row in rows} == {len(header)}


def test_what_cannot_be_compared_is_refused(database: Database, ids: tuple[int, int], tmp_path: Path) -> None:
    """A run with itself, of another task, without a score; a measure without better and worse."""
    with pytest.raises(Invalid, match="two different runs"):
        pair(database, ids[0], ids[0])
    with pytest.raises(UnknownMeasure, match="has no direction"):
        pair(database, *ids, measure="NumRet")
    with pytest.raises(UnknownMeasure, match="not on this board"):
        pair(database, *ids, measure="P@5")
    build.task(database, tmp_path, "other", measures=("AP",))
    stranger = build.run(database, tmp_path, ONE, "stranger", slug="other")
    with pytest.raises(NotFound, match=f"no run {stranger}"):
        pair(database, ids[0], stranger)
    fresh = build.run(database, tmp_path, TWO, "fresh")
    with pytest.raises(Invalid, match="fresh has no score by AP under qrels revision 1"):
        pair(database, ids[0], fresh)


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_held_back_scores_are_not_compared(database: Database, tmp_path: Path, visibility: str) -> None:
    """Neither the page nor the choice of runs is there for the public; organisers have both."""
    build.task(database, tmp_path, measures=("AP",), visibility=visibility)
    long = {topic: [*ranking, *(f"t{n}" for n in range(10))] for topic, ranking in ONE.items()}
    ids = [build.run(database, tmp_path, long, name) for name in ("one", "two")]
    build.drain(database)
    with pytest.raises(NotFound, match="when it closes"):
        pair(database, *ids)
    with database.read() as session:
        with pytest.raises(NotFound, match="when it closes"):
            matrix.matrix_page(session, ANONYMOUS, "t", matrix.MatrixChoice())
        assert len(matrix.matrix_page(session, OPERATOR, "t", matrix.MatrixChoice()).rows) == 2
    assert pair(database, *ids, viewer=OPERATOR).scores.constant


def test_seeds_do_not_depend_on_who_comes_first(database: Database, ids: tuple[int, int]) -> None:
    """The other way round, every p is the same."""
    one, two = pair(database, *ids), pair(database, *reversed(ids))
    assert one.scores.tests == pytest.approx(two.scores.tests, abs=1e-12)
    assert (one.scores.wins, one.scores.difference) == (two.scores.losses, -two.scores.difference)
