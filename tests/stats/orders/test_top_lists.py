"""Two top-k lists: worked numbers, closed forms and the definitions pair by pair."""

from collections.abc import Sequence
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.stats.orders import top_lists

ONE, TWO = "abcdefghij", "bacdkeflgm"
LISTS = st.permutations("abcdefghijkl").map("".join)
DEPTHS = st.integers(1, 12)


def fagin_kendall(one: Sequence[str], two: Sequence[str], p: float) -> float:
    """Fagin's four cases for every pair of documents of either list."""
    distance = 0.0
    for i, j in combinations(sorted(set(one) | set(two)), 2):
        in_one, in_two = (i in one) + (j in one), (i in two) + (j in two)
        if in_one == in_two == 2:
            distance += (one.index(i) < one.index(j)) != (two.index(i) < two.index(j))
        elif in_one + in_two == 3:
            whole, part = (one, two) if in_one == 2 else (two, one)
            upper = i if whole.index(i) < whole.index(j) else j
            distance += upper not in part
        elif in_one == in_two == 1:
            distance += 1
        else:
            distance += p
    return distance


def test_worked_example() -> None:
    """Two top tens with seven documents in common, worked out by hand."""
    assert top_lists.overlap(ONE, TWO, 5) == 0.8
    assert top_lists.overlap(ONE, TWO, 10) == 0.7
    assert top_lists.average_overlap(ONE, TWO, 10) == pytest.approx(0.771825, abs=5e-7)
    assert top_lists.footrule(ONE, TWO, 10) == 22
    assert [top_lists.kendall(ONE, TWO, 10, p=p) for p in (0, 0.5, 1)] == [14, 17, 20]
    assert top_lists.footrule_per_document(ONE, TWO, 10) == pytest.approx(1.692308, abs=5e-7)
    assert top_lists.kendall_per_pair(ONE, TWO, 10) == pytest.approx(0.179487, abs=5e-7)


def test_lists_with_nothing_in_common_are_farthest_apart() -> None:
    """Disjoint top threes: footrule 12, Kendall 9, and 2 and 0.6 in the lecture texts' scaling."""
    assert top_lists.footrule("abc", "def", 3) == 12
    assert top_lists.kendall("abc", "def", 3) == 9
    assert top_lists.footrule_per_document("abc", "def", 3) == 2.0
    assert top_lists.kendall_per_pair("abc", "def", 3) == 0.6


@given(LISTS, LISTS, DEPTHS, st.sampled_from([0.0, 0.5, 1.0]))
def test_kendall_is_fagins_pair_by_pair(one: str, two: str, k: int, p: float) -> None:
    """Counting ranks with absent documents at k + 1 gives Fagin's four cases."""
    assert top_lists.kendall(one, two, k, p=p) == fagin_kendall(one[:k], two[:k], p)


@given(LISTS, LISTS, DEPTHS, st.sampled_from([0.0, 0.5, 1.0]))
def test_closed_forms_hold(one: str, two: str, k: int, p: float) -> None:
    """Fagin's closed forms from the shared documents alone give the same distances."""
    one, two = one[:k], two[:k]
    shared = [document for document in one if document in two]
    z = len(shared)
    alone = sum(one.index(letter) + 1 for letter in set(one) - set(two)) + sum(
        two.index(letter) + 1 for letter in set(two) - set(one)
    )
    moved = sum(abs(one.index(letter) - two.index(letter)) for letter in shared)
    assert top_lists.footrule(one, two, k) == 2 * (k - z) * (k + 1) + moved - alone
    crossed = sum(two.index(a) > two.index(b) for a, b in combinations(shared, 2))
    closed = (k - z) * ((2 + p) * k - p * z + 1 - p) + crossed - alone
    assert top_lists.kendall(one, two, k, p=p) == pytest.approx(closed, abs=1e-9)


@given(LISTS, LISTS, LISTS, DEPTHS)
def test_the_footrule_is_a_metric(one: str, two: str, three: str, k: int) -> None:
    """Symmetric, 0 for equal tops only, and never longer than over a third list."""
    direct = top_lists.footrule(one, two, k)
    assert direct == top_lists.footrule(two, one, k)
    assert (direct == 0) == (one[:k] == two[:k])
    assert direct <= top_lists.footrule(one, three, k) + top_lists.footrule(three, two, k)


