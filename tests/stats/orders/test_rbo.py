"""Rank-biased overlap: worked and published numbers, closed forms, bounds, ties."""

import re
from collections.abc import Sequence
from itertools import chain, pairwise, permutations, product
from math import log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.stats.orders.rbo import Rbo, Ties, rbo, rbo_with_ties, tie_groups, weight_of_top

DOCUMENTS = "abcdefghijklmnop"
PERSISTENCE = st.floats(0.05, 0.98)


@st.composite
def rankings(draw: st.DrawFn, least: int = 0) -> str:
    """A ranking of some of the documents."""
    order = draw(st.permutations(DOCUMENTS))
    return "".join(order[: draw(st.integers(least, 12))])


@st.composite
def tied_pairs(draw: st.DrawFn, longest: int = 12) -> tuple[list[str], list[str]]:
    """Two rankings of one length with ties, as groups."""
    length = draw(st.integers(1, longest))
    pair = []
    for _ in range(2):
        ranking = "".join(draw(st.permutations(DOCUMENTS))[:length])
        cuts = sorted(draw(st.sets(st.integers(1, length))) | {0, length})
        pair.append([ranking[start:end] for start, end in pairwise(cuts)])
    return pair[0], pair[1]


def groups(text: str) -> list[list[str]]:
    """Groups of tied documents written as `red (blue green)`."""
    return [tied.split() or [alone] for tied, alone in re.findall(r"\(([^)]*)\)|(\S+)", text)]


def overlaps(one: Sequence[str], two: Sequence[str], depth: int) -> list[int]:
    """How many documents the top d share, for d from 0 to depth."""
    return [len(set(one[:d]) & set(two[:d])) for d in range(depth + 1)]


def closed_form(one: str, two: str, p: float) -> Rbo:
    """Webber, Moffat and Zobel's sums, for lists of any length without ties."""
    shorter, longer = sorted((one, two), key=len)
    s, l = len(shorter), len(longer)  # noqa: E741
    x = overlaps(one, two, l)
    f = l + s - x[l]

    def share(start: int, end: int) -> float:
        return sum(p**d / d for d in range(start, end + 1))

    scale = (1 - p) / p
    ext = scale * sum(x[d] / d * p**d for d in range(1, l + 1))
    ext += scale * sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    ext += ((x[l] - x[s]) / l + x[s] / s) * p**l
    least = scale * (sum((x[d] - x[l]) * p**d / d for d in range(1, l + 1)) - x[l] * log1p(-p))
    below = s * share(s + 1, f) + l * share(l + 1, f) + x[l] * (-log1p(-p) - share(1, f))
    return Rbo(ext, least, least + p**s + p**l - p**f - scale * below)


def assert_close(got: Rbo, expected: Rbo, tolerance: float = 1e-10) -> None:
    """All of the score but for rounding."""
    assert (got.ext, got.min, got.max) == pytest.approx(
        (expected.ext, expected.min, expected.max), abs=tolerance
    )


@pytest.mark.parametrize(
    ("one", "two", "p", "ext", "least", "most", "residual"),
    [
        ("abcdefghij", "bacdkeflgm", 0.9, 0.731695, 0.630605, 0.827344, 0.196739),
        ("abcdefghij", "bacdkeflgm", 0.98, 0.712520, None, None, 0.645000),
        ("abcde", "bcagfdeh", 0.8, 0.608891, 0.511573, 0.650709, None),
        ("abcde", "bcagfdeh", 0.9, 0.718935, 0.472678, 0.800690, None),
    ],
)
def test_worked_examples(
    one: str, two: str, p: float, ext: float, least: float | None, most: float | None, residual: float | None
) -> None:
    """Two top tens with seven documents in common; lists of five and eight documents."""
    overlap = rbo(one, two, p)
    for got, value in [
        (overlap.ext, ext),
        (overlap.min, least),
        (overlap.max, most),
        (overlap.res, residual),
    ]:
        assert value is None or got == pytest.approx(value, abs=6e-7)
    assert rbo(two, one, p) == overlap


def test_worked_example_with_ties() -> None:
    """The three ways to count ties differ in the overlap, hardly in the residual."""
    one = groups("red (blue green) yellow pink")
    two = groups("(blue red) white (yellow black purple) green")
    expected: dict[Ties, float] = {"w": 0.706826, "a": 0.692285, "b": 0.720713}
    for ties, ext in expected.items():
        overlap = rbo_with_ties(one, two, 0.95, ties)
        assert overlap.ext == pytest.approx(ext, abs=5e-7)
        assert overlap.res == pytest.approx(0.562017, abs=5e-7)


