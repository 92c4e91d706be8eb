"""Packed rankings and judgments come back as they went in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import LeaderboardError
from leaderboard.trec.qrels.packed import pack_judgments, unpack_judgments
from leaderboard.trec.runs.packing import (
    BLOCK_BYTES,
    PackedRun,
    RunPacker,
    read_index,
    unpack_block,
    unpack_topic,
)
from leaderboard.trec.runs.runs import Ranking, block_of, rankings_of

pytestmark = pytest.mark.usefixtures("each_kernel")

topic_ids = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
docnos = st.binary(min_size=1, max_size=40).filter(lambda docno: b"\0" not in docno)
scores = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    """One ranking of up to 20 distinct documents."""
    scored = draw(st.dictionaries(docnos, scores, max_size=20))
    return Ranking(draw(topic_ids), np.array(list(scored), "S"), np.array(list(scored.values()), np.float64))


def packed_of(run: list[Ranking]) -> PackedRun:
    """Rankings as they are stored, two at a time."""
    packer = RunPacker()
    for start in range(0, len(run), 2):
        packer.add(block_of(run[start : start + 2]))
    return packer.packed()


def same(one: Ranking, other: Ranking) -> bool:
    """Whether two rankings have the same topic, docnos and bits of scores."""
    return (
        one.topic == other.topic
        and one.docnos.tolist() == other.docnos.tolist()
        and one.scores.tobytes() == other.scores.tobytes()
    )


@given(st.lists(rankings(), max_size=6, unique_by=lambda ranking: ranking.topic))
def test_rankings_survive_packing(run: list[Ranking]) -> None:
    """All blocks together give every ranking back in order; the index finds each alone."""
    packed = packed_of(run)
    blocks = list(packed.blocks)
    unpacked = [ranking for block in blocks for ranking in rankings_of(unpack_block(block))]
    assert len(unpacked) == len(run)
    assert all(map(same, unpacked, run))
    index = read_index(packed.index)
    assert list(index) == [ranking.topic for ranking in run]
    for ranking in run:
        block, offset, length = index[ranking.topic]
        assert same(unpack_topic(blocks[block], offset, length), ranking)


def test_topics_are_never_cut() -> None:
    """Blocks close after the topic that filled them; a large topic has one block."""
    run = [
        Ranking(str(topic), np.array([b"d%d" % n for n in range(size)]), np.arange(size, dtype=np.float64))
        for topic, size in enumerate([1000, 30_000, 10, *[1000] * 30])
    ]
    packed = packed_of(run)
    blocks = list(packed.blocks)
    assert [len(unpack_block(block).topics) for block in blocks[:2]] == [2, 11]
    for block, offset, length in read_index(packed.index).values():
        assert offset < BLOCK_BYTES
        assert unpack_topic(blocks[block], offset, length).scores[0] == 0


def test_stored_bytes_say_their_version() -> None:
    """Bytes of another kind are refused with a sentence, not misread."""
    packed = packed_of([])
    assert list(packed.blocks) == []
    for read in (unpack_block, unpack_judgments):
        with pytest.raises(LeaderboardError, match="written by another version"):
            read(packed.index)


@given(st.dictionaries(topic_ids, st.dictionaries(docnos, st.integers(-(10**9) + 1, 10**9 - 1), max_size=8)))
def test_judgments_survive_packing(judgments: dict[str, dict[bytes, int]]) -> None:
    """Every judgment comes back, topics in byte order."""
    unpacked = unpack_judgments(pack_judgments(judgments))
    assert unpacked == judgments
    assert list(unpacked) == sorted(judgments, key=str.encode)
