"""What the board claims, checked on simulated boards whose truth is known.

Twenty runs in teams of four on fifty topics. The figures of docs/simulations.md come from

    LEADERBOARD_REPETITIONS=4000 python -m pytest -s tests/stats/test_simulations.py

Every bound leaves room for chance: three standard errors of a share of that number of boards.
"""

import os
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, ndtr

from leaderboard.stats.pairs.anova import anova
from leaderboard.stats.pairs.condensed import pairs, square
from leaderboard.stats.pairs.methods import PairTable, all_pairs, method
from leaderboard.stats.pairs.tukey import studentized_range_sf
from leaderboard.stats.standing import first_places, rank_intervals, verdicts

pytestmark = pytest.mark.trial

REPETITIONS = int(os.environ.get("LEADERBOARD_REPETITIONS", "150"))
RUNS, TOPICS = 20, 50
RULES = ("t+none", "t+bh", "t+holm", "tukey", "verdicts")
Scores = NDArray[np.float64]

EVEN = np.full(RUNS, 0.1)
NOISY = np.where(np.arange(RUNS) % 5 == 0, 0.3, 0.1)
EQUAL = np.zeros(RUNS)
HALF = np.concatenate([np.zeros(RUNS // 2), np.linspace(0.02, 0.2, RUNS // 2)])


def boards(means: Scores, noise: Scores, seed: int, count: int = TOPICS) -> Iterator[Scores]:
    """Score tables with normal effects of topics, of teams on topics and of runs on topics."""
    rng = np.random.default_rng(seed)
    for _ in range(REPETITIONS):
        topics = rng.normal(0, 0.2, count)
        teams = np.repeat(rng.normal(0, 0.06, (RUNS // 4, count)), 4, axis=0)
        yield means[:, None] + topics + teams + rng.normal(0, 1, (RUNS, count)) * noise[:, None]


def skewed_boards(seed: int, count: int = TOPICS) -> Iterator[Scores]:
    """Score tables of equally good runs whose scores are as skewed as average precision: Beta(1, 3)."""
    for normal in boards(EQUAL, EVEN, seed, count):
        yield betaincinv(1, 3, ndtr(normal / (0.2**2 + 0.06**2 + 0.1**2) ** 0.5))


def unlike_boards(topics: int, seed: int) -> Iterator[Scores]:
    """Score tables of equally good runs, mean 0.25, of which every second scores 0 or 1 on a topic."""
    rng = np.random.default_rng(seed)
    for _ in range(REPETITIONS):
        level = ndtr((rng.normal(0, 1, topics) + rng.normal(0, 1, (RUNS, topics))) / 2**0.5)
        scores = betaincinv(1, 3, level)
        scores[::2] = level[::2] > 0.75
        yield scores


def compared(scores: Scores, rule: str) -> PairTable:
    """The pairs of a board by a rule."""
    return all_pairs(scores, method(rule), seed=1)


@cache
def critical_range() -> float:
    """What Tukey's q must exceed at 5 %: looked for once, as a p for every pair of every board takes long."""
    freedom = (RUNS - 1) * (TOPICS - 1)
    chances: float = brentq(lambda q: studentized_range_sf(np.array([q]), RUNS, freedom)[0] - 0.05, 2, 10)
    return chances


def said(scores: Scores, rule: str) -> NDArray[np.float64]:
    """Of every pair: 1 where the first run is said to be better, -1 where the second is, 0 undecided."""
    if rule == "verdicts":
        return verdicts(compared(scores, "t+holm")).signs[pairs(RUNS)].astype(np.float64)
    if rule != "tukey":
        table = compared(scores, rule)
        return np.sign(table.difference) * (table.adjusted < 0.05)
    first, second = pairs(RUNS)
    error = (anova(scores).residual_mean_square / TOPICS) ** 0.5
    difference = scores.mean(axis=1)[first] - scores.mean(axis=1)[second]
    return np.sign(difference) * (np.abs(difference) > critical_range() * error)


def said_of_each(scores: Scores, rule: str) -> NDArray[np.float64]:
    """The same as a matrix: of the row's run against the column's."""
    return square(said(scores, rule), RUNS, mirrored=-1)


def above(rate: float) -> float:
    """A rate and three standard errors."""
    return rate + 3 * (rate * (1 - rate) / REPETITIONS) ** 0.5


@cache
def errors(case: str) -> dict[str, tuple[float, float, float]]:
    """Of every rule: the share of boards with a false finding, false among findings, and power."""
    means, source = {
        "equal": (EQUAL, boards(EQUAL, EVEN, 1)),
        "equal, four noisy": (EQUAL, boards(EQUAL, NOISY, 2)),
        "half equal, four noisy": (HALF, boards(HALF, NOISY, 3)),
        "equal, skewed": (EQUAL, skewed_boards(4)),
    }[case]
    first, second = pairs(RUNS)
    truth = np.sign(means[first] - means[second])
    outcomes: dict[str, list[tuple[float, float, float]]] = {rule: [] for rule in RULES}
    for scores in source:
        for rule in RULES:
            claims = said(scores, rule)
            wrong = np.count_nonzero((claims != 0) & (claims != truth))
            right = np.count_nonzero((claims != 0) & (claims == truth))
            outcomes[rule].append(
                (wrong > 0, wrong / max(1, wrong + right), right / max(1, (truth != 0).sum()))
            )
    rates = {rule: tuple(np.mean(rows, axis=0).tolist()) for rule, rows in outcomes.items()}
    print(f"\n{case}: any false finding, false among findings, power ({REPETITIONS} boards)")
    for rule, (any_false, false_share, power) in rates.items():
        print(f"  {rule:8} {any_false:.3f} {false_share:.3f} {power:.3f}")
    return {rule: (rate[0], rate[1], rate[2]) for rule, rate in rates.items()}


def test_the_critical_range_decides_as_tukeys_p_does() -> None:
    """The short cut of these simulations, checked on one board."""
    scores = next(boards(HALF, NOISY, 8))
    table = compared(scores, "tukey")
    assert said(scores, "tukey").tolist() == (np.sign(table.difference) * (table.adjusted < 0.05)).tolist()


@pytest.mark.parametrize("case", ["equal", "equal, four noisy", "half equal, four noisy", "equal, skewed"])
def test_holm_keeps_the_error_rate_of_the_whole_board(case: str) -> None:
    """At most 5 % of boards with any false finding, also where runs differ in noise or scores are skewed."""
    assert errors(case)["t+holm"][0] <= above(0.05)


def test_uncorrected_tests_find_differences_on_most_boards_without_any() -> None:
    """Why the board corrects for the number of pairs."""
    assert errors("equal")["t+none"][0] > 0.5


@pytest.mark.parametrize("case", ["equal", "equal, four noisy", "half equal, four noisy", "equal, skewed"])
def test_the_verdicts_of_a_board_are_right_all_at_once(case: str) -> None:
    """On 95 % of boards no pair is decided falsely and a truly best run has its dot, or a range from 1."""
    assert errors(case)["verdicts"][0] <= above(0.05)


@pytest.mark.parametrize("case", ["equal", "equal, four noisy", "half equal, four noisy", "equal, skewed"])
def test_benjamini_hochberg_keeps_the_share_of_false_findings(case: str) -> None:
    """At most 5 % of the findings of a board are false, on average."""
    assert errors(case)["t+bh"][1] <= above(0.05)


def test_tukey_keeps_its_rate_only_where_all_runs_are_equally_noisy() -> None:
    """Why Tukey's HSD is not the default: four noisy runs break it, and it finds less than Holm."""
    assert errors("equal")["tukey"][0] <= above(0.05)
    assert errors("equal, four noisy")["tukey"][0] > 0.1
    assert errors("half equal, four noisy")["tukey"][2] < errors("half equal, four noisy")["t+holm"][2]


@pytest.mark.parametrize(("topics", "bound"), [(50, 0.05), (25, 0.1), (10, 0.2)])
def test_few_topics_are_too_few_where_scores_are_unlike(topics: int, bound: float) -> None:
    """The limit of the t test: runs of another kind of score on few topics; from 50 on it hardly matters."""
    rate = np.mean([(compared(board, "t+holm").adjusted < 0.05).any() for board in unlike_boards(topics, 7)])
    print(f"\nequal but unlike, {topics} topics: any false finding {rate:.3f} ({REPETITIONS} boards)")
    assert rate <= above(bound)


@cache
def coverage(spread: float, noisy: bool) -> dict[str, tuple[float, float, float]]:
    """Of every kind of range: how often it holds a run's rank, how often all of them, and its mean width.

    Of dots: how often the best run is not left out, how often there are any, and their mean number.
    """
    means, noise = np.linspace(spread, 0, RUNS), NOISY if noisy else EVEN
    ranks = np.arange(1, RUNS + 1)
    outcomes: dict[str, list[tuple[float, float, float]]] = {}
    for board, scores in enumerate(boards(means, noise, 5)):
        own = rank_intervals(scores)
        places = first_places(scores, seed=board, resamples=1000)
        board_says, plain = verdicts(compared(scores, "t+holm")), said_of_each(scores, "t+none")
        ranges = {
            "verdicts": (board_says.rank_low, board_says.rank_high),
            "unadjusted": (1 + (plain < 0).sum(axis=1), RUNS - (plain > 0).sum(axis=1)),
            "one run": (own.low, own.high),
            "all runs": (own.all_low, own.all_high),
            "bootstrap": (places.low, places.high),
        }
        for name, (low, high) in ranges.items():
            holds = (low <= ranks) & (ranks <= high)
            outcomes.setdefault(name, []).append((holds.mean(), holds.all(), (high - low + 1).mean()))
        stays = board_says.may_be_best
        holds = stays[0] or board_says.too_few
        outcomes.setdefault("dots", []).append((holds, not board_says.too_few, stays.sum()))
    rates = {name: np.mean(rows, axis=0).tolist() for name, rows in outcomes.items()}
    case = f"spread {spread}{', four noisy' if noisy else ''}"
    print(f"\n{case}: a rank held, all held, width ({REPETITIONS} boards)")
    for name, (one_run, every, width) in rates.items():
        print(f"  {name:10} {one_run:.3f} {every:.3f} {width:.1f}")
    return {name: (one_run, every, width) for name, (one_run, every, width) in rates.items()}


TRUTHS = [(0.01, False), (0.1, False), (0.4, False), (0.1, True)]


@pytest.mark.parametrize(("spread", "noisy"), TRUTHS)
def test_rank_ranges_hold_the_true_ranks(spread: float, noisy: bool) -> None:
    """The verdicts' ranges and the simultaneous intervals all at once, the others one by one."""
    rates = coverage(spread, noisy)
    assert 1 - rates["verdicts"][1] <= above(0.05)
    assert 1 - rates["all runs"][1] <= above(0.05)
    assert 1 - rates["one run"][0] <= above(0.05)
    assert rates["one run"][2] <= rates["all runs"][2]


@pytest.mark.parametrize("topics", [5, 10, 25, 50])
@pytest.mark.parametrize("kind", ["equal", "equal, four noisy", "equal, skewed", "nearly equal"])
def test_rank_intervals_hold_what_they_promise_with_few_topics(kind: str, topics: int) -> None:
    """Of equally good runs each may have any rank; of nearly equal ones the best is the first."""
    source = {
        "equal": boards(EQUAL, EVEN, 9, topics),
        "equal, four noisy": boards(EQUAL, NOISY, 10, topics),
        "equal, skewed": skewed_boards(11, topics),
        "nearly equal": boards(np.linspace(0.01, 0, RUNS), EVEN, 12, topics),
    }[kind]
    held = []
    for scores in source:
        ranks = rank_intervals(scores)
        whole = (ranks.low == 1) & (ranks.high == RUNS)
        everyone = (ranks.all_low == 1) & (ranks.all_high == RUNS)
        held.append((ranks.low[0] == 1 if kind == "nearly equal" else whole.mean(), everyone.all()))
    own, every = np.mean(held, axis=0).tolist()
    print(f"\n{kind}, {topics} topics: a rank held {own:.3f}, all held {every:.3f} ({REPETITIONS} boards)")
    assert 1 - own <= above(0.05)
    assert 1 - every <= above(0.05)


@pytest.mark.parametrize(("spread", "noisy"), TRUTHS)
def test_the_dots_hold_the_best_run(spread: float, noisy: bool) -> None:
    """On 95 % of boards at least, however close the others are; one of too few topics leaves nobody out."""
    held, named, _ = coverage(spread, noisy)["dots"]
    assert 1 - held <= above(0.05)
    assert named == 1 or spread < 0.4


def test_the_dots_hold_the_best_run_where_all_are_equally_good() -> None:
    """The hardest case: any run may be called the best, and boards with dots may leave none out too often."""
    found = [verdicts(compared(scores, "t+holm")) for scores in boards(EQUAL, NOISY, 6)]
    left = np.mean([~board.may_be_best & (not board.too_few) for board in found], axis=0)
    print(f"\nequal, four noisy: a run has no dot in at most {left.max():.3f} ({REPETITIONS} boards)")
    assert left.max() <= above(0.05)


def test_bootstrapped_ranks_are_no_interval_where_runs_are_close() -> None:
    """Why they are only shown as what resampled topics would say."""
    assert coverage(0.01, False)["bootstrap"][0] < 0.9
    assert coverage(0.01, False)["bootstrap"][1] < 0.5
