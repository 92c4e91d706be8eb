"""What a process keeps in memory stays within one budget of bytes, whatever it is and whoever asks."""

import gc
import re
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from benchmarks import cold, sites
from leaderboard import memory
from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.memory import Kept, KeptCall, MemoryBudget, keep_by, size_of
from leaderboard.settings import Settings
from tests import ROOT

FIXED = {
    "fields.py": "the declared records of the program",
    "measures": "measures by their keys, of a set form, and weights by rank of a few kilobytes",
    "accounts/ops": "tables of letters and one hash",
    "bundles/ops/checking.py": "the columns of tables",
    "site/ops/checks.py": "for commands: one revision's judgments while they are gone through",
    "core/kinds.py": "one object a kind of run",
    "runs/ops/kind.py": "for commands: one revision's judgments while they are gone through",
    "reference.py": "the operations by heading",
    "scoring/ops/scored_topics.py": "columns of measures by their keys",
    "tasks/ops/pseudonyms/pseudonyms.py": "one list of words",
    "scoring/ops/statistics/procedures/ranking_overlaps.py": "of one job of an evaluator, gone with it",
    "settings.py": "64 names of hosts",
    "stats": "numbers by a few parameters",
    "tables/latex.py": "works that measures cite",
    "tables/record.py": "the columns of declared records",
    "trec/documents/marking.py": "whether letters and words are of a kind",
    "trec/facts.py": "the first words of names of models",
    "web/http.py": "4,096 addresses, one megabyte",
    "accounts/web": "the configuration of providers, which has them by name",
    "tasks/web/teams.py": "names of tasks, for one answer",
    "web/api/glossary.py": "texts of the program",
    "web/filters.py": "whether programs are there",
    "web/kept.py": "files of the program",
    "web/rules.py": "two numbers an address",
}
"""Where something is kept by number, and why that is no matter of memory."""
CACHES = re.compile(r"\b(lru_cache|LRUCache|TTLCache|LFUCache)\(|@cache$", re.MULTILINE)


def test_what_was_not_used_for_longest_goes_first_of_whichever_cache_it_is() -> None:
    """Caches share the budget."""
    within = MemoryBudget(4000)
    one, two = Kept[bytes]("one", within=within), Kept[bytes]("two", within=within)
    for cache, key in ((one, "a"), (two, "b"), (one, "c")):
        cache.put(key, bytes(700))
    assert one.get("a") is not None
    two.put("d", bytes(700))
    assert [one.get("a") is not None, two.get("b"), one.get("c") is not None] == [True, None, True]
    assert within.used <= within.most
    assert within.by_cache().keys() == {"one", "two"}
    within.most = 0
    assert (within.used, len(one), len(two)) == (0, 0, 0)


def test_what_is_too_large_is_given_back_but_not_kept() -> None:
    """One large value does not push out all small ones."""
    within = MemoryBudget(4000)
    cache = Kept[bytes]("one", within=within)
    cache.put("a", bytes(700))
    assert len(cache.put("large", bytes(3000))) == 3000
    assert cache.get("large") is None
    assert cache.get("a") is not None


def test_a_value_that_grows_is_measured_again() -> None:
    """Such as one that works out more of itself when it is asked."""
    within = MemoryBudget(8000)
    cache = Kept[dict[str, bytes]]("one", within=within)
    cache.put("a", {})
    cache.put("b", {"x": bytes(3000)})
    grown = cache.get("a")
    assert grown is not None
    grown["x"] = bytes(6000)
    for _ in range(3):
        cache.get("a")
    assert within.used <= within.most
    assert cache.get("b") is None


def test_a_value_is_kept_by_what_the_key_says() -> None:
    """Not by the arguments; what was forgotten is computed again."""
    calls: list[str] = []

    @keep_by(lambda text: text.casefold())
    def length(text: str) -> int:
        calls.append(text)
        return len(text)

    assert isinstance(length, KeptCall)
    assert [length("a"), length("A"), length("b")] == [1, 1, 1]
    length.kept.drop("a")
    assert length("a") == 1
    assert calls == ["a", "b", "a"]
    length.kept.clear()


def test_sizes_are_those_of_all_that_is_held() -> None:
    """Arrays with the whole that they are a part of, and each object once."""
    whole = np.zeros(10_000)
    assert 80_000 < size_of([whole[:10], whole[5:]]) < 81_000
    assert 80_000 < size_of({"a": (whole, {whole.tobytes()[:1]})}) < 81_000


def test_no_cache_is_bounded_by_number_but_small_ones() -> None:
    """Every other one is on the budget."""
    here = ROOT / "leaderboard"
    found = {
        path.relative_to(here).as_posix()
        for path in here.rglob("*.py")
        if CACHES.search(path.read_text(encoding="utf-8"))
    }
    fixed = {path for path in found if any(path == place or path.startswith(f"{place}/") for place in FIXED)}
    assert found - fixed == set()
    assert all(any(path == place or path.startswith(f"{place}/") for path in found) for place in FIXED)


def _resident() -> int:
    """Megabytes of this process that are in memory."""
    gc.collect()
    memory.give_back()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 // 2**20


def _open_all(clients: list[FlaskClient], addresses: list[str]) -> None:
    for address in addresses:
        for client in clients:
            assert client.get(address).status_code == 200, address
            assert memory.budget.used <= memory.budget.most


@pytest.mark.trial
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of a process is not told here")
def test_mixed_load_stays_within_the_budget(tmp_path: Path) -> None:
    """Visitors, a member and programs, over all runs, topics and rankings: the budget is held at each step.

    Without a bound the same load keeps more; with it, the process stops growing.
    """
    database = Database(f"sqlite:///{sites.made(tmp_path, 'small')}")
    app = create_app(Settings(data=tmp_path), database)
    about = sites.objects(database)
    member = app.test_client()
    member.set_cookie("session", sites.cookie_of_member(database))
    clients = [app.test_client(), member]
    addresses = [address.format(**about) for _, address in cold.KINDS]
    addresses += [
        f"/runs/{run}{part}" for run in range(1, 7) for part in ("", "/explained", "/topics", "/ties")
    ]
    addresses += [f"/runs/{run}/topics/{topic}?all" for run in range(1, 7) for topic in (1, 2, 3)]
    addresses += [f"/api/v1{path}" for path in ("/tasks", "/tasks/t/board", "/tasks/t/runs", "/search?q=run")]
    before = memory.budget.most
    try:
        memory.budget.most = 2**30
        _open_all(clients, addresses)
        free = memory.budget.used
        memory.budget.most = free // 4
        _open_all(clients, addresses)
        warm = _resident()
        for _ in range(3):
            _open_all(clients, addresses)
        assert free // 8 < memory.budget.used <= free // 4
        assert _resident() - warm < 16
    finally:
        memory.budget.most = before
        database.dispose()
