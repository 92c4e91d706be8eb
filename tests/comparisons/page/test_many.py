"""Several runs compared under one correction: numbers, letters, baseline, overlaps, jobs, refusals."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_rel
from sqlalchemy import event, select

from leaderboard.comparisons.page import many, many_tables
from leaderboard.comparisons.page.many import Choice, ManyComparison, many_comparison
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.errors import Conflict, Invalid, LeaderboardError, NotFound, UnknownMeasure
from leaderboard.runs.ops import withdrawals
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.procedures import ranking_overlaps
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.stats.orders.rbo import rbo
from leaderboard.stats.pairs.corrections import holm
from leaderboard.stats.reliability import topics_needed
from leaderboard.tables.latex import latex_text
from leaderboard.trec.qrels.left_out import LeftOut
from tests.make import build
from tests.make.copies import built_once

TOPICS = tuple(str(number) for number in range(1, 11))
JUDGMENTS = {topic: {f"r{topic}": 1, f"n{topic}": 0} for topic in TOPICS}
RANKS = {
    "weak": (9, 8, 9, 7, 9, 9, 8, 9, 9, 9),
    "strong": (1, 1, 1, 2, 1, 1, 1, 1, 1, 1),
    "middle": (2, 2, 3, 2, 2, 1, 2, 3, 2, 2),
    "alike": (1, 1, 2, 1, 1, 1, 1, 1, 1, 2),
}
"""Run -> the rank of each topic's one relevant document."""
BEST_FIRST = ("strong", "alike", "middle", "weak")
MOST_STATEMENTS = 12


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def ranking(topic: str, rank: int) -> list[str]:
    """A ranking that has the topic's relevant document at a rank."""
    return [*(f"x{place}" for place in range(1, rank)), f"r{topic}", *(f"y{place}" for place in range(9))]


@built_once
def fill(
    database: Database, folder: Path, ranks: Mapping[str, Sequence[int]] = RANKS, **options: object
) -> dict[str, int]:
    """A scored task whose runs have their relevant documents at these ranks; run -> id."""
    topics = TOPICS[: len(next(iter(ranks.values())))]
    judgments = {topic: JUDGMENTS[topic] for topic in topics}
    options = {"measures": ("RR", "NumRet", "P@5"), "primary": "RR", **options}
    build.task(database, folder, judgments=judgments, topics=topics, **options)  # type: ignore[arg-type]
    ids = {}
    for name, places in ranks.items():
        rankings = {topic: ranking(topic, rank) for topic, rank in zip(topics, places, strict=True)}
        ids[name] = build.run(database, folder, rankings, name)
    build.drain(database)
    return ids


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> dict[str, int]:
    """Four runs on ten topics; run -> id."""
    return fill(database, tmp_path)


def compared(
    database: Database,
    run_ids: Sequence[int],
    viewer: Viewer = ANONYMOUS,
    measure: str | None = None,
    **choice: object,
) -> ManyComparison:
    """The comparison as a viewer sees it."""
    with database.read() as session:
        return many_comparison(session, viewer, "t", Choice(tuple(run_ids), measure, **choice))  # type: ignore[arg-type]


def rr(name: str) -> np.ndarray:
    """A run's scores by RR."""
    return 1 / np.array(RANKS[name])


def test_every_pair_is_scipys_under_holm(database: Database, filled: dict[str, int]) -> None:
    """Differences, intervals and p of all six pairs, best run first, adjusted over six."""
    found = compared(database, list(filled.values()))
    assert tuple(each.run.name for each in found.runs) == BEST_FIRST
    assert [each.mean for each in found.runs] == pytest.approx([rr(name).mean() for name in BEST_FIRST])
    tests = [ttest_rel(rr(one), rr(two)) for one, two in combinations(BEST_FIRST, 2)]
    adjusted = holm(np.array([test.pvalue for test in tests]))
    for pair, test, p in zip(found.pairs, tests, adjusted, strict=True):
        one, two = BEST_FIRST[pair.first], BEST_FIRST[pair.second]
        difference = rr(one) - rr(two)
        assert pair.difference == pytest.approx(difference.mean(), abs=1e-12)
        assert pair.p == pytest.approx(test.pvalue, abs=1e-12)
        assert pair.adjusted == pytest.approx(p, abs=1e-12)
        assert (pair.low, pair.high) == pytest.approx(tuple(test.confidence_interval()), abs=1e-12)
        assert pair.effect == pytest.approx(difference.mean() / difference.std(ddof=1), rel=1e-9)
        assert pair.verdict == (p < 0.05)


