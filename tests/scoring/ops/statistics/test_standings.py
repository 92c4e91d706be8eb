"""What a board says of its order: who may be the best, who beats whom, in words and in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops.board import Board
from leaderboard.boards.page import tables
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run
from leaderboard.errors import Conflict, Forbidden, Invalid
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.page import run
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.statistics import methods, requests
from leaderboard.scoring.ops.statistics.procedures import (
    document_orders,
    pool_reusability,
    pool_simulations,
    ranking_overlaps,
    revision_scores,
)
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.scoring.ops.statistics.standings import Place, Standing
from leaderboard.stats.pairs.methods import CORRECTIONS, TESTS, all_pairs, method
from leaderboard.stats.procedures import PROCEDURES
from tests.make import build
from tests.make.copies import built_once

TOPICS = tuple(str(number) for number in range(1, 11))
JUDGMENTS = {topic: {f"r{topic}": 1, f"n{topic}": 0} for topic in TOPICS}
RANKS = {
    "strong": (1, 1, 1, 2, 1, 1, 1, 1, 1, 1),
    "alike": (1, 1, 2, 1, 1, 1, 1, 1, 1, 2),
    "middle": (2, 2, 3, 2, 2, 1, 2, 3, 2, 2),
    "weak": (9, 8, 9, 7, 9, 9, 8, 9, 9, 9),
}
"""Run -> the rank of each topic's one relevant document."""
TAIL = tuple(f"y{place}" for place in range(9))
"""A blind task wants rankings of ten documents."""


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def rankings(ranks: Sequence[int]) -> dict[str, list[str]]:
    """Rankings that have each topic's relevant document at a rank."""
    return {
        topic: [*(f"x{place}" for place in range(1, rank)), f"r{topic}", *TAIL]
        for topic, rank in zip(TOPICS, ranks, strict=True)
    }


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> dict[str, int]:
    """A scored board of four runs ranked by RR; run -> id."""
    return fill(database, tmp_path)


def fill(
    database: Database, folder: Path, ranks: Mapping[str, Sequence[int]] = RANKS, **options: object
) -> dict[str, int]:
    """A scored board of runs with these ranks of their relevant documents."""
    options = {"measures": ("RR", "NumRelRet", "GMAP"), "primary": "RR", **options}
    build.task(database, folder, judgments=JUDGMENTS, topics=TOPICS, **options)  # type: ignore[arg-type]
    ids = {name: build.run(database, folder, rankings(each), name) for name, each in ranks.items()}
    build.drain(database)
    return ids


def board(database: Database, viewer: Viewer = ANONYMOUS, **options: object) -> Board:
    """The board as a viewer sees it."""
    with database.read() as session:
        return boards.board(session, viewer, "t", **options)  # type: ignore[arg-type]


def standing(database: Database, **options: object) -> Standing:
    """The standing of the board, which is there at once."""
    found = board(database, **options).standing
    assert isinstance(found, Standing)
    return found


def decided(ranks: Mapping[str, Sequence[int]], topics: int = 10) -> dict[tuple[str, str], bool]:
    """Which pairs Holm's correction of SciPy's paired t test tells apart."""
    scores = {name: 1 / np.array(each[:topics]) for name, each in ranks.items()}
    pairs = {
        (one, two): float(ttest_rel(scores[one], scores[two]).pvalue) for one, two in combinations(ranks, 2)
    }
    apart, stopped = {}, False
    for place, (pair, p) in enumerate(sorted(pairs.items(), key=lambda item: item[1])):
        stopped = stopped or p * (len(pairs) - place) >= 0.025
        apart[pair] = not stopped
    return apart


@pytest.mark.usefixtures("filled")
def test_the_sentences_say_what_scipy_finds(database: Database) -> None:
    """The leader, the pairs told apart and the neighbours told apart, counted with SciPy."""
    apart = decided(RANKS)
    neighbours = [apart[pair] for pair in (("strong", "alike"), ("alike", "middle"), ("middle", "weak"))]
    first, second, third = board(database).sentences
    assert first == (
        "Highest mean RR: strong (0.9500). 2 of 4 runs may be the best on topics like these 10 (dots)."
    )
    found = sum(apart.values())
    assert second == (
        f"{found} of 6 pairs ({found / 6:.0%}) are significantly different (paired t, Holm). "
        "Dots, counts and rank ranges hold simultaneously with 95% confidence."
    )
    assert third.startswith(f"{sum(neighbours)} of 3 neighbouring pairs are significantly different")


def test_each_run_knows_whom_it_beats(database: Database, filled: dict[str, int]) -> None:
    """Beats, beaten by, undecided, rank range and the set of the best, as SciPy has them."""
    apart = decided(RANKS)
    found = standing(database)
    for place, name in enumerate(RANKS):
        above = sum(apart[(other, name)] for other in list(RANKS)[:place])
        below = sum(apart[(name, other)] for other in list(RANKS)[place + 1 :])
        is_best = name in ("strong", "alike")
        expected = Place(below, above, 3 - below - above, 1 + above, 4 - below, is_best, above)
        assert found.places[filled[name]] == expected


