"""Documents of a pool's topic as bytes and back."""

import pytest

from leaderboard.errors import LeaderboardError
from leaderboard.judging.ops.pools.previews import PoolDocument, pack, unpack

ROWS = (
    PoolDocument("d9", 3.5, "top", 1.0, None),
    PoolDocument("d1", -0.25, "rest", 0.125, 0),
    PoolDocument("ä-東", 0.0, "", 1.0, -2),
    PoolDocument("d2", 1e300, "rest", 0.125, 3),
)


def test_what_is_packed_comes_back_in_its_order() -> None:
    """Docnos of any script, grade 0 beside no grade at all, names of strata."""
    assert unpack(pack(ROWS)) == ROWS


def test_an_empty_topic_is_packed_too() -> None:
    """A topic may have no document to judge."""
    assert unpack(pack([])) == ()


def test_a_document_has_sensible_defaults() -> None:
    """Drawn from nothing, certain to be in the pool, not judged."""
    assert PoolDocument("d1") == ("d1", 0.0, "", 1.0, None)


def test_the_same_documents_are_the_same_bytes() -> None:
    """Nothing of chance or of the moment is in them."""
    assert pack(ROWS) == pack(iter(ROWS))


def test_other_bytes_are_refused() -> None:
    """What another version wrote is not read as something else."""
    with pytest.raises(LeaderboardError, match="another version"):
        unpack(b"XXXX" + pack(ROWS)[4:])
