"""Loops of cases: every case is tried, and every fault is named."""

import pytest

from tests.make.loops import for_every


def test_all_faults_are_raised_with_their_names() -> None:
    """The cases after a fault are tried too; what `pytest.fail` raises counts as a fault."""
    tried = []

    @for_every("number", [1, 2, 3, 4], lambda number: f"case {number}")
    def halves(number: int) -> None:
        tried.append(number)
        if number == 4:
            pytest.fail("four")
        assert number % 2, "even"

    with pytest.raises(BaseExceptionGroup, match="2 of 4 failed") as raised:
        halves()
    assert tried == [1, 2, 3, 4]
    assert [fault.__notes__ for fault in raised.value.exceptions] == [["number: case 2"], ["number: case 4"]]


def test_a_class_is_looped_test_by_test() -> None:
    """Each method that is a test takes every case; what is no test stays as it was."""
    seen = []

    @for_every("word", ["a", "b"])
    class Words:
        def test_it(self, word: str) -> None:
            seen.append(word)

        def other(self, word: str) -> str:
            return word

    Words().test_it()
    assert seen == ["a", "b"]
    assert Words().other("c") == "c"


def test_a_loop_over_nothing_fails() -> None:
    """A glob that finds no file any more does not make its test pass."""

    @for_every("path", [])
    def empty(path: str) -> None:
        raise AssertionError(path)

    with pytest.raises(AssertionError, match="no path"):
        empty()
