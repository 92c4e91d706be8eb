"""Stored documents read back by docno."""

from pathlib import Path

import pytest

from leaderboard.db.engine import Database
from leaderboard.services import collections
from leaderboard.services.policy import OPERATOR
from leaderboard.trec.documents import blocks

pytestmark = pytest.mark.dialect


def _add(database: Database, folder: Path, name: str, docnos: list[str]) -> int:
    path = folder / f"{name}.tsv"
    path.write_text("".join(f"{docno}\t{name} {docno}\n" for docno in docnos))
    prepared = collections.prepare(path)
    with database.write() as session:
        return collections.add(session, OPERATOR, name, documents=prepared).id


@pytest.mark.parametrize("at_once", [2, 5000])
def test_texts_come_from_the_blocks_that_hold_them(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Of many small blocks, in byte order; docnos before, between and after the stored ones have no text."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 60)
    monkeypatch.setattr(collections, "ASKED_AT_ONCE", at_once)
    stored = ["B", "a1", "a10", "a2", "b", "é", "中"]
    mine = _add(database, tmp_path, "mine", stored)
    _add(database, tmp_path, "other", ["B", "a3", "zz"])
    asked = [*stored, "A", "a3", "a1", "c", "zz", "龍"]
    with database.read() as session:
        found = collections.texts(session, mine, asked)
        assert collections.texts(session, mine, []) == {}
    assert {docno: document.text for docno, document in found.items()} == {
        docno: f"mine {docno}" for docno in stored
    }
