"""The rooms of the package: which way imports point between them, and who may write."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.trial

PACKAGE = ROOT / "leaderboard"
WRITES = {"add", "add_all", "delete", "merge", "flush", "commit", "write", "begin_nested"}
"""What a session does that changes the database."""
STATEMENTS = {"insert", "update", "delete"}
KINDS = (
    "leaderboard.measures.answers",
    "leaderboard.measures.judges",
    "leaderboard.judges.ops",
    "leaderboard.answers.ops",
    "leaderboard.trec.answers",
    "leaderboard.trec.boards",
    "leaderboard.trec.nuggets",
)
"""What is about answers, or about judges."""
LATE = {
    **dict.fromkeys(KINDS, "evaluators of rankings do without"),
    "leaderboard.trec": "a command that scores one small run would wait longer for it than for all else",
    "leaderboard.accounts.web.openid_client": "Authlib is an extra",
    "zxcvbn": "lists of words of twelve megabytes, for who sets a password",
    **dict.fromkeys(("ir_datasets", "obstore", "opentelemetry"), "an extra"),
    **dict.fromkeys(("pandas", "polars"), "who asks for a data frame has one of them"),
    **dict.fromkeys(
        ("leaderboard.interface", "leaderboard.measures", "leaderboard.errors"),
        "the site and commands import the package for its version alone",
    ),
    **dict.fromkeys(("alembic", "difflib", "fractions", "icalendar", "json"), "commands start without them"),
    "cryptography": "eight megabytes, for who signs or checks a signature",
    **dict.fromkeys(("scipy", "scipy.optimize"), "every process would pay for it at its start"),
}
"""What is imported inside functions, and why."""


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imported(path: Path, known: frozenset[str] | None = None) -> dict[str, bool]:
    """What a file imports -> whether inside a function only; known: modules of ours, others left out."""
    inner = {
        each
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for each in ast.walk(node)
        if isinstance(each, ast.Import | ast.ImportFrom)
    }
    typing = {
        each
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for each in ast.walk(node)
    }
    late: dict[str, bool] = {}
    for node in ast.walk(_tree(path)):
        if node in typing:
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wholes = [f"{node.module}.{name.name}" for name in node.names]
            names = [whole if whole in (known or _known()) else node.module for whole in wholes]
        for name in names:
            if known is None or name in known:
                late[name] = late.get(name, True) and node in inner
    return late


@cache
def _known() -> frozenset[str]:
    return frozenset(name for name, _ in _modules())


def _is_in(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def _cycle(graph: Mapping[str, Collection[str]]) -> str:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return ""


def test_modules_form_no_cycle() -> None:
    """Not even by an import inside a function."""
    graph = {name: _imported(path, _known()).keys() - {name} for name, path in _modules()}
    assert _cycle(graph) == ""


def test_folders_of_a_feature_form_no_cycle() -> None:
    """Inside a feature, and inside each of its folders, imports point one way."""
    rooms: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, path in _modules():
        for target in _imported(path, _known()):
            one, other = name.split("."), target.split(".")
            depth = next(
                (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0
            )
            if depth >= 2:
                rooms[".".join(one[:depth])][one[depth]].add(other[depth])
    assert [f"{room}: {found}" for room, graph in rooms.items() if (found := _cycle(graph))] == []


def test_imports_inside_functions_keep_something_out_of_memory() -> None:
    """Outside commands and lists of features: what is named here with its reason, and all of that."""
    late = {
        (name, target)
        for name, path in _modules()
        if not {"cli", "feature"} & set(name.split("."))
        for target, is_late in _imported(path).items()
        if is_late
    }
    assert sorted(pair for pair in late if not _is_in(pair[1], tuple(LATE))) == []
    assert [
        room for room in LATE if room not in KINDS and not any(_is_in(target, (room,)) for _, target in late)
    ] == []


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("leaderboard.worker", (*KINDS, "scipy", "obstore", "opentelemetry")),
        (
            "leaderboard.application",
            ("alembic", "authlib", "ir_datasets", "obstore", "opentelemetry", "scipy.stats", "zxcvbn"),
        ),
        ("leaderboard.trec.scores.scoring", (*KINDS, "bz2", "lzma", "zipfile", "zstandard")),
    ],
)
def test_what_is_imported_late_stays_out_of_memory(module: str, without: tuple[str, ...]) -> None:
    """In a process that has just started."""
    code = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if _is_in(name, without)] == []


def test_no_module_is_imported_by_text() -> None:
    """Linters see ordinary imports, and these alone: so there is no other."""
    text = re.compile(r"\b(?:import_module|__import__)\b")
    assert [name for name, path in _modules() if text.search(path.read_text(encoding="utf-8"))] == []


def test_pages_never_write() -> None:
    """Modules of pages read: they call no writing method of a session and build no writing statement."""
    faults = []
    pages = (*PACKAGE.glob("*/page.py"), *PACKAGE.glob("*/page/**/*.py"))
    for path in sorted(pages):
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


def test_no_migration_rests_on_the_program() -> None:
    """A step writes the same whatever the program has become since, so it imports none of it."""
    steps = sorted((ROOT / "migrations/versions").glob("*.py"))
    assert len(steps) >= 9
    assert [
        path.name for path in steps if re.search(r"^\s*(from|import) leaderboard", path.read_text(), re.M)
    ] == []
