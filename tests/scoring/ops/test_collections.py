"""Stored documents read back by docno."""

import tracemalloc
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import DocumentBlock
from leaderboard.errors import Conflict
from leaderboard.scoring.ops import collections
from leaderboard.trec.documents import blocks, docno_filter

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


def test_a_name_stands_for_one_collection(database: Database, tmp_path: Path) -> None:
    """Blanks around it make no other one."""
    _add(database, tmp_path, "mine", ["a"])
    with pytest.raises(Conflict, match="choose another name"), database.write() as session:
        collections.add(session, OPERATOR, " mine ")


def _peak(folder: Path, documents: int) -> int:
    """Bytes that preparing so many documents takes at most."""
    path = folder / f"{documents}.tsv"
    path.write_text("".join(f"{number * 7919 % documents}\t{'text ' * 60}\n" for number in range(documents)))
    tracemalloc.start()
    try:
        prepared = collections.prepare(path)
        assert prepared.count == documents == sum(block.count for block in prepared.blocks)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.trial
@pytest.mark.sqlite
def test_memory_does_not_grow_with_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight times as many take little more: texts, packed blocks and hashes wait on disk."""
    monkeypatch.setattr(blocks, "SORTED_AT_ONCE", 200_000)
    monkeypatch.setattr(blocks, "SPOOL_BYTES", 10_000)
    monkeypatch.setattr(docno_filter, "_CHUNK", 1000)
    few, many = 3_000, 24_000
    _peak(tmp_path, few)
    assert _peak(tmp_path, many) < 1.5 * _peak(tmp_path, few)


def test_blocks_are_added_a_few_at_a_time(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is left out or added twice where they do not fit one statement."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 60)
    monkeypatch.setattr(blocks, "SPOOL_BYTES", 100)
    monkeypatch.setattr(collections, "ADDED_AT_ONCE", 3)
    stored = [f"d{number:02}" for number in range(50)]
    mine = _add(database, tmp_path, "mine", stored)
    with database.read() as session:
        assert sorted(collections.texts(session, mine, stored)) == stored
        counts = session.scalars(select(DocumentBlock.count)).all()
    assert (sum(counts), len(counts) % 3) == (50, 2)
