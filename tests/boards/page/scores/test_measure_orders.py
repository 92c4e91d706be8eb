"""Orders of the same runs by different measures: agreement, moves, what measures tell apart, standardised."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sqlalchemy import event

from leaderboard.boards.ops import board
from leaderboard.boards.page.scores import measure_orders, order_tables
from leaderboard.boards.page.scores.measure_orders import (
    COEFFICIENTS,
    Choice,
    OrdersPage,
    PairOfOrders,
    pair_of_orders,
)
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid, NotFound, UnknownMeasure
from leaderboard.measures.grammar import parse
from leaderboard.scoring.ops.scored_topics import MeasureColumn, column
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build
from tests.make.copies import built_once

TOPICS = tuple(str(number) for number in range(1, 7))
JUDGMENTS = {topic: {f"r{topic}": 1, f"s{topic}": 1, f"n{topic}": 0} for topic in TOPICS}
MEASURES = ("RR", "AP", "SearchLength", "GMAP", "NumRet")
PLACES = {
    "steady": ((1, 9), (1, 9), (1, 9), (1, 9), (1, 9), (2, 9)),
    "deep": ((2, 3), (2, 3), (2, 3), (2, 3), (1, 2), (2, 3)),
    "mixed": ((1, 2), (3, 4), (1, 8), (4, 5), (2, 6), (5, 6)),
    "weak": ((7, 8), (5, 9), (6, 8), (9, 10), (5, 7), (7, 9)),
}
"""Run -> the ranks of each topic's two relevant documents."""


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def ranking(topic: str, places: tuple[int, int]) -> list[str]:
    """Documents of which the two relevant ones have these ranks."""
    found = [f"x{rank}" for rank in range(1, 14)]
    found[places[0] - 1], found[places[1] - 1] = f"r{topic}", f"s{topic}"
    return found


@built_once
def fill(
    database: Database,
    folder: Path,
    places: dict[str, tuple[tuple[int, int], ...]] | None = None,
    **options: object,
) -> dict[str, int]:
    """A scored board of runs with these ranks of their relevant documents; run -> id."""
    options = {"measures": MEASURES, "primary": "RR", **options}
    build.task(database, folder, judgments=JUDGMENTS, topics=TOPICS, **options)  # type: ignore[arg-type]
    ids = {}
    for name, each in (PLACES if places is None else places).items():
        rankings = {topic: ranking(topic, ranks) for topic, ranks in zip(TOPICS, each, strict=True)}
        ids[name] = build.run(database, folder, rankings, name)
    build.drain(database)
    return ids


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> dict[str, int]:
    """The four runs on a scored board."""
    return fill(database, tmp_path)


def page(database: Database, viewer: Viewer = ANONYMOUS, **chosen: str) -> OrdersPage:
    """The page as a viewer sees it."""
    with database.read() as session:
        return measure_orders.page(session, viewer, "t", Choice(**chosen))


def better(database: Database) -> dict[str, list[float]]:
    """Measure -> the runs' aggregates as the board has them, in the order of RR, higher is better."""
    with database.read() as session:
        rows = board.board(session, ANONYMOUS, "t").rows
    return {
        key: [(-1 if key == "SearchLength" else 1) * (row.scores[key] or 0.0) for row in rows]
        for key in MEASURES[:4]
    }


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("tau_b", lambda one, other: stats.kendalltau(one, other).statistic),
        ("weighted_tau", lambda one, other: stats.weightedtau(one, other).statistic),
        ("rho", lambda one, other: stats.spearmanr(one, other).statistic),
    ],
)
def test_agreement_is_what_scipy_finds(database: Database, name: str, oracle: object) -> None:
    """Every two measures with a better and a worse, those of which lower is better turned round."""
    assert callable(oracle)
    values, found = better(database), page(database, coefficient=name)
    assert [each.key for each in found.columns] == list(MEASURES[:4])
    assert found.left_out == ("NumRet",)
    for row, one in zip(found.agreement, found.columns, strict=True):
        expected = [oracle(values[one.key], values[other.key]) for other in found.columns]
        assert row == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("filled")
