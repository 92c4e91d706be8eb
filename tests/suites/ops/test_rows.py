"""What is said of a suite's runs by the rows' own arithmetic, without a site."""

import numpy as np
import pytest
from scipy.stats import nct, t

from leaderboard.measures.naming import parse
from leaderboard.stats.standing import topics_to_decide
from leaderboard.stats.suites import Drawn
from leaderboard.suites.ops.rows import SuiteBoardRequest, remarks, suite_board, too_few
from leaderboard.suites.page import pair_table
from leaderboard.trec.suites import Member, Suite, SuiteRun, SuiteScores

SIZES = {"one": 12, "two": 9, "three": 15, "four": 10}


def _scores(gap: float, sizes: dict[str, int] = SIZES) -> SuiteScores:
    """Three runs on members of these sizes, whose means lie this far apart."""
    random = np.random.default_rng(11)
    runs = tuple(
        SuiteRun(
            f"run-{at}", {name: 0.3 * random.random(size) + gap * at for name, size in sizes.items()}, ()
        )
        for at in range(3)
    )
    suite = Suite(
        name="s",
        members=tuple(Member(name, None, "AP", {}) for name in sizes),
        reference="",
        baseline="",
        macro="",
        shared_topics=False,
        missing_is_empty=False,
        metadata_is_required=False,
    )
    topics = {name: tuple(map(str, range(size))) for name, size in sizes.items()}
    return SuiteScores(
        suite=suite, runs=runs, measures={name: parse("AP") for name in sizes}, topics=topics, notes=()
    )


@pytest.mark.parametrize(("drawn", "units"), [("topics", "46 topics"), ("members", "4 members")])
def test_too_few_topics_or_members_say_how_many_would_do(drawn: Drawn, units: str) -> None:
    """The fewest of what is drawn anew that tell the first and last apart, with 80% power."""
    of = suite_board(_scores(0.01), SuiteBoardRequest(drawn=drawn))
    sentence = too_few(of)
    start, _, end = sentence.partition("; about ")
    assert start == f"{units} are too few to order these 3 runs"
    assert next(iter(remarks(of))) == sentence
    needed = int(end.split()[0])
    pairs = of.board.pairs
    assert pairs is not None
    at = int(np.abs(pairs.table.difference).argmax())
    # The spread of one topic or member, from the error of the mean of all of them.
    spread = pairs.error[at] * np.sqrt(pairs.units)
    if drawn == "topics":
        spread *= t.isf(0.025, pairs.freedom[at]) / t.isf(0.025, pairs.units - 1)
    effect, level = abs(pairs.table.difference[at]) / spread, 0.025 / 3
    powers = [
        nct.sf(t.isf(level / 2, count - 1), count - 1, effect * np.sqrt(count))
        for count in (needed - 1, needed)
    ]
    assert powers[0] < 0.8 <= powers[1]


def test_a_suite_that_orders_its_runs_says_no_such_thing() -> None:
    """Nor does one that cannot tell how far topics of a member spread say that more would not help."""
    assert too_few(suite_board(_scores(0.2), SuiteBoardRequest())) == ""
    single = suite_board(_scores(0.2, {"one": 12, "two": 1}), SuiteBoardRequest())
    assert (
        too_few(single)
        == "A member with a single topic has no variance, so these 3 runs cannot be ranked with confidence."
    )


@pytest.mark.parametrize(("drawn", "noun"), [("topics", "topic"), ("members", "member")])
def test_each_undecided_pair_says_how_many_would_decide_it(drawn: Drawn, noun: str) -> None:
    """As the sentence on the first and the last does; a decided pair says nothing."""
    of = suite_board(_scores(0.01), SuiteBoardRequest(drawn=drawn))
    table, said = of.board.pairs and of.board.pairs.table, of.board.verdicts
    assert table is not None
    assert said is not None
    assert of.board.pairs is not None
    expected = [topics_to_decide(table, said, of.board.pairs.units, at) for at in range(3)]
    rows = pair_table(of).facts()
    assert sorted(str(row[f"{noun}s_needed"]) for row in rows) == sorted(map(str, expected))
    widest = max(rows, key=lambda row: abs(row["difference"]))
    assert f"about {widest[f'{noun}s_needed']:,} would be needed" in too_few(of)
    apart = pair_table(suite_board(_scores(0.2), SuiteBoardRequest())).facts()
    assert [(bool(row["better"]), row["topics_needed"]) for row in apart] == [(True, None)] * 3