@pytest.mark.trial
def test_kendall_is_no_metric() -> None:
    """Over a third list the way can be shorter: ab to cd is 4 pairs, over ac only 3."""
    lists = ["".join(letters) for letters in permutations("abcde", 2)]
    broken = [
        (one, two, three)
        for one in lists
        for two in lists
        for three in lists
        if top_lists.kendall(one, two, 2)
        > top_lists.kendall(one, three, 2) + top_lists.kendall(three, two, 2)
    ]
    assert len(broken) == 240


def test_lecture_bounds_hold_on_one_side_only() -> None:
    """The share of swapped pairs never exceeds the footrule per document but mostly misses its half."""
    tops = ["".join(letters) for letters in permutations("abcdefgh", 4)]
    pairs = [
        (top_lists.footrule_per_document("abcd", top, 4), top_lists.kendall_per_pair("abcd", top, 4))
        for top in tops
    ]
    assert len(pairs) == 1680
    assert all(moved >= swapped for moved, swapped in pairs)
    assert sum(swapped < moved / 2 for moved, swapped in pairs) == 1675


@given(LISTS, LISTS, DEPTHS)
def test_the_overlap_curve_has_the_overlap_of_every_depth(one: str, two: str, k: int) -> None:
    """At each depth the share of documents both have down to there."""
    curve = top_lists.overlap_curve(one, two, k)
    assert curve.tolist() == [len(set(one[:d]) & set(two[:d])) / d for d in range(1, k + 1)]
    assert top_lists.overlap(one, two, k) == curve[-1]


@given(LISTS, LISTS, DEPTHS)
def test_average_overlap_is_the_mean_over_depths(one: str, two: str, k: int) -> None:
    """Every depth's overlap counts alike."""
    mean = sum(top_lists.overlap(one, two, depth) for depth in range(1, k + 1)) / k
    assert top_lists.average_overlap(one, two, k) == pytest.approx(mean, abs=1e-12)


def test_absent_documents_can_stand_at_their_actual_rank() -> None:
    """c is fourth in the second ranking, d nowhere in the first of three: 1, 1, 3 - 4 and 4 - 3."""
    assert top_lists.footrule("abc", "badc", 3, absent="actual") == 1 + 1 + 1 + 1
    assert top_lists.footrule("abcxd", "bad", 3, absent="actual") == 1 + 1 + 1 + 2
    assert top_lists.footrule("abcxd", "bad", 3) == 1 + 1 + 1 + 1
    assert top_lists.footrule("abc", "badxyz", 3, absent="actual") == 1 + 1 + 4 + 1


@given(LISTS, LISTS, DEPTHS, st.integers(1, 12), st.integers(1, 12))
def test_kendall_at_actual_ranks_is_pair_by_pair(
    one: str, two: str, k: int, length_one: int, length_two: int
) -> None:
    """Opposite is every pair whose ranks, one below the end where there is none, rise and fall."""
    one, two = one[:length_one], two[:length_two]
    ranks = [
        (one.find(letter) + 1 or len(one) + 1, two.find(letter) + 1 or len(two) + 1)
        for letter in set(one[:k]) | set(two[:k])
    ]
    opposite = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(ranks, 2))
    assert top_lists.kendall(one, two, k, absent="actual") == opposite


def test_deep_lists_compare() -> None:
    """A thousand documents turned round are all pairs opposite; two thousand unshared are the most."""
    turned = range(999, -1, -1)
    assert top_lists.kendall(range(1000), turned, 1000) == 499_500
    assert top_lists.kendall_per_pair(range(1000), turned, 1000) == 1.0
    assert top_lists.kendall(range(1000), range(1000, 2000), 1000, p=0.5) == 1000**2 + 0.5 * 1000 * 999


def test_short_and_empty_rankings_compare() -> None:
    """A ranking of two has no third document; of nothing there is nothing to compare."""
    assert top_lists.overlap("ab", "abc", 3) == pytest.approx(2 / 3)
    assert top_lists.footrule("ab", "abc", 3) == 1
    assert top_lists.footrule_per_document("", "", 3) == 0.0
    assert top_lists.kendall_per_pair("a", "a", 3) == 0.0
    assert top_lists.average_overlap("", "", 3) == 0.0


def test_a_document_stands_in_a_ranking_once() -> None:
    """A ranking with a document twice has no ranks to compare."""
    with pytest.raises(ValueError, match="twice"):
        top_lists.footrule("aa", "ab", 2)


@pytest.mark.parametrize("k", [0, -1])
def test_a_top_has_at_least_one_document(k: int) -> None:
    """There is no top 0."""
    for distance in (top_lists.overlap, top_lists.footrule, top_lists.kendall):
        with pytest.raises(ValueError, match="no documents"):
            distance("ab", "ab", k)
