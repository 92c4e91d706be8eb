"""Random numbers: what they are for ever, and that they are fair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.stats.seeds import bits, numbers, orders, seed, stream


def test_a_seed_is_the_same_for_ever() -> None:
    """It depends on nothing but the parts."""
    assert seed("runs", "revision 1", "AP", "t+holm") == 3415997638430766095


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_other_parts_are_another_seed(one: list[str], two: list[str]) -> None:
    """However the same letters are split."""
    assert (seed(*one) == seed(*two)) == (one == two)
    assert 0 <= seed(*one) < 2**63


def test_a_block_has_a_stream_of_its_own() -> None:
    """The same for ever, and different from the next block's and the next seed's."""
    first = [int(stream(7, 0).random_raw()), int(stream(7, 1).random_raw()), int(stream(8, 0).random_raw())]
    assert first == [14717904226557406096, 8865173266238536338, 9862000224006317521]
    assert int(stream(7, 1).random_raw()) == first[1]


def test_bits_are_fair_coins() -> None:
    """The same for ever; half of each column within four standard errors."""
    assert bits(stream(7), 3, 5).tolist() == [[1, 0, 0, 0, 1], [0, 1, 1, 0, 1], [0, 0, 1, 0, 1]]
    thrown = bits(stream(7), 40_000, 3)
    assert thrown.shape == (40_000, 3)
    assert thrown.mean(axis=0) == pytest.approx([0.5] * 3, abs=0.01)
    between = np.asarray(np.corrcoef(thrown.T))[np.triu_indices(3, 1)]
    assert between == pytest.approx([0.0] * 3, abs=0.02)


@pytest.mark.parametrize("below", [1, 2, 7, 6980])
def test_numbers_are_uniform(below: int) -> None:
    """From 0 to one less than asked, their mean within four standard errors."""
    drawn = numbers(stream(7), 100, 501, below)
    assert drawn.shape == (100, 501)
    assert drawn.min() >= 0
    assert drawn.max() < below
    assert abs(drawn.mean() - (below - 1) / 2) <= 4 * below / np.sqrt(12 * 50_100) * (below > 1)


def test_numbers_are_the_same_for_ever() -> None:
    """And none is drawn below none."""
    assert numbers(stream(7), 2, 5, 100).tolist() == [[94, 62, 68, 89, 57], [77, 83, 22, 5, 30]]
    with pytest.raises(ValueError, match="below 0"):
        numbers(stream(7), 1, 1, 0)


def test_orders_are_uniform() -> None:
    """The same for ever; each of the six orders of three comes as often."""
    assert orders(stream(7), 2, 4).tolist() == [[3, 0, 2, 1], [2, 0, 3, 1]]
    drawn = orders(stream(7), 30_000, 3)
    assert (np.sort(drawn, axis=1) == [0, 1, 2]).all()
    counts = np.unique(drawn @ [9, 3, 1], return_counts=True)[1]
    assert counts == pytest.approx([5000] * 6, abs=260)
