"""Quantities as people write them, and as they are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.trec.facts import DURATION, ENERGY, SIZE, Dimension


@pytest.mark.parametrize(
    ("dimension", "text", "value"),
    [
        (DURATION, "12.5", 12.5),
        (DURATION, " 12.5 MS ", 12.5),
        (DURATION, "1.5 s per query", 1500.0),
        (DURATION, "2 min", 120_000.0),
        (DURATION, "250 us a topic", 0.25),
        (SIZE, "0", 0.0),
        (SIZE, "3kb", 3000.0),
        (SIZE, "1 GiB", 1073741824.0),
        (ENERGY, "3.6 kJ", 1.0),
        (ENERGY, "1 MWh", 1e6),
        (ENERGY, "1 mWh", 1e-3),
        (ENERGY, "1e3 Wh", 1000.0),
    ],
)
def test_a_number_with_a_unit_is_read(dimension: Dimension, text: str, value: float) -> None:
    """Units in any usual form; a number alone is in the kept unit; mega and milli are told apart."""
    assert dimension.read(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "-1 ms",
        "1,5 ms",
        "1 2 ms",
        "nan",
        "inf",
        "1e400",
        "1e300 h",
        "5 GB",
        "1 ms" + " " * 100,
        "0x1",
    ],
)
def test_what_is_no_duration_is_none(text: str) -> None:
    """Words, signs, commas, other units, and what is too large for any run are not read."""
    assert DURATION.read(text) is None


def test_values_are_shown_in_the_unit_that_suits_the_middle_one() -> None:
    """One unit for a whole axis: the largest in which the middle value is at least 1."""
    assert SIZE.unit([5e6, 2e9, 7e9]).name == "GB"
    assert SIZE.unit([5e6, 2e9]).name == "GB"
    assert DURATION.unit([1e-5]).name == "µs"
    assert DURATION.unit([0.0]).name == "ms"


def test_words_keep_three_digits() -> None:
    """A value is printed with its unit and three digits, more where the whole part has more."""
    assert [DURATION.words(value) for value in (1234.5, 999.9, 0.0004, 3.6e6)] == [
        "1.23 s",
        "1,000 ms",
        "0.4 µs",
        "3,600 s",
    ]


@given(st.floats(min_value=0, max_value=1e12))
def test_words_of_any_value_hold_no_odd_number(value: float) -> None:
    """Whatever the value, words are digits, a separator, and a unit."""
    number, unit = ENERGY.words(value).split()
    assert float(number.replace(",", "")) >= 0
    assert unit in {shown.name for shown in ENERGY.shown}
