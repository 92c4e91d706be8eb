"""Depth pools."""

from leaderboard.pooling.depth import depth_pool

RUNS = [["d1", "d2", "d3", "d4", "d5"], ["d2", "d1", "d6", "d3", "d7"], ["d8", "d9", "d1", "d6", "d2"]]


def test_a_pool_is_the_union_of_the_tops() -> None:
    """Each document once, whatever runs have it."""
    assert depth_pool(RUNS, 2) == ["d1", "d2", "d8", "d9"]
    assert depth_pool(RUNS, 3) == ["d1", "d2", "d3", "d6", "d8", "d9"]


def test_short_rankings_give_what_they_have() -> None:
    """A ranking shorter than the depth, or an empty one, is not an error."""
    assert depth_pool([["d1"], [], ["d2", "d3"]], 2) == ["d1", "d2", "d3"]
    assert depth_pool(iter([["d1"]]), 0) == []


def test_docnos_sort_as_bytes() -> None:
    """The order is that of bytes, for docnos as bytes and as text."""
    assert depth_pool([[b"d2", b"d10", b"\xc3\xa9"]], 3) == [b"d10", b"d2", b"\xc3\xa9"]
    assert depth_pool([["d2", "d10", "é"]], 3) == ["d10", "d2", "é"]
