"""Judged hits come back from their packed form as they went in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import LeaderboardError
from leaderboard.measures.grammar import parse
from leaderboard.trec.qrels.align import align, compile_judgments
from leaderboard.trec.qrels.packed import pack_hits, unpack_hits
from leaderboard.trec.runs.runs import Ranking

DOCNOS = [f"d{number}".encode() for number in range(12)]
JUDGED = st.dictionaries(st.sampled_from(DOCNOS), st.integers(-2, 3), min_size=1)
RANKED = st.lists(st.sampled_from(DOCNOS), unique=True)


@given(
    judgments=st.dictionaries(st.sampled_from("abcde"), JUDGED, min_size=1),
    rankings=st.dictionaries(st.sampled_from("abcdef"), RANKED),
    dialect=st.sampled_from((9, 10)),
)
def test_a_run_comes_back_as_it_was(
    judgments: dict[str, dict[bytes, int]], rankings: dict[str, list[bytes]], dialect: int
) -> None:
    """Also topics that the run misses, empty rankings, and topics without judgments."""
    run = [
        Ranking(topic, np.array(docnos, dtype="S3"), -np.arange(len(docnos), dtype=np.float64))
        for topic, docnos in rankings.items()
    ]
    compiled = compile_judgments(judgments)
    judged = align(run, compiled, dialect=dialect)
    back = unpack_hits(pack_hits(judged), compiled.judgments, dialect)
    for part in ("topic", "rank", "document", "retrieved", "grade", "starts"):
        assert getattr(back, part).tolist() == getattr(judged, part).tolist(), part
    assert back.dialect == dialect
    for key in ("AP", "nDCG@10", "Judged@10", "Bpref"):
        assert parse(key).compute(back).tolist() == parse(key).compute(judged).tolist()


def test_other_bytes_are_refused() -> None:
    """What is stored in another form is not taken for hits."""
    compiled = compile_judgments({"1": {b"a": 1}})
    with pytest.raises(LeaderboardError, match="RUN1"):
        unpack_hits(b"RUN1....", compiled.judgments, 10)