def test_a_directed_coefficient_takes_the_rows_order_as_the_true_one(database: Database) -> None:
    """Down the column's order, the shares of runs above that the row's order has above too."""
    found = page(database, coefficient="tau_ap")
    values = better(database)
    for truth, row in zip(found.columns, found.agreement, strict=True):
        for order, value in zip(found.columns, row, strict=True):
            assert value == pytest.approx(_tau_ap(values[order.key], values[truth.key]), abs=1e-12)


def _tau_ap(estimate: list[float], truth: list[float]) -> float:
    """By the definition: going down the estimate, how many above are above in the truth too."""
    down = sorted(range(len(truth)), key=lambda at: -estimate[at])
    shares = [
        sum(truth[above] > truth[at] for above in down[:place]) / place
        for place, at in enumerate(down)
        if place
    ]
    return 2 / (len(truth) - 1) * sum(shares) - 1


def columns() -> tuple[MeasureColumn, MeasureColumn]:
    """Two measures."""
    return column(parse("AP")), column(parse("RR"))


def readings(found: PairOfOrders) -> dict[tuple[str, str], float | None]:
    """(coefficient, true order) -> value."""
    return {(each.coefficient.name, each.truth): each.value for each in found.readings}


def test_a_pair_without_ties_has_every_coefficient() -> None:
    """Six runs, two neighbours swapped at the top and two at the bottom (worked by hand)."""
    one, other = np.array([6.0, 5, 4, 3, 2, 1]), np.array([5.0, 6, 4, 3, 1, 2])
    found = pair_of_orders(*columns(), one, other)
    values = readings(found)
    assert values["tau_b", ""] == pytest.approx(11 / 15, abs=1e-12)
    assert values["tau_ap", "AP"] == pytest.approx(0.52, abs=1e-12)
    assert values["tau_ap", "RR"] == pytest.approx(0.52, abs=1e-12)
    assert values["weighted_tau", ""] == pytest.approx(0.695238, abs=1e-6)
    assert (found.same, found.opposite, found.tied, found.pairs, found.notes) == (13, 2, 0, 15, ())
    assert [(each.at, each.move) for each in found.moves[:4]] == [(0, -1), (1, 1), (4, -1), (5, 1)]


def test_a_pair_with_ties_says_what_is_not_defined() -> None:
    """Two runs are equal by the first measure: it cannot be the true order of tau_AP (worked by hand)."""
    one = np.array([0.31, 0.28, 0.28, 0.25, 0.22, 0.15])
    other = np.array([0.50, 0.47, 0.52, 0.41, 0.44, 0.30])
    found = pair_of_orders(*columns(), one, other)
    values = readings(found)
    expected = {
        ("tau_b", ""): 0.690066,
        ("tau_ap", "RR"): 0.5,
        ("tau_ap_b", ""): 0.4,
        ("weighted_tau", ""): 0.621183,
        ("rho", ""): 0.840668,
    }
    assert {key: values[key] for key in expected} == pytest.approx(expected, abs=1e-6)
    assert values["tau_ap", "AP"] is None
    assert found.notes == ("AP ties some runs, so it cannot be the reference ranking of τ_AP.",)
    assert (found.same, found.opposite, found.tied) == (12, 2, 1)


def test_a_pair_of_which_one_ties_all_runs_has_no_symmetric_coefficient() -> None:
    """Only the mean of tau_AP over all ways to break the ties is there, and it is 0."""
    found = pair_of_orders(*columns(), np.full(4, 0.5), np.arange(4.0))
    values = readings(found)
    assert values.pop(("tau_ap", "RR")) == pytest.approx(0.0, abs=1e-12)
    assert set(values.values()) == {None}
    assert found.notes == ("AP ties all runs, so it gives no ranking.",)