@pytest.mark.parametrize("seed", range(12))
def test_a_cut_is_where_each_run_above_beats_each_below(seed: int) -> None:
    """Worked out pair by pair, for any choice of the runs; the last run has nothing below it."""
    random = np.random.default_rng(seed)
    levels = np.sort(random.choice([0.1, 0.4, 0.41, 0.7, 0.95], 8))[::-1]
    scores = np.clip(levels[:, None] + random.normal(0, 0.05, (8, 30)), 0, 1)
    table = all_pairs(scores, method("t+holm"), seed=1)
    ids = tuple(range(11, 19))
    standing = Standing(table=table, run_ids=ids, sd=scores.std(axis=1, ddof=1), topics=30, sign=1)
    for ordered in (ids, ids[::2], ids[3:], ids[:1], ()):
        expected = {
            ordered[at - 1]
            for at in range(1, len(ordered))
            if all(
                standing.verdicts.signs[above - 11, below - 11] > 0
                for above in ordered[:at]
                for below in ordered[at:]
            )
        }
        assert standing.cuts(ordered) == expected
    assert standing.cuts(ids), "the levels lie far apart"


def test_a_pair_reads_the_same_from_both_sides(database: Database, filled: dict[str, int]) -> None:
    """The difference and its interval change sign with the order of the two, the p does not."""
    found = standing(database)
    one, two = found.pair(filled["strong"], filled["weak"]), found.pair(filled["weak"], filled["strong"])
    assert (one.difference, one.low, one.high, one.p) == (-two.difference, -two.high, -two.low, two.p)
    expected = ttest_rel(*(1 / np.array(RANKS[name]) for name in ("strong", "weak")))
    interval = expected.confidence_interval()
    assert one.low == pytest.approx(interval.low, abs=1e-12)
    assert one.high == pytest.approx(interval.high, abs=1e-12)
    assert found.undecided_with(filled["strong"]) == {filled["alike"]}


@pytest.mark.usefixtures("filled")
def test_json_and_csv_have_the_place_of_each_run(database: Database) -> None:
    """Seven facts a row in JSON, the same as columns of the CSV."""
    shown = board(database)
    rows = tables.board_facts(shown)["rows"]
    names = ("beats", "beaten_by", "undecided", "rank_low", "rank_high", "best_set", "named")
    assert [rows[0][name] for name in names] == [2, 0, 1, 1, 2, True, 0]
    header, table = tables.board_table(shown).data()
    assert tuple(header[-7:]) == names
    assert table[0][-7:] == [2, 0, 1, 1, 2, True, 0]


def test_lower_values_may_be_better(database: Database, tmp_path: Path) -> None:
    """The run with the shortest search leads, and differences keep the sign the measure prints."""
    ids = fill(database, tmp_path, measures=("SearchLength",), primary="SearchLength")
    shown = board(database)
    assert shown.sentences[0].startswith("Lowest mean SearchLength: strong (")
    found = standing(database)
    assert found.places[ids["strong"]].best_set
    assert found.places[ids["weak"]].beaten_by == 3
    assert found.pair(ids["weak"], ids["strong"]).difference > 0


@pytest.mark.usefixtures("filled")
def test_a_measure_that_is_no_mean_says_so(database: Database) -> None:
    """A geometric mean has no differences by topic that explain it."""
    shown = board(database, measure="GMAP")
    assert shown.standing is None
    assert shown.sentences[0] == "Highest GMAP, the geometric mean over topics: strong (0.9330)."
    assert "is not a mean over topics" in shown.sentences[1]


@pytest.mark.trial
@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ({"only": RANKS["weak"]}, "It is the only ranked run, so there are no comparisons."),
        (
            {"a": RANKS["weak"], "b": RANKS["weak"]},
            "The two runs are not significantly different (paired t, Holm).",
        ),
        ({"a": (1,) * 10, "b": (2,) * 10}, "The two runs are significantly different (paired t, Holm)."),
    ],
)
def test_the_smallest_boards_have_sentences_too(
    database: Database, tmp_path: Path, ranks: dict[str, Sequence[int]], said: str
) -> None:
    """One run, two equal ones, a difference that is the same on every topic."""
    fill(database, tmp_path, ranks)
    assert said in " ".join(board(database).sentences)


def test_one_topic_tells_nothing_apart(database: Database, tmp_path: Path) -> None:
    """With one judged topic there is a leader and no test."""
    build.task(database, tmp_path, judgments={"1": {"r1": 1}}, topics=("1",), measures=("RR",))
    for name, ranking in (("a", ["r1"]), ("b", ["x", "r1"]), ("c", ["x", "y", "r1"])):
        build.run(database, tmp_path, {"1": ranking}, name)
    build.drain(database)
    assert board(database).sentences == (
        "Highest mean RR: a (1.0000). With one topic no significance test is possible.",
    )