def test_undecided_pairs_say_how_many_topics_would_decide_them(
    database: Database, filled: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fewest with 80% power at the level that Holm leaves, however many runs; none for decided pairs."""
    monkeypatch.setattr(many, "NUMBERS_UP_TO", 3)
    found = compared(database, list(filled.values()))
    undecided = [pair for pair in found.pairs if not pair.verdict]
    assert 0 < len(undecided) < len(found.pairs)
    level = 0.025 / len(undecided)
    for pair in undecided:
        difference = rr(BEST_FIRST[pair.first]) - rr(BEST_FIRST[pair.second])
        effect = abs(difference.mean() / difference.std(ddof=1))
        assert pair.needed is not None
        powers = [
            nct.sf(t.isf(level / 2, topics - 1), topics - 1, effect * np.sqrt(topics))
            for topics in (pair.needed - 1, pair.needed)
        ]
        assert powers[0] < 0.8 <= powers[1]
    assert all(pair.needed is None for pair in found.pairs if pair.verdict)
    needed = [row["topics_needed"] for row in many_tables.facts(found)["pairs"]]
    assert needed == [pair.needed for pair in found.pairs]


def test_runs_undecided_against_a_baseline_say_how_many_topics_would_decide_them(
    database: Database, filled: dict[str, int]
) -> None:
    """At the level over the runs with it that are open, which is less strict than that over all pairs."""
    found = compared(database, list(filled.values()), baseline=filled["alike"])
    against = {row.run.name: row.against for row in found.runs}
    rows = {row["run"]: row for row in many_tables.runs(found).facts()}
    (open_run,) = (name for name, of in against.items() if of and not of.verdict)
    assert open_run == "strong"
    difference = rr("strong") - rr("alike")
    needed = topics_needed(difference.mean(), difference.std(ddof=1), alpha=0.025)
    assert {name: row["topics_needed"] for name, row in rows.items()} == {
        "strong": needed,
        "alike": None,
        "middle": None,
        "weak": None,
    }
    facts = many_tables.facts(found)["runs"]
    assert [row["against_baseline"]["topics_needed"] for row in facts if row["run"] == "strong"] == [needed]
    (column,) = (one for one in many_tables.runs(found).columns if one.key == "topics_needed")
    words = {row.run.name: column.words(row) for row in found.runs if column.words is not None}
    assert words == {"strong": f"about {needed} topics", "alike": None, "middle": None, "weak": None}


def test_letters_and_verdicts_say_the_same(database: Database, filled: dict[str, int]) -> None:
    """Two runs share a letter exactly when the matrix has them undecided, seen from either of them."""
    found = compared(database, list(filled.values()))
    assert found.has_letters
    for one, two in combinations(range(4), 2):
        shared = set(found.runs[one].letters) & set(found.runs[two].letters)
        assert bool(shared) == (found.verdicts[one][two] == 0)
        assert found.verdicts[one][two] == -found.verdicts[two][one]


def test_a_subset_is_corrected_for_its_own_pairs(database: Database, filled: dict[str, int]) -> None:
    """Two runs are one pair: no correction is left, and it is said in words."""
    found = compared(database, [filled["strong"], filled["middle"]])
    (pair,) = found.pairs
    assert pair.adjusted == pair.p
    assert found.remarks == ("The two runs are significantly different (paired t, Holm, 2.5%).",)


def test_a_baseline_is_added_and_has_its_own_correction(database: Database, filled: dict[str, int]) -> None:
    """Against a baseline p are adjusted over the other runs; it need not be among the runs asked for."""
    found = compared(
        database, [filled["strong"], filled["alike"]], baseline=filled["middle"], method="t+bonferroni"
    )
    assert found.baseline == 2
    assert found.runs[2].against is None
    for place, name in enumerate(("strong", "alike")):
        against = found.runs[place].against
        assert against is not None
        p = ttest_rel(rr(name), rr("middle")).pvalue
        assert against.adjusted == pytest.approx(min(1, 2 * p), abs=1e-12)
        assert against.pair.difference == pytest.approx((rr(name) - rr("middle")).mean(), abs=1e-12)
        assert against.verdict == 1
    assert found.remarks[0].startswith(
        "Of the other 2 runs, 2 are significantly better than middle and 0 are significantly worse"
    )


def test_a_run_below_the_baseline_is_seen_from_its_own_side(
    database: Database, filled: dict[str, int]
) -> None:
    """A worse run has a negative difference with its interval's ends in order."""
    found = compared(database, list(filled.values()), baseline=filled["strong"])
    against = found.runs[3].against
    assert against is not None
    assert against.verdict == -1
    assert against.pair.low is not None
    assert against.pair.high is not None
    assert against.pair.low < against.pair.difference < against.pair.high < 0


def test_overlaps_are_the_mean_of_each_topics(database: Database, filled: dict[str, int]) -> None:
    """Each pair's overlap is the mean of what rbo gives for the two rankings of every topic."""
    found = compared(database, list(filled.values()))
    for pair in found.pairs:
        one, two = BEST_FIRST[pair.first], BEST_FIRST[pair.second]
        rows = zip(TOPICS, RANKS[one], RANKS[two], strict=True)
        expected = [rbo(ranking(topic, a), ranking(topic, b), 0.9).ext for topic, a, b in rows]
        assert pair.overlap == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.parametrize("kept", [1, 128])
@pytest.mark.dialect
def test_rankings_are_read_whatever_stays_in_memory(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """Blocks are read again where they were dropped; a topic that a run misses is empty there."""
    monkeypatch.setattr(ranking_overlaps, "BLOCKS_KEPT", kept)
    build.task(database, tmp_path, judgments=JUDGMENTS, topics=TOPICS)
    first = build.run(database, tmp_path, {"1": ["a", "b", "c"], "2": ["d"]}, "one")
    second = build.run(database, tmp_path, {"3": ["x"], "1": ["b", "a"]}, "two")
    source = Source(1, 1, "", 10, "all", ("3", "1", "2", "4"), (0, 1, 2, 3))
    with database.read() as session:
        stored = ranking_overlaps.StoredRankings(session, [first, second], source, 2)
        assert len(stored) == 4
        rows = {tuple(map(tuple, each.tolist())) for each in stored}
    none = (-1, -1)
    assert rows == {((0, 1), (1, 0)), ((0, -1), none), (none, (0, -1)), (none, none)}
    gone = LeftOut({"1": frozenset({b"b"}), "2": frozenset({b"d"})})
    made = build.revise(database, tmp_path, {"1": {"a": 1}}, left_out=gone)
    with database.read() as session:
        leaving = replace(source, revision_id=made.id, leaves_out=True)
        stored = ranking_overlaps.StoredRankings(session, [first, second], leaving, 2)
        rows = {tuple(map(tuple, each.tolist())) for each in stored}
    assert rows == {((0, 1), (0, -1)), (none, (0, -1)), (none, none)}


def test_lower_can_be_better(database: Database, tmp_path: Path) -> None:
    """By a measure of which lower is better the lowest mean comes first and is better."""
    ids = fill(database, tmp_path, measures=("RR", "SearchLength"))
    found = compared(database, list(ids.values()), measure="SearchLength")
    assert tuple(each.run.name for each in found.runs) == BEST_FIRST
    pair = found.pairs[2]
    difference = np.array(RANKS["strong"]) - np.array(RANKS["weak"])
    assert (pair.first, pair.second, pair.verdict) == (0, 3, 1)
    assert pair.difference == pytest.approx(difference.mean())
    expected = ttest_rel(RANKS["strong"], RANKS["weak"]).confidence_interval()
    assert (pair.low, pair.high) == pytest.approx(tuple(expected))
    assert pair.effect == pytest.approx(-difference.mean() / difference.std(ddof=1))


@pytest.mark.parametrize(
    "key", ["wilcoxon+bh", "sign+bonferroni", "tukey", "randomised_tukey", "randomisation+holm"]
)
def test_every_method_can_be_chosen(database: Database, filled: dict[str, int], key: str) -> None:
    """The method asked for is the one used, and no p of a resampling is 0."""
    found = compared(database, list(filled.values()), method=key)
    assert found.method.key == key
    assert len(found.pairs) == 6
    assert all(0 < pair.adjusted <= 1 for pair in found.pairs)


def test_the_tasks_own_method_is_the_default(database: Database, filled: dict[str, int]) -> None:
    """Without a choice the task's method is used."""
    assert compared(database, list(filled.values())).method.key == "t+holm"


def test_identical_runs_are_named(database: Database, tmp_path: Path) -> None:
    """Runs with the same scores have p 1 and a sentence; a constant difference has p 0 and one."""
    ids = fill(database, tmp_path, {"a": (1, 1, 1), "b": (1, 1, 1), "c": (2, 2, 2)})
    found = compared(database, list(ids.values()))
    said = " ".join(found.remarks)
    assert "The same score on every topic: a and b." in said
    assert "The same difference on every topic: a and c; b and c." in said
    assert [(pair.p, pair.effect) for pair in found.pairs] == [(1, 0), (0, None), (0, None)]


def test_one_topic_has_no_intervals(database: Database, tmp_path: Path) -> None:
    """With one topic nothing is told apart, and what is undefined is None."""
    ids = fill(database, tmp_path, {"a": (1,), "b": (2,)})
    found = compared(database, list(ids.values()), baseline=ids["b"])
    assert found.remarks == (
        "With one topic no significance test is possible, and a difference has no confidence interval.",
    )
    assert (found.pairs[0].low, found.pairs[0].high, found.pairs[0].effect) == (None, None, None)
    assert not found.reachable
    assert not found.has_letters
    assert many_tables.facts(found)["pairs"][0]["interval"] == [None, None]


def test_a_test_that_can_find_nothing_says_so(database: Database, filled: dict[str, int]) -> None:
    """Where too few topics are left for a test, a sentence offers the paired t test."""
    ids = [filled[name] for name in ("strong", "alike")]
    found = compared(database, ids, method="sign+holm")
    assert not found.reachable
    assert "cannot find any pair significantly different here" in found.remarks[0]
    assert not found.has_letters


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (Invalid, "at least two runs", {"run_ids": ["strong"]}),
        (Invalid, "cannot be compared by 'nonsense'", {"method": "nonsense"}),
        (Invalid, "cannot be compared by 't\\+none'", {"method": "t+none"}),
        (NotFound, "no run 999999", {"baseline": 999999}),
        (UnknownMeasure, "has no direction", {"measure": "NumRet"}),
        (UnknownMeasure, "not on this board", {"measure": "nDCG@10"}),
        (NotFound, "no edition 7", {"edition": 7}),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(
    database: Database,
    filled: dict[str, int],
    error: type[LeaderboardError],
    message: str,
    options: dict[str, object],
) -> None:
    """One run, an unknown method, run, measure or edition each end in a sentence."""
    given = dict(options)
    names = given.pop("run_ids", list(filled))
    with pytest.raises(error, match=message):
        compared(database, [filled[name] for name in names], **given)  # type: ignore[attr-defined]


def test_too_many_runs_are_refused(
    database: Database, filled: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More runs than anybody reads are refused before anything is computed."""
    monkeypatch.setattr(many, "MOST_RUNS", 3)
    with pytest.raises(Invalid, match="At most 3 runs"):
        compared(database, list(filled.values()))


def test_a_withdrawn_run_is_not_compared(database: Database, filled: dict[str, int]) -> None:
    """A run that was withdrawn is as good as none."""
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, filled["weak"], "a mistake")
    with pytest.raises(NotFound, match="no run"):
        compared(database, list(filled.values()))


def test_held_back_scores_are_not_compared(database: Database, tmp_path: Path) -> None:
    """While a task is blind nobody but its organisers compares runs."""
    ids = fill(database, tmp_path, visibility="blind")
    with pytest.raises(NotFound):
        compared(database, list(ids.values()))
    assert len(compared(database, list(ids.values()), OPERATOR).pairs) == 6


@pytest.mark.dialect
def test_what_takes_long_is_a_job(
    database: Database, filled: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is computed on the page; asked for, a job computes just what the page would have."""
    at_once = compared(database, list(filled.values()), method="randomised_tukey")
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    monkeypatch.setattr(requests, "AT_ONCE_S", -1.0)
    found = compared(database, list(filled.values()), method="randomised_tukey")
    assert [each.request.procedure for each in found.waiting] == ["pairs", "overlaps"]
    assert (found.state, found.pairs, found.runs[0].letters) == ("absent", (), "")
    assert many_tables.facts(found)["state"] == "absent"
    with pytest.raises(Conflict, match="not computed yet"):
        many_tables.pairs(found)
    with database.write() as session:
        for each in found.waiting:
            requests.have_computed(session, each.request)
            requests.have_computed(session, each.request)
    with database.read() as session:
        assert len(session.scalars(select(Job.id).where(Job.kind == "compare")).all()) == 2
        assert compared(database, list(filled.values()), method="randomised_tukey").state == "queued"
    build.drain(database)
    done = compared(database, list(filled.values()), method="randomised_tukey")
    assert done.waiting == ()
    assert done.pairs == at_once.pairs


def test_the_files_hold_what_the_page_shows(database: Database, filled: dict[str, int]) -> None:
    """JSON and CSV name the better run of every pair told apart; LaTeX has a row a run."""
    found = compared(database, list(filled.values()))
    facts = many_tables.facts(found)
    assert [run["run"] for run in facts["runs"]] == list(BEST_FIRST)
    header, rows = many_tables.pairs(found).data()
    assert len(rows) == len(facts["pairs"]) == 6
    for row, pair in zip(rows, facts["pairs"], strict=True):
        line = dict(zip(header, row, strict=True))
        assert (line["a"], line["low"], line["better"]) == (pair["a"], pair["interval"][0], pair["better"])
        assert pair["better"] in (None, pair["a"])
    with database.read() as session:
        table = many_tables.means(session, ANONYMOUS, "t", Choice(tuple(filled.values())), ["RR", "P@5"])
    text = latex_text(table)
    assert [text.index(name) for name in BEST_FIRST] == sorted(text.index(name) for name in BEST_FIRST)
    for part in ("RR (version 1)", "P@5 (version 1)", "10 topics", "qrels revision 1", "paired t, Holm"):
        assert part in text


def test_statements_do_not_grow_with_the_runs(database: Database, filled: dict[str, int]) -> None:
    """Two runs and four take the same number of statements."""
    counts = []
    for chosen in (list(filled.values())[:2], list(filled.values())):
        seen: list[str] = []

        def note(*given: object, seen: list[str] = seen) -> None:
            seen.append(str(given[2]))

        event.listen(database.engine, "before_cursor_execute", note)
        compared(database, chosen)
        event.remove(database.engine, "before_cursor_execute", note)
        counts.append(sum(text.startswith("SELECT") for text in seen))
    assert counts[0] == counts[1] <= MOST_STATEMENTS