def test_the_pair_is_the_primary_and_the_next_measure_unless_chosen(
    database: Database, filled: dict[str, int]
) -> None:
    """Ranks by both, the largest move first, all under the reader's own choice where there is one."""
    found = page(database)
    assert found.pair is not None
    assert (found.pair.first.key, found.pair.second.key) == ("RR", "AP")
    moves = {found.runs[move.at].name: (move.first_rank, move.second_rank) for move in found.pair.moves}
    assert list(moves.items()) == [
        *(("steady", (1, 2)), ("deep", (2, 1))),
        *(("mixed", (3, 3)), ("weak", (4, 4))),
    ]
    assert {run.name: run.run_id for run in found.runs} == filled
    chosen = page(database, first="SearchLength", second="map").pair
    assert chosen is not None
    assert (chosen.first.key, chosen.second.key) == ("SearchLength", "AP")
    assert page(database, first="AP").pair.second.key == "RR"  # type: ignore[union-attr]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("chosen", "error", "said"),
    [
        ({"first": "nDCG@10"}, UnknownMeasure, "nDCG@10 is not on this board; its measures are RR, AP"),
        ({"second": "NumRet"}, UnknownMeasure, "NumRet has no direction"),
        ({"coefficient": "gamma"}, Invalid, "choose one of tau_b, tau_ap"),
        ({"standardised": "z"}, Invalid, "choose one of normal, uniform, empirical"),
    ],
)
def test_a_choice_there_is_not_is_refused_in_words(
    database: Database, chosen: dict[str, str], error: type[Invalid], said: str
) -> None:
    """The sentence names what there is."""
    with pytest.raises(error, match=said.replace("?", r"\?")):
        page(database, **chosen)


@pytest.mark.usefixtures("filled")
def test_each_measure_says_how_many_pairs_it_tells_apart(database: Database) -> None:
    """The share of the board ranked by it; why not, where a measure is not a mean of its topics' scores."""
    found = page(database)
    for measure, apart in zip(found.columns[:3], found.told_apart, strict=False):
        with database.read() as session:
            standing = board.board(session, ANONYMOUS, "t", measure.key).standing
        assert apart.told_apart == standing.told_apart  # type: ignore[union-attr]
        assert apart.share == pytest.approx(standing.told_apart / 6)  # type: ignore[union-attr]
    assert found.told_apart[0].told_apart
    assert found.told_apart[3].share is None
    assert "is not a mean over topics" in found.told_apart[3].why_unknown