def test_a_test_that_cannot_reach_significance_says_so(database: Database, tmp_path: Path) -> None:
    """Four topics are too few for any sign test."""
    judgments = {topic: JUDGMENTS[topic] for topic in TOPICS[:4]}
    build.task(database, tmp_path, judgments=judgments, topics=TOPICS[:4], measures=("RR",))
    for name in ("strong", "weak"):
        chosen = {topic: each for topic, each in rankings(RANKS[name]).items() if topic in judgments}
        build.run(database, tmp_path, chosen, name)
    build.drain(database)
    choose(database, "sign+holm")
    assert "cannot find any pair significantly different here, whatever the scores" in " ".join(
        board(database).sentences
    )


def choose(database: Database, key: str, viewer: Viewer = OPERATOR) -> None:
    """Compare the task's runs by another method."""
    with database.write() as session:
        methods.choose(session, viewer, "t", key)


@pytest.mark.usefixtures("filled")
def test_organisers_choose_the_method(database: Database) -> None:
    """Every method of the list works, its name is in the sentence; others and other people are refused."""
    for each in methods.choices():
        if each.random:
            continue
        choose(database, each.key)
        assert each.title in board(database).sentences[1]
    with pytest.raises(Invalid, match="choose one of t\\+holm"):
        choose(database, "t+luck")
    with pytest.raises(Forbidden):
        choose(database, "t+bh", Viewer(account_id=1))


def test_seeds_come_from_what_is_compared(database: Database, filled: dict[str, int]) -> None:
    """The same runs have the same seed, other runs, measures or methods another one."""
    request = requests.Request(
        "pairs", "t+holm", _source(database), "RR", 1, tuple(filled.values()), tuple("abcd")
    )
    others = [
        replace(request, method="t+bh"),
        replace(request, measure="AP"),
        replace(request, measure_version=2),
        replace(request, rankings=tuple("abce")),
        replace(request, source=replace(request.source, revision_sha256="x")),
    ]
    digests = [each.digest for each in (request, *others)]
    assert len(set(digests)) == len(digests)
    assert replace(request, run_ids=(7, 8, 9, 10)).options == request.options


def _source(database: Database) -> requests.Source:
    source = board(database).source
    assert source is not None
    return source


@pytest.mark.dialect
def test_a_team_may_declare_its_primary_run(database: Database, filled: dict[str, int]) -> None:
    """One run a team is its primary one, else its best; ranks and verdicts stay those among all runs."""
    shown = board(database, one_per_team=True)
    assert [row.run for row in shown.rows] == ["strong"]
    with database.write() as session:
        withdrawals.mark_run(session, OPERATOR, filled["middle"])
    shown = board(database, one_per_team=True)
    assert [(row.rank, row.run) for row in shown.rows] == [(3, "middle")]
    assert shown.places == board(database).places
    with database.read() as session:
        assert run.run_page(session, OPERATOR, filled["middle"]).actions.is_marked
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, filled["middle"], "a mistake")
    assert [row.run for row in board(database, one_per_team=True).rows] == ["strong"]
    with database.write() as session, pytest.raises(Conflict, match="is unranked"):
        withdrawals.mark_run(session, OPERATOR, filled["middle"])
    with database.write() as session, pytest.raises(Forbidden):
        withdrawals.mark_run(session, Viewer(account_id=1), filled["weak"])


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_what_is_held_back_is_not_told_by_tests(database: Database, tmp_path: Path, visibility: str) -> None:
    """A blind or sealed board has no standing for the public and one for its organisers."""
    fill(database, tmp_path, visibility=visibility)
    shown = board(database)
    assert (shown.standing, shown.sentences, shown.places, shown.source) == (None, (), {}, None)
    assert isinstance(board(database, OPERATOR).standing, Standing)


def test_differences_may_be_taken_from_a_baseline(database: Database, filled: dict[str, int]) -> None:
    """A run without a rank can be the reference; a ranked one gives the table's own differences."""
    with database.write() as session:
        row = session.get(Run, filled["middle"])
        assert row is not None
        row.kind = "baseline"
    with database.read() as session:
        shown = boards.board(session, ANONYMOUS, "t")
        found = boards.differences(session, shown, filled["middle"])
    assert set(found) == {filled[name] for name in ("strong", "alike", "weak")}
    expected = ttest_rel(*(1 / np.array(RANKS[name]) for name in ("weak", "middle")))
    assert found[filled["weak"]].p == pytest.approx(expected.pvalue, abs=1e-12)
    assert found[filled["weak"]].low == pytest.approx(expected.confidence_interval().low, abs=1e-12)


def test_versions_of_methods_reach_the_digest() -> None:
    """Whoever changes a test or correction also makes what is kept of all pairs unused."""
    changes = sum(each.version - 1 for each in (*TESTS.values(), *CORRECTIONS.values()))
    assert requests.VERSIONS["pairs"] > changes
    on_rankings = (document_orders, ranking_overlaps, pool_reusability, pool_simulations, revision_scores)
    others = {"judges", board_measures.PROCEDURE, *(each.PROCEDURE for each in on_rankings)}
    assert set(requests.VERSIONS) == {*PROCEDURES, *others}