# From the test cases that come with Corsi and Urbano's reference implementation (2024):
# two rankings, p, then EXT, MIN and MAX for w, a and b.
PUBLISHED = [
    (
        "(i3 i5 i6 i8 i9)",
        "(i1 i6) (i8 i10) i11 i2 (i3 i4)",
        0.946588158477176,
        {
            "w": (0.481477824833812, 0.23269613702392, 0.802226864320287),
            "a": (0.456505385192971, 0.207870074991659, 0.77813269033093),
            "b": (0.482684075039396, 0.233899573241503, 0.804576609682389),
        },
    ),
    (
        "i11 (i8 i21) (i2 i18) (i6 i16 i20) (i4 i10)",
        "i8 (i9 i20 i21) (i2 i3) i13 i1 i11 i14 i19",
        0.93912403977192,
        {
            "w": (0.482369482292872, 0.346394412736983, 0.712103626756557),
            "a": (0.46852753894333, 0.332552469387441, 0.698261683407016),
            "b": (0.486650566878314, 0.350675497322425, 0.716384711341999),
        },
    ),
    (
        "i26 (i1 i2 i3 i4 i5 i6 i7 i8 i9 i10)",
        "(i19 i25) (i2 i3) (i7 i9 i12 i26) (i18 i22) (i1 i10 i14) (i5 i8)",
        0.947995253587843,
        {
            "w": (0.567020436833909, 0.362931177029673, 0.682972748293291),
            "a": (0.512406299904543, 0.317657317687162, 0.63798714430746),
            "b": (0.542244994152802, 0.345144157486949, 0.665645938046088),
        },
    ),
]


@pytest.mark.parametrize(("one", "two", "p", "expected"), PUBLISHED)
def test_published_values_with_ties(
    one: str, two: str, p: float, expected: dict[Ties, tuple[float, float, float]]
) -> None:
    """The authors' own numbers for uneven rankings with ties."""
    for ties, (ext, least, most) in expected.items():
        assert_close(rbo_with_ties(groups(one), groups(two), p, ties), Rbo(ext, least, most), 1e-14)


@given(rankings(least=1), rankings(least=1), PERSISTENCE)
def test_untied_lists_follow_the_closed_forms(one: str, two: str, p: float) -> None:
    """Without ties all that is left are Webber, Moffat and Zobel's sums, whatever ties would mean."""
    expected = closed_form(one, two, p)
    assert_close(rbo(one, two, p), expected)
    for ties in ("a", "w", "b"):
        assert_close(rbo_with_ties(list(one), list(two), p, ties), expected)


@given(rankings(), rankings(), rankings(), rankings(), PERSISTENCE)
def test_bounds_hold_however_the_rankings_go_on(
    one: str, two: str, more_one: str, more_two: str, p: float
) -> None:
    """No continuation leaves the interval from min to max, which ext is in as well."""
    bounds = rbo(one, two, p)
    longer_one = one + "".join(letter for letter in more_one if letter not in one)
    longer_two = two + "".join(letter for letter in more_two if letter not in two)
    overlap = rbo(longer_one, longer_two, p)
    assert bounds.min - 1e-12 <= overlap.min
    assert overlap.max <= bounds.max + 1e-12
    assert -1e-12 <= bounds.min <= bounds.ext + 1e-12 <= bounds.max + 2e-12 <= 1 + 3e-12


@given(rankings(), rankings(), PERSISTENCE)
def test_the_upper_bound_is_reached(one: str, two: str, p: float) -> None:
    """Both going on with what the other has and they lack, in its order, then alike, reach max."""
    new = [f"new {rank}" for rank in range(60)]
    whole_one = [*one, *(letter for letter in two if letter not in one), *new]
    whole_two = [*two, *(letter for letter in one if letter not in two), *new]
    x = np.array(overlaps(whole_one, whole_two, 60))[1:]
    depth = np.arange(1, 61)
    agreement = float((x / depth * p**depth).sum()) * (1 - p) / p + p**60
    assert rbo(one, two, p).max == pytest.approx(agreement, abs=1e-9)


@given(tied_pairs(), PERSISTENCE)
def test_ties_follow_the_definition(pair: tuple[list[str], list[str]], p: float) -> None:
    """Depth by depth, a document adds the product of the shares in which both tops have it."""
    length = sum(map(len, pair[0]))
    for ties in ("a", "w", "b"):
        agreements = []
        for depth in range(1, length + 1):
            one, two = (contributions(ranking, depth, ties) for ranking in pair)
            shared = sum(one[document] * two[document] for document in one.keys() & two.keys())
            sizes = sum(one.values()) + sum(two.values())
            squares = sum(share**2 for share in one.values()) * sum(share**2 for share in two.values())
            agreements.append(shared / {"a": depth, "w": sizes / 2, "b": squares**0.5}[ties])
        seen = sum(agreement * p**rank for rank, agreement in enumerate(agreements)) * (1 - p)
        expected = seen + agreements[-1] * p**length
        assert rbo_with_ties(*pair, p, ties).ext == pytest.approx(expected, abs=1e-10)