def test_what_takes_a_job_is_not_counted_yet(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pairs were not compared, the agreement is there all the same."""
    fill(database, tmp_path)
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    found = page(database)
    assert found.told_apart[0].told_apart is None
    assert found.told_apart[0].why_unknown.startswith("The comparison by RR is not computed yet")
    assert found.agreement[0][0] == pytest.approx(1.0)


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("key", ["RR", "SearchLength"])
def test_standardised_scores_are_taken_among_all_ranked_runs(database: Database, key: str) -> None:
    """0.15 times the deviation by topic plus 0.5, cut at 0 and 1; higher is better for every measure."""
    found = page(database, first=key, standardised="uniform").standardised
    assert found is not None
    shorter = np.array([[places[0] for places in each] for each in PLACES.values()], dtype=float)
    scores = 1 / shorter if key == "RR" else -shorter
    z = (scores - scores.mean(axis=0)) / scores.std(axis=0, ddof=1)
    means = dict(zip(PLACES, np.clip(0.15 * z + 0.5, 0, 1).mean(axis=1), strict=True))
    assert {run.run: run.standardised for run in found.runs} == pytest.approx(means, abs=1e-11)
    assert [run.run for run in found.runs] == sorted(means, key=lambda name: -means[name])
    assert [run.standardised_rank for run in found.runs] == [1, 2, 3, 4]
    assert all(run.move == run.rank - run.standardised_rank for run in found.runs)
    raw = {name: scores[at].mean() for at, name in enumerate(PLACES)}
    expected = stats.kendalltau(list(raw.values()), list(means.values())).statistic
    assert found.tau_b == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("filled")
def test_no_mean_is_not_standardised(database: Database) -> None:
    """A geometric mean says why there is no such order."""
    found = page(database, first="GMAP", standardised="normal").standardised
    assert found is not None
    assert (found.runs, found.tau_b) == ((), None)
    assert "is not a mean over topics" in found.why_missing


@pytest.mark.parametrize(
    ("places", "measures", "said"),
    [
        ({}, ("RR", "AP"), "No official run is scored yet, so there are no rankings to compare."),
        (
            {"weak": PLACES["weak"]},
            ("RR", "AP"),
            "weak is the only ranked run, so it is first by every measure.",
        ),
        (
            PLACES,
            ("RR", "NumRet"),
            "RR is the only measure with a direction, so there is no other ranking to compare.",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(
    database: Database,
    tmp_path: Path,
    places: dict[str, tuple[tuple[int, int], ...]],
    measures: tuple[str, ...],
    said: str,
) -> None:
    """No run, one run, one measure: a sentence, and files without a coefficient."""
    fill(database, tmp_path, places, measures=measures)
    found = page(database, standardised="normal")
    assert (found.why_empty, found.agreement, found.pair, found.standardised) == (said, (), None, None)
    assert order_tables.table(found).rows == []
    assert order_tables.facts(found)["coefficients"] == []


def test_a_task_without_judgments_has_no_orders(database: Database, tmp_path: Path) -> None:
    """It says what is missing."""
    build.task(database, tmp_path, judgments=None)
    assert "has no judgments yet" in page(database).why_empty


def test_equal_runs_have_orders_without_coefficients(database: Database, tmp_path: Path) -> None:
    """All runs tied by all measures: dashes and a sentence, and nothing that is no number."""
    fill(database, tmp_path, {"one": PLACES["weak"], "other": PLACES["weak"]})
    found = page(database, standardised="normal")
    assert {value for row in found.agreement for value in row} == {None}
    assert found.pair is not None
    assert found.pair.notes[0] == "RR ties all runs, so it gives no ranking."
    assert found.standardised is not None
    assert found.standardised.tau_b is None
    assert [run.standardised_rank for run in found.standardised.runs] == [1, 1]


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_orders_are_held_back_with_the_scores_by_topic(
    database: Database, tmp_path: Path, visibility: str
) -> None:
    """Readers of a blind or sealed task find nothing, its organisers everything."""
    fill(database, tmp_path, visibility=visibility)
    with pytest.raises(NotFound, match="shown when it closes"):
        page(database)
    assert page(database, OPERATOR).agreement


@pytest.mark.usefixtures("filled")
def test_json_and_csv_have_every_coefficient_of_every_two_measures(database: Database) -> None:
    """Both directions of each pair, as the page's own tables have them."""
    found = page(database, coefficient="tau_ap")
    header, rows = order_tables.table(found).data()
    assert header == ["true_order", "order", *COEFFICIENTS]
    assert len(rows) == 4 * 3
    keys = [each.key for each in found.columns]
    for row in rows:
        facts = dict(zip(header, row, strict=True))
        one, other = keys.index(str(facts["true_order"])), keys.index(str(facts["order"]))
        assert facts["tau_ap"] == found.agreement[one][other]
    json = order_tables.facts(found)
    assert json["coefficients"] == [dict(zip(header, row, strict=True)) for row in rows]
    assert json["rows"][0]["ranks"]["RR"] == 1
    assert [each["direction"] for each in json["measures"]] == ["higher", "higher", "lower", "higher"]


@contextmanager
def _statements(database: Database) -> Iterator[list[str]]:
    """The statements sent while the block runs."""
    sent: list[str] = []

    def note(*arguments: object) -> None:
        sent.append(str(arguments[2]))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


@pytest.mark.trial
def test_as_many_statements_for_twelve_runs_as_for_three(database: Database, tmp_path: Path) -> None:
    """What the page reads does not grow with the runs."""
    counts = []
    fill(database, tmp_path, {})
    for numbers in (range(3), range(3, 12)):
        for number in numbers:
            rankings = {topic: ranking(topic, (number + 1, number + 2)) for topic in TOPICS}
            build.run(database, tmp_path, rankings, f"run-{number}")
        build.drain(database)
        for _ in range(2):
            with _statements(database) as sent:
                page(database, standardised="normal")
            counts.append(len(sent))
    assert counts[:2] == counts[2:]
    assert counts[1] < counts[0] <= 12
