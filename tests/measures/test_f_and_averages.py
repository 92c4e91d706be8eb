"""F in its forms, Dice, averages over topics, and search length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.measures.richer_examples import judged

RANKINGS = st.lists(st.booleans(), max_size=20)
MISSED = st.integers(0, 10)
BETAS = st.sampled_from(["0.5", "1", "2", "3"])


def run_of(relevant: list[bool], missed: int = 0) -> Judged:
    """A ranking with a relevant document at each true place, and this number missed."""
    hits = {rank: int(is_relevant) for rank, is_relevant in enumerate(relevant, start=1)}
    return judged(hits, missed=[1] * missed)


def score(name: str, relevant: list[bool], missed: int = 0) -> float:
    """The measure's score of one ranking."""
    return float(parse(name).compute(run_of(relevant, missed))[0])


def counts(*topics: tuple[int, int, int]) -> Judged:
    """A run with these numbers of documents found, retrieved and relevant for each topic."""
    hits_of, retrieved, relevant = np.array(topics, dtype=np.int64).T
    starts = np.concatenate(([0], np.cumsum(relevant)))
    judgments = Judgments(tuple(map(str, range(len(hits_of)))), np.ones(starts[-1], dtype=np.int64), starts)
    topic = np.repeat(np.arange(len(hits_of)), hits_of)
    rank = np.concatenate([np.arange(1, number + 1) for number in hits_of.tolist()])
    return Judged(judgments, topic, rank, starts[topic] + rank - 1, retrieved)


def total(name: str, run: Judged) -> float:
    """The one number of a measure for all topics."""
    measure = parse(name)
    return measure.aggregate(measure.compute(run), measure.parts(run))


@given(RANKINGS, MISSED, BETAS)
def test_f_of_the_whole_ranking_is_set_f(relevant: list[bool], missed: int, beta: str) -> None:
    """By beta at the last rank, by alpha = 1/(1 + beta²), and Dice for beta 1: one number."""
    expected = pytest.approx(score(f"SetF(beta={beta})", relevant, missed), abs=1e-12)
    if relevant:
        assert score(f"F(beta={beta})@{len(relevant)}", relevant, missed) == expected
    alpha = 1.0 / (1.0 + float(beta) ** 2)
    assert score(f"FAlpha(alpha={alpha!r})", relevant, missed) == expected
    if beta == "1":
        assert score("SetDice", relevant, missed) == expected


@given(RANKINGS, MISSED, st.integers(1, 25), BETAS)
def test_f_at_a_cutoff_is_made_of_p_and_r(relevant: list[bool], missed: int, cutoff: int, beta: str) -> None:
    """F@k is the weighted harmonic mean of P@k and R@k, also beyond the end of a ranking."""
    p, r = (score(f"{name}@{cutoff}", relevant, missed) for name in ("P", "R"))
    x = float(beta) ** 2
    expected = (x + 1) * p * r / (r + x * p) if p else 0.0
    assert score(f"F(beta={beta})@{cutoff}", relevant, missed) == pytest.approx(expected, abs=1e-12)
    alpha = 1.0 / (1.0 + x)
    assert score(f"FAlpha(alpha={alpha!r})@{cutoff}", relevant, missed) == pytest.approx(expected, abs=1e-12)


def test_the_ends_of_alpha_are_precision_and_recall() -> None:
    """alpha 1 leaves precision alone, alpha 0 recall."""
    assert score("FAlpha(alpha=1)", [True, False], 3) == 0.5
    assert score("FAlpha(alpha=0)", [True, False], 3) == 0.25


@given(RANKINGS, MISSED, BETAS)
def test_the_best_f_is_the_largest_of_all_ranks(relevant: list[bool], missed: int, beta: str) -> None:
    """Trying every cut-off finds the same value, first at the rank BestFRank names."""
    by_rank = [score(f"F(beta={beta})@{rank}", relevant, missed) for rank in range(1, len(relevant) + 1)]
    best = max(by_rank, default=0.0)
    assert score(f"BestF(beta={beta})", relevant, missed) == best
    rank = by_rank.index(best) + 1 if best else 0
    assert score(f"BestFRank(beta={beta})", relevant, missed) == rank


def test_equal_best_fs_take_the_first_rank() -> None:
    """One of two relevant documents at rank 1, the other at rank 4: F is 2/3 at both."""
    assert score("BestFRank", [True, False, False, True]) == 1.0
    assert score("BestF", [True, False, False, True]) == 2 / 3


def test_micro_averages_pool_the_counts() -> None:
    """3 of 10, 4 of 5 and 1 of 20 retrieved are relevant, of 4, 10 and 2: 8/35, 8/16, 16/51."""
    run = counts((3, 10, 4), (4, 5, 10), (1, 20, 2))
    assert total("MicroP", run) == 8 / 35
    assert total("MicroR", run) == 0.5
    assert total("MicroF", run) == 16 / 51
    assert total("MicroF(beta=2)", run) == 40 / (4 * 16 + 35)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=5))
def test_averages_are_what_their_names_say(draws: list[tuple[int, int, int]]) -> None:
    """MicroF is F of MicroP and MicroR, FOfMeans of the means; single topics score SetP, SetR, SetF."""
    run = counts(*((hits, hits + wrong, hits + missed) for hits, wrong, missed in draws))
    for micro, macro in (("MicroP", "SetP"), ("MicroR", "SetR"), ("MicroF", "SetF"), ("FOfMeans", "SetF")):
        ours = parse(micro).compute(run)
        assert ours == pytest.approx(parse(macro).compute(run), abs=1e-12), micro
    for name, p, r in (("MicroF", "MicroP", "MicroR"), ("FOfMeans", "SetP", "SetR")):
        precision, recall = total(p, run), total(r, run)
        expected = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        assert total(name, run) == pytest.approx(expected, abs=1e-12), name


def test_f_of_means_is_not_the_mean_of_f() -> None:
    """A topic of full precision and one of full recall: F of 0.55 and 0.55, but a mean F of 2/11."""
    run = counts((1, 1, 10), (1, 10, 1))
    assert total("FOfMeans", run) == pytest.approx(0.55, abs=1e-12)
    assert total("SetF", run) == pytest.approx(2 / 11, abs=1e-12)
    uneven = counts((1, 2, 1), (1, 2, 1))
    assert total("FOfMeans(beta=2)", uneven) == pytest.approx(5 * 0.5 / (1 + 4 * 0.5), abs=1e-12)


def test_search_lengths_count_to_the_first_relevant_document() -> None:
    """Its rank, or the documents passed before it; unjudged ones are passed too."""
    run = judged({2: 0, 4: 1, 5: 1})
    assert parse("SearchLength").compute(run).tolist() == [4.0]
    assert parse("SearchLengthCooper").compute(run).tolist() == [3.0]
    assert parse("SearchLength(judged_only=True)").compute(run).tolist() == [2.0]


@pytest.mark.parametrize(("name", "none"), [("SearchLength", 11.0), ("SearchLengthCooper", 10.0)])
def test_finding_nothing_is_as_long_as_the_cutoff_allows(name: str, none: float) -> None:
    """A short ranking without a relevant document is no better than a long one."""
    assert parse(f"{name}@10").compute(judged({}, missed=[1], retrieved=0)).tolist() == [none]
    assert parse(f"{name}@10").compute(judged({11: 1})).tolist() == [none]
    assert parse(f"{name}@10").compute(judged({10: 1})).tolist() == [none - 1.0]
    assert parse(name).compute(judged({11: 1})).tolist() == [none]
    assert parse(name).measure.direction == "lower"
