"""The judges' board: who is ranked, by what, and who is told apart."""

import numpy as np
import pytest

from leaderboard.scoring.ops.agreements import AgreementPlan, judge_agreement, judges_board
from leaderboard.stats.judges import topic_agreement
from leaderboard.stats.orders.rank_correlation import tau_b
from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.standing import verdicts
from leaderboard.trec.boards.board_files import BoardFile
from tests.make.boards import ERRATIC, GOOD, NAMES, SCORES, file_of, held, reference

PLAN = AgreementPlan()


def test_ranks_are_by_the_boards_and_verdicts_by_topic() -> None:
    """The verdicts are those of any board, of the table of judges by topics."""
    board = judges_board(reference(), [held("good", GOOD), held("bad", -GOOD), held("odd", ERRATIC)], PLAN)
    assert [row.rank for row in board.rows] == [1, 1, 3]
    assert board.rows[-1].agreement.judge == "bad"
    assert board.verdicts is not None
    table = np.vstack([topic_agreement(SCORES, judge) for judge in (GOOD, -GOOD, ERRATIC)])
    expected = verdicts(all_pairs(table, method("t+holm"), seed=1))
    for row in board.rows:
        at = ("good", "bad", "odd").index(row.agreement.judge)
        assert row.place is not None
        assert board.verdicts.rank_low[row.place] == expected.rank_low[at]
        assert board.verdicts.rank_high[row.place] == expected.rank_high[at]
    assert board.topics == 12


def test_orders_that_differ_are_named() -> None:
    """A judge whose errors cancel over topics agrees by its means, not by topic."""
    rough = held("rough", ERRATIC)
    fair = held("fair", GOOD + np.where(np.arange(8) % 2, 0.13, 0.0)[:, None])
    assert rough.boards is not None
    assert fair.boards is not None
    assert (rough.boards.tau_b or 0) > (fair.boards.tau_b or 0)
    assert (rough.topic_mean or 0) < (fair.topic_mean or 0)
    board = judges_board(reference(), [rough, fair], PLAN)
    assert board.differing == (("rough", "fair"),)
    by_topic = judges_board(reference(), [rough, fair], PLAN, "topics")
    assert [row.agreement.judge for row in by_topic.rows] == ["fair", "rough"]
    assert by_topic.differing == ()


def test_a_judge_that_lacks_a_run_has_no_rank() -> None:
    """Its agreement over common runs is there; it takes no part in the verdicts."""
    board = judges_board(reference(), [held("short", GOOD[:7]), held("good", GOOD)], PLAN)
    last = board.rows[-1]
    assert (last.agreement.judge, last.rank, last.place) == ("short", None, None)
    assert last.why == "Unranked: missing runs of the reference: 1."
    assert last.agreement.missing == ("run7",)
    assert last.value == pytest.approx(tau_b(SCORES[:7].mean(axis=1), GOOD[:7].mean(axis=1)))
    assert board.verdicts is None


def test_a_judge_of_two_common_runs_has_nothing() -> None:
    """Not even a coefficient."""
    (row,) = judges_board(reference(), [held("tiny", GOOD[:2])], PLAN).rows
    assert (row.value, row.rank, row.agreement.boards, row.agreement.least) == (None, None, None, None)
    assert row.why == "Not computed: fewer than 3 runs in common."


def test_a_measure_that_was_not_chosen_has_no_rank() -> None:
    """The best and the worst of a file's measures are told, as what they are."""
    file = file_of("many", GOOD, worse=ERRATIC, worst=-SCORES)
    agreement = judge_agreement(file, "", reference(), PLAN)
    assert (agreement.measure, agreement.is_chosen, agreement.measures) == ("M", False, 3)
    assert agreement.best is not None
    assert agreement.worst is not None
    assert (agreement.best.measure, agreement.worst.measure) == ("M", "worst")
    assert agreement.worst.tau_b == pytest.approx(-1)
    (row,) = judges_board(reference(), [agreement], PLAN).rows
    assert (row.rank, row.why) == (None, "Unranked: best of 3 measures (not chosen beforehand).")
    named = judge_agreement(file, "worse", reference(), PLAN)
    assert (named.measure, judges_board(reference(), [named], PLAN).rows[0].rank) == ("worse", 1)


def test_a_judge_that_ties_all_runs_has_no_rank() -> None:
    """τ is undefined there, on each topic and over all."""
    flat = held("flat", np.full(SCORES.shape, 0.5))
    (row,) = judges_board(reference(), [flat], PLAN).rows
    assert (row.rank, row.why) == (None, "Unranked: one of the two boards ties all runs.")
    assert (flat.topic_mean, flat.undefined_topics) == (None, 12)


def test_judges_as_good_share_a_rank() -> None:
    """1, 1, 3; judges of the same rank by name."""
    board = judges_board(reference(), [held("b", GOOD), held("c", -GOOD), held("a", GOOD * 2)], PLAN)
    assert [(row.agreement.judge, row.rank) for row in board.rows] == [("a", 1), ("b", 1), ("c", 3)]


def test_only_totals_give_a_rank_without_verdicts() -> None:
    """No bound, no pairs, no agreement by topic."""
    totals = {name: float(value) for name, value in zip(NAMES, GOOD.mean(axis=1), strict=True)}
    file = BoardFile("bare", "tot", {}, {"M": totals}, (), tuple(NAMES), (), ())
    agreement = judge_agreement(file, "M", reference(), PLAN)
    board = judges_board(reference(), [agreement, held("good", GOOD)], PLAN)
    assert {row.rank for row in board.rows} == {1}
    assert (agreement.least, agreement.decided, agreement.by_topic, agreement.over) == (None,) * 4
    assert board.verdicts is None


def test_as_autojudge_the_top_takes_common_runs() -> None:
    """With `default` a missing run has 0, unless the best k are asked for, as in that tool."""
    zeroed = held("short", GOOD[:7], AgreementPlan(missing="default"))
    assert len(zeroed.runs) == 8
    common = held("short", GOOD[:7], AgreementPlan(missing="default", top=3))
    assert len(common.runs) == 7
