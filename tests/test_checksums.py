"""Every kind of stored bytes carries a checksum: one wrong bit is an error, whichever bit it is."""

from collections.abc import Callable

import numpy as np
import pytest
import zstandard
from sqlalchemy.dialects import sqlite

from leaderboard import checksums
from leaderboard.db.engine import FloatArray
from leaderboard.errors import Damaged
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.runs.ops.prepare import unpack_chunk
from leaderboard.stats import arrays
from leaderboard.trec.documents.blocks import Document, find_documents, pack_documents
from leaderboard.trec.documents.docno_filter import DocnoFilter
from leaderboard.trec.qrels.packed import (
    pack_distractors,
    pack_judgments,
    pack_left_out,
    unpack_distractors,
    unpack_judgments,
    unpack_left_out,
)
from leaderboard.trec.qrels.preferences import PreferenceJudgments
from leaderboard.trec.qrels.revision_inputs import pack_preferences, unpack_preferences
from leaderboard.trec.runs.fingerprints import similarity

Case = tuple[bytes, Callable[[bytes], object]]
DIALECT = sqlite.dialect()
SKETCH = checksums.with_checksum(np.arange(4, dtype="<u8").tobytes())
CASES: dict[str, Case] = {
    "judgments": (pack_judgments({"1": {b"a": 1, b"b": 0}}), unpack_judgments),
    "preferences": (
        pack_preferences(PreferenceJudgments({"1": {"": {(b"a", b"b"): 2.0}}})),
        unpack_preferences,
    ),
    "distractors": (pack_distractors([b"a", b"b"]) or b"", unpack_distractors),
    "documents left out": (pack_left_out({"1": [b"a", b"b"]}) or b"", unpack_left_out),
    "documents": (
        next(pack_documents([Document("a", "title", "text")])).body,
        lambda body: find_documents(body, "a"),
    ),
    "pool": (pool_documents.pack([pool_documents.PoolDocument("a", 1.5, "top")]), pool_documents.unpack),
    "piece of a file": (checksums.compressed(b"", b"1 Q0 a 1 2.5 tag\n", 1), unpack_chunk),
    "comparison": (arrays.pack({"p": np.array([0.5, 0.25])}), arrays.unpack),
    "known docnos": (DocnoFilter.build([b"a", b"b"]), DocnoFilter.bits),
    "fingerprint": (SKETCH, lambda sketch: similarity(sketch, SKETCH)),
    "scores": (
        FloatArray().process_bind_param(np.array([0.5, 1.0]), DIALECT) or b"",
        lambda body: FloatArray().process_result_value(body, DIALECT),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_each_wrong_bit_is_an_error(kind: str) -> None:
    """Stored bytes with any one bit turned over are refused, as are those cut short."""
    body, read = CASES[kind]
    read(body)
    for bit in range(8 * len(body)):
        turned = bytearray(body)
        turned[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Damaged):
            read(bytes(turned))
    with pytest.raises(Damaged):
        read(body[:-1])


def test_bodies_of_earlier_versions_are_read() -> None:
    """Frames and arrays that were stored without a checksum still say what they said."""
    plain = checksums.plain_bytes(b"LBJ1", CASES["judgments"][0], "judgments")
    old = b"LBJ1" + zstandard.ZstdCompressor(level=1).compress(plain)
    assert unpack_judgments(old) == {"1": {b"a": 1, b"b": 0}}
    scores = FloatArray().process_result_value(np.array([0.5, 1.0]).tobytes(), DIALECT)
    assert scores is not None
    assert scores.tolist() == [0.5, 1.0]
    assert arrays.unpack(CASES["comparison"][0][4:-4])["p"].tolist() == [0.5, 0.25]
    assert similarity(SKETCH[:-4], SKETCH) == 1.0
    built = CASES["known docnos"][0]
    assert np.array_equal(DocnoFilter.bits(b"LBF1" + built[4:-4]), DocnoFilter.bits(built))
