"""The fuzzer of `benchmarks.fuzz`: a small part of what it does, and that it finds what it is to find."""

from pathlib import Path

import pytest

from benchmarks.fuzz import running
from benchmarks.fuzz.__main__ import in_process
from benchmarks.fuzz.readers import READERS, Read, Reader, require_storable
from benchmarks.fuzz.running import content, fuzz
from leaderboard.errors import Invalid
from leaderboard.trec.read import kernel

pytestmark = pytest.mark.trial

FILES = 300
PATIENCE_S = 60.0
"""Of CPU time for a file; the command, in processes that do nothing else, has a much smaller cap."""


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_taken_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other error, both kernels say the same, and no file takes for ever."""
    monkeypatch.setattr(running, "SECONDS", PATIENCE_S)
    found = fuzz(name, range(FILES), 1, tmp_path)
    assert not found.faults
    assert (found.files, found.taken + found.refused) == (FILES, FILES)
    assert found.taken > FILES // 20
    assert found.refused > FILES // 4


def test_a_number_makes_the_same_file_for_ever() -> None:
    """The seed, the reader's name and the number decide."""
    reader = READERS["qrels"]
    assert content("qrels", 1, 7, reader) == content("qrels", 1, 7, reader)
    assert content("qrels", 1, 7, reader) != content("qrels", 2, 7, reader)


def test_a_process_of_its_own_finds_the_same(tmp_path: Path) -> None:
    """The command reads in other processes, whose memory has a cap."""
    found, peak = in_process("pools", range(20, 60), 1, tmp_path)
    here = fuzz("pools", range(20, 60), 1, tmp_path)
    assert (found.files, found.taken, found.refused) == (here.files, here.taken, here.refused)
    assert peak > 10


def _crashes(*_: object) -> object:
    raise IndexError("out of range")


def _differs(*_: object) -> object:
    return "numpy" if kernel.native is None else "C"


def _takes_all_memory(*_: object) -> object:
    raise MemoryError


def _takes_what_no_database_holds(*_: object) -> object:
    return ["a\0"]


def _refuses(*_: object) -> object:
    raise Invalid("No.")


def _hangs(*_: object) -> object:
    while True:
        pass


@pytest.mark.parametrize(
    ("ways", "kind", "what"),
    [
        ((_crashes,), "crashes", "IndexError: out of range"),
        ((_takes_what_no_database_holds,), "crashes", "a NUL that no database holds"),
        ((_refuses, lambda *_: 1), "disagreements", "two ways to read it differ"),
        ((_takes_all_memory,), "over", "MB"),
        ((_hangs,), "over", "0.05 s"),
    ],
)
def test_what_a_reader_may_not_do_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: tuple[Read, ...], kind: str, what: str
) -> None:
    """Once for every file."""
    monkeypatch.setattr(running, "SECONDS", 0.05 if _hangs in ways else PATIENCE_S)
    found = fuzz("bad", range(3), 1, tmp_path, Reader((b"x\n",), ways, alike=True))
    assert len(getattr(found, kind)) == 3
    assert found.faults == getattr(found, kind)
    assert all(what in fault for fault in found.faults)


@pytest.mark.skipif(kernel.native is None, reason="the C kernel was not built")
def test_kernels_that_differ_are_found(tmp_path: Path) -> None:
    """One file is read with each, and afterwards the C kernel is back."""
    before = kernel.native
    found = fuzz("bad", range(2), 1, tmp_path, Reader((b"x\n",), (_differs,)))
    assert [fault.partition(": ")[2] for fault in found.disagreements] == ["the kernels differ"] * 2
    assert kernel.native is before


@pytest.mark.parametrize("said", [["\ud800"], {"a": b"\xff"}, (("a", ["\0"]),)])
def test_what_no_database_holds_is_found_wherever_it_is(said: object) -> None:
    """In lists, mappings and bytes."""
    with pytest.raises(ValueError, match=r"surrogates|codec|NUL"):
        require_storable(said)
