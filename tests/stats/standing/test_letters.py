"""Letters beside runs: worked displays and the property that defines them."""

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leaderboard.stats.standing import letters


@st.composite
def relations(draw: st.DrawFn) -> NDArray[np.bool_]:
    """A symmetric relation of up to fifteen runs."""
    runs = draw(st.integers(1, 15))
    relation = np.eye(runs, dtype=bool)
    pairs = np.triu_indices(runs, 1)
    relation[pairs] = draw(st.lists(st.booleans(), min_size=len(pairs[0]), max_size=len(pairs[0])))
    return relation | relation.T


def related(runs: int, pairs: str) -> NDArray[np.bool_]:
    """The relation of the pairs of digits given."""
    relation = np.eye(runs, dtype=bool)
    for i, j in pairs.split():
        relation[int(i), int(j)] = relation[int(j), int(i)] = True
    return relation


def letters_of(label: str) -> set[str]:
    """The single letters of a label."""
    return set(re.findall("[a-z]'*", label))


@given(relations())
def test_two_runs_share_a_letter_exactly_when_they_cannot_be_told_apart(relation: NDArray[np.bool_]) -> None:
    """For any relation; and every run has a letter, the first run the first one."""
    labels = [letters_of(label) for label in letters(relation)]
    for i, j in combinations(range(len(relation)), 2):
        assert bool(labels[i] & labels[j]) == relation[i, j]
    assert all(labels)
    assert "a" in labels[0]


@given(relations())
def test_no_letter_can_be_left_out(relation: NDArray[np.bool_]) -> None:
    """Without any one letter of any run, the display would say something else."""
    labels = [letters_of(label) for label in letters(relation)]
    for run, label in enumerate(labels):
        for letter in label:
            others = [other for other, given in enumerate(labels) if letter in given and other != run]
            without = label - {letter}
            assert not without or any(not without & labels[other] for other in others)


@pytest.mark.parametrize(
    ("runs", "pairs", "display"),
    [
        (1, "", "a"),
        (3, "", "a b c"),
        (3, "01 02 12", "a a a"),
        (4, "01 12 23", "a ab bc c"),
        (4, "01 02 12 13 23", "a ab ab b"),
        # The feed weights of R's data set chickwts as multcompView displays them: casein, horsebean, linseed,
        # meatmeal, soybean, sunflower.
        (6, "03 05 35 12 23 24 34", "a b bc ac c a"),
    ],
)
def test_worked_displays(runs: int, pairs: str, display: str) -> None:
    """Nobody tied, all tied, chains, and a display in print."""
    assert " ".join(letters(related(runs, pairs))) == display


def test_after_z_come_primed_letters() -> None:
    """Seven and eight runs, apart among themselves and tied across: a letter for each of 56 pairs."""
    relation = np.zeros((15, 15), dtype=bool)
    relation[:7, 7:] = relation[7:, :7] = True
    labels = letters(relation)
    assert labels[3] == "yza'b'c'd'e'f'"
    assert len(set().union(*map(letters_of, labels))) == 56


def test_refuses_what_no_one_can_read() -> None:
    """More than fifteen runs, and what is not a symmetric relation."""
    with pytest.raises(ValueError, match="at most 15 runs"):
        letters(np.ones((16, 16), dtype=bool))
    with pytest.raises(ValueError, match="symmetric"):
        letters(np.array([[True, True], [False, True]]))
    with pytest.raises(ValueError, match="symmetric"):
        letters(np.ones((2, 3), dtype=bool))
