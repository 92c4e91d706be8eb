"""How a topic's documents are divided among assessors."""

from collections import Counter

import pytest

from leaderboard.judging.ops.assessors.queues import (
    ORDERS,
    Share,
    in_order,
    own_and_shared,
    share_of_topic,
    size,
)
from leaderboard.judging.ops.pools.previews import PoolDocument

ROWS = [PoolDocument(f"d{number}", 100.0 - number) for number in range(40)]


def _docnos(rows: list[PoolDocument]) -> list[str]:
    return [row.docno for row in rows]


@pytest.mark.parametrize("assessors", [2, 3, 7])
def test_every_document_has_one_owner_and_the_planned_share_a_second(assessors: int) -> None:
    """Of 40 documents with a fifth judged twice no more than a handful is lost to rounding."""
    overlap = share_of_topic(0.2, assessors)
    times: Counter[str] = Counter()
    for part in range(assessors):
        own, shared = own_and_shared(ROWS, Share(assessors, part, overlap), 1, "t")
        times.update(_docnos(own))
        times.update(_docnos(shared))
        assert len(own) + len(shared) == size(Share(assessors, part, overlap), len(ROWS))
    assert set(times) == set(_docnos(ROWS))
    assert max(times.values()) == 2
    twice = sum(count == 2 for count in times.values())
    assert 8 <= twice <= 8 + assessors


def test_an_assessor_without_a_part_has_the_overlap_alone() -> None:
    """The topic is one person's; a second one judges 15 % of it."""
    own, shared = own_and_shared(ROWS, Share(1, 1, 0.15), 1, "t")
    assert own == []
    assert len(shared) == size(Share(1, 1, 0.15), 40) == 6


def test_two_assessors_without_a_part_share_no_document() -> None:
    """Each takes the piece after the one before, beside the parts' own overlap."""
    seen: Counter[str] = Counter()
    for part in range(5):
        share = Share(2, part, 0.1)
        seen.update(_docnos(own_and_shared(ROWS, share, 1, "t")[1]))
    assert max(seen.values()) == 1


def test_what_is_judged_already_is_nobodys() -> None:
    """A judgment that is used again is not asked for."""
    rows = [*ROWS, PoolDocument("known", grade=0)]
    assert "known" not in _docnos(own_and_shared(rows, Share(), 1, "t")[0])


def test_the_division_depends_on_seed_and_topic_alone() -> None:
    """The same for ever, another one for another pool or topic, whatever else is in the list."""
    share = Share(2, 0)
    first = own_and_shared(ROWS, share, 1, "t")
    assert own_and_shared(list(reversed(ROWS)), share, 1, "t")[0][::-1] == first[0]
    assert own_and_shared(ROWS, share, 2, "t") != first
    assert own_and_shared(ROWS, share, 1, "u") != first
    assert _docnos(first[0])[:3] == ["d0", "d1", "d8"]


def test_orders() -> None:
    """By document id as bytes, by priority as stored, by chance: another for each seed."""
    rows = [PoolDocument("d10"), PoolDocument("d9"), PoolDocument("a")]
    assert _docnos(in_order(rows, Share(order="score"), "t")) == ["d10", "d9", "a"]
    assert _docnos(in_order(rows, Share(order="docno"), "t")) == ["a", "d10", "d9"]
    shuffled = {tuple(_docnos(in_order(rows, Share(order="random", seed=seed), "t"))) for seed in range(20)}
    assert len(shuffled) > 3
    assert next(iter(ORDERS)) == "docno"
