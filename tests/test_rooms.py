"""The rooms of the package: which way imports point between them, and who may write."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "leaderboard"
LAYERS = ("cli", "web", "pages", "services", "db", "trec", "measures", "stats", "pooling", "tables")
WRITES = {"add", "add_all", "delete", "merge", "flush", "commit", "write", "begin_nested"}
"""What a session does that changes the database."""
STATEMENTS = {"insert", "update", "delete"}


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(path: Path, known: frozenset[str]) -> set[str]:
    """The modules of the package that a file imports, at its top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {
                whole if (whole := f"{node.module}.{name.name}") in known else node.module
                for name in node.names
            }
    return names & known


def test_folders_of_a_layer_form_no_cycle() -> None:
    """Between the rooms of a layer, and between the files of a room, imports point one way."""
    modules = dict(_modules())
    known = frozenset(modules)
    rooms: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, path in modules.items():
        for target in _imported(path, known):
            one, other = name.split("."), target.split(".")
            depth = next(
                (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0
            )
            if depth >= 1:
                rooms[".".join(one[:depth])][one[depth]].add(other[depth])
    cycles = []
    for room, graph in rooms.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycles.append(f"{room}: {' -> '.join(error.args[1])}")
    assert cycles == []


def test_pages_never_write() -> None:
    """Modules of pages read: they call no writing method of a session and build no writing statement."""
    faults = []
    for path in sorted((PACKAGE / "pages").rglob("*.py")):
        for node in ast.walk(_tree(path)):
            if not isinstance(node, ast.Call):
                continue
            call = node.func
            if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name):
                if call.value.id in {"session", "database"} and call.attr in WRITES:
                    faults.append(f"{path.name}:{node.lineno} session.{call.attr}")
            elif isinstance(call, ast.Name) and call.id in STATEMENTS:
                faults.append(f"{path.name}:{node.lineno} {call.id}(...)")
    assert faults == []


def test_every_layer_and_room_says_what_it_is() -> None:
    """Each folder of the package has a docstring of one line, which the map of the architecture builds on."""
    silent = [
        str(path.parent.relative_to(ROOT))
        for path in sorted(PACKAGE.rglob("__init__.py"))
        if not (ast.get_docstring(_tree(path)) or "").strip()
    ]
    assert silent == []
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir()} >= set(LAYERS)


def test_no_migration_rests_on_the_program() -> None:
    """A step writes the same whatever the program has become since, so it imports none of it."""
    steps = sorted((ROOT / "migrations/versions").glob("*.py"))
    assert len(steps) >= 9
    assert [
        path.name for path in steps if re.search(r"^\s*(from|import) leaderboard", path.read_text(), re.M)
    ] == []