def contributions(ranking: list[str], depth: int, ties: Ties) -> dict[str, float]:
    """In which share each document is in the top."""
    shares: dict[str, float] = {}
    above = 0
    for group in ranking:
        if above < depth:
            share = 1.0 if ties == "w" else min(1.0, (depth - above) / len(group))
            shares |= dict.fromkeys(group, share)
        above += len(group)
    return shares


@settings(deadline=None)
@given(tied_pairs(longest=3), PERSISTENCE)
def test_unknown_order_is_the_mean_over_orders(pair: tuple[list[str], list[str]], p: float) -> None:
    """With ties="a" every order of the tied documents is equally likely, for all of ext, min and max."""
    orders = [
        [
            "".join(chain.from_iterable(order))
            for order in product(*(permutations(group) for group in ranking))
        ]
        for ranking in pair
    ]
    overlaps = [rbo(one, two, p) for one in orders[0] for two in orders[1]]
    mean = Rbo(
        *(float(np.mean([getattr(overlap, end) for overlap in overlaps])) for end in ("ext", "min", "max"))
    )
    assert_close(rbo_with_ties(*pair, p, "a"), mean)


@given(tied_pairs(), PERSISTENCE)
def test_a_ranking_equals_itself_unless_ties_hide_its_order(
    pair: tuple[list[str], list[str]], p: float
) -> None:
    """A ranking agrees with itself fully where ties are equality or are corrected for."""
    same = {ties: rbo_with_ties(pair[0], pair[0], p, ties).ext for ties in ("a", "w", "b")}
    assert same["w"] == pytest.approx(1)
    assert same["b"] == pytest.approx(1)
    assert same["a"] == pytest.approx(1) if len(pair[0]) == sum(map(len, pair[0])) else same["a"] < 1


def test_empty_rankings_leave_all_open() -> None:
    """Nothing seen means no agreement, and all of it is still possible."""
    for one, two in [("", "abc"), ("abc", ""), ("", "")]:
        assert_close(rbo(one, two), Rbo(0.0, 0.0, 1.0))
        assert_close(rbo_with_ties(list(one), list(two)), Rbo(0.0, 0.0, 1.0))


def test_long_rankings_keep_their_precision() -> None:
    """A thousand documents a list, p near 1: min still cannot pass ext, nor ext max."""
    one, two = list(range(1000)), [*range(999, -1, -3), *range(2000, 2600)]
    for p in (0.5, 0.9, 0.99, 0.999):
        overlap = rbo(one, two, p)
        assert 0 <= overlap.min <= overlap.ext <= overlap.max <= 1


@pytest.mark.parametrize(("p", "weight"), [(0.8, 0.9690), (0.9, 0.8556), (0.95, 0.6724), (0.98, 0.4226)])
def test_weight_of_the_top_ten(p: float, weight: float) -> None:
    """The share of the score that the first ten ranks decide."""
    assert weight_of_top(10, p) == pytest.approx(weight, abs=5e-5)


@given(st.integers(1, 40), PERSISTENCE)
def test_weight_of_the_top_is_what_equal_tops_surely_share(depth: int, p: float) -> None:
    """Two lists that agree down to a depth and nowhere below have that overlap at least."""
    assert weight_of_top(depth, p) == pytest.approx(rbo(range(depth), range(depth), p).min, abs=1e-10)


def test_documents_of_equal_score_are_tied() -> None:
    """A tie ends where the score falls."""
    assert tie_groups("abcde", [3.0, 2.0, 2.0, 2.0, 1.0]) == [("a",), ("b", "c", "d"), ("e",)]
    assert tie_groups("ab", [0.5, 0.5]) == [("a", "b")]
    assert tie_groups("", []) == []


@pytest.mark.parametrize(
    ("scores", "reason"), [([1.0, 2.0], "descend"), ([1.0, float("nan")], "descend"), ([1.0], "1 scores")]
)
def test_scores_that_are_not_of_the_ranking(scores: list[float], reason: str) -> None:
    """Scores that rise, are not numbers or are too few make no groups."""
    with pytest.raises(ValueError, match=reason):
        tie_groups("ab", scores)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5, 1.5, float("nan")])
def test_p_is_a_probability_of_going_on(p: float) -> None:
    """With 0 or 1 a reader never or always goes on."""
    with pytest.raises(ValueError, match="above 0 and below 1"):
        rbo("ab", "ab", p)
    with pytest.raises(ValueError, match="above 0 and below 1"):
        weight_of_top(10, p)


def test_a_top_has_at_least_one_rank() -> None:
    """No weight lies above the first rank."""
    with pytest.raises(ValueError, match="none"):
        weight_of_top(0)


def test_a_document_stands_in_a_ranking_once() -> None:
    """A document twice has no rank; a group of none is none."""
    with pytest.raises(ValueError, match="twice"):
        rbo("aba", "ab")
    with pytest.raises(ValueError, match="twice"):
        rbo_with_ties(["ab", "a"], ["ab"])
    with pytest.raises(ValueError, match="empty"):
        rbo_with_ties(["ab", ""], ["ab"])
