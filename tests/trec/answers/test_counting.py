"""Words and characters of answers, and what is left when an answer is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from leaderboard.trec.answers.record import COUNTS, Answer, Segment, Unit, characters, cut, nfkc_words, words

TEXTS = some.lists(some.text(alphabet="ab ´ﬁ\u0301\u00a0\n", max_size=12), max_size=8)


def test_the_two_ways_to_count_words_differ() -> None:
    """U+00B4 becomes a blank and an accent under NFKC."""
    assert (nfkc_words(["it´s"]), words(["it´s"])) == (2, 1)


def test_characters_are_those_of_the_joined_segments() -> None:
    """One blank between two segments; a ligature counts as its letters."""
    assert characters(["Air.", "Light."]) == len("Air. Light.")
    assert characters(["ﬁ"]) == 2
    assert characters([]) == 0


@given(TEXTS, some.integers(0, 40), some.sampled_from(list(COUNTS)))
def test_cutting_keeps_as_many_segments_as_fit(texts: list[str], limit: int, unit: Unit) -> None:
    """What is kept fits, is a beginning of the answer, and with one segment more it would not fit."""
    answer = Answer("run", "7", tuple(map(Segment, texts)), ())
    kept = cut(answer, limit, unit)
    size = len(kept.segments)
    assert kept.segments == answer.segments[:size]
    assert COUNTS[unit](kept.texts) <= limit
    assert size == len(texts) or COUNTS[unit](tuple(texts[: size + 1])) > limit


@pytest.mark.parametrize("unit", COUNTS)
def test_cutting_can_leave_nothing(unit: Unit) -> None:
    """The first segment alone is too long."""
    assert cut(Answer("run", "7", (Segment("Too long a text."),), ()), 1, unit).segments == ()
