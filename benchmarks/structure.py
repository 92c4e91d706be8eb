"""The figures of the code itself: sizes, arguments, docstrings, rooms, cycles.

    python -m benchmarks.structure [FOLDER [TESTS]]

Lines are all lines of a file. A function's length is from `def` to its last line.
"""

import ast
import io
import re
import statistics
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Source:
    """A file, parsed."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())


def sources(folder: Path) -> list[Source]:
    """The Python files below a folder."""
    texts = ((path, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py")))
    return [Source(path, text, ast.parse(text)) for path, text in texts]


def functions(files: Sequence[Source]) -> list[Function]:
    """Every function and method."""
    return [node for file in files for node in ast.walk(file.tree) if isinstance(node, Function)]


def length(function: Function) -> int:
    """Its lines."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def arguments(function: Function) -> int:
    """How many arguments it takes, self left out."""
    taken = function.args
    names = [argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def documented_lines(files: Sequence[Source]) -> tuple[int, int]:
    """Lines of comments, and of docstrings."""
    comments = docstrings = 0
    for file in files:
        tokens = tokenize.generate_tokens(io.StringIO(file.text).readline)
        comments += sum(token.type == tokenize.COMMENT for token in tokens)
        for node in ast.walk(file.tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                docstrings += (node.end_lineno or node.lineno) - node.lineno + 1
    return comments, docstrings


def imported(file: Source, known: set[str]) -> Iterator[str]:
    """The modules among the known ones that a file imports."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                if whole in known or node.module in known:
                    yield whole if whole in known else node.module


def folder_cycles(folder: Path, files: Sequence[Source]) -> int:
    """In how many folders the rooms below, or the files, import each other in a circle."""
    names = {".".join(file.path.relative_to(folder.parent).with_suffix("").parts): file for file in files}
    names = {name.removesuffix(".__init__"): file for name, file in names.items()}
    graphs: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for name, file in names.items():
        for target in imported(file, set(names)):
            one, other = tuple(name.split(".")), tuple(target.split("."))
            shared = next(
                (at for at, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1), 0
            )
            if shared:
                graphs.setdefault(one[:shared], {}).setdefault(one[shared], set()).add(other[shared])
    return sum(_has_cycle(graph) for graph in graphs.values())


def _has_cycle(graph: dict[str, set[str]]) -> bool:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return True
    return False


def spread(values: Sequence[int]) -> str:
    """Median, 90th and 99th percentile and maximum."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return f"{statistics.median(values):.0f} / {cuts[89]:.0f} / {cuts[98]:.0f} / {max(values)}"


def figures(folder: Path, tests: Path) -> list[tuple[str, str]]:
    """Name and value of every figure of a package and its tests."""
    files, all_functions = sources(folder), functions(sources(folder))
    lines = sum(file.lines for file in files)
    comments, docstrings = documented_lines(files)
    public = [function for function in all_functions if not function.name.startswith("_")]
    rooms = Counter(file.path.parent for file in files if file.path.name != "__init__.py").most_common(2)
    inner = sum(
        isinstance(node, ast.Import | ast.ImportFrom)
        for function in all_functions
        for node in ast.walk(function)
    )
    sizes = [file.lines for file in files]
    test_lines = sum(file.lines for file in sources(tests))
    return [
        ("files / lines", f"{len(files)} / {lines:,}"),
        (
            "file median / max; over 300 lines",
            f"{statistics.median(sizes):.0f} / {max(sizes)}; {sum(s > 300 for s in sizes)}",
        ),
        ("function median / p90 / p99 / max", spread([length(function) for function in all_functions])),
        ("arguments median / p90 / p99 / max", spread([arguments(function) for function in all_functions])),
        (
            "return annotations",
            f"{sum(function.returns is not None for function in all_functions) / len(all_functions):.1%}",
        ),
        ("comments / docstrings, share of lines", f"{comments / lines:.1%} / {docstrings / lines:.1%}"),
        (
            "public functions with docstring",
            f"{sum(bool(ast.get_docstring(f)) for f in public) / len(public):.1%}",
        ),
        ("public / private functions", f"{len(public)} / {len(all_functions) - len(public)}"),
        ("imports inside functions", str(inner)),
        (
            "modules in the two fullest folders",
            ", ".join(f"{room.relative_to(folder.parent)} {count}" for room, count in rooms),
        ),
        ("folders with a cycle among their rooms", str(folder_cycles(folder, files))),
        ("imports / inside a feature / pointing up", "{:,} / {:,} / {}".format(*crossings(folder, files))),
        ("test lines / code lines", f"{test_lines:,} / {lines:,} = {test_lines / lines:.2f}"),
    ]


def layers(project: Path) -> dict[str, int]:
    """Feature or kit -> its layer in the first contract of the project, 0 the highest; empty without one."""
    places: dict[str, int] = {}
    if not (project / "pyproject.toml").exists():
        return places
    contract = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    for at, layer in enumerate(contract["contracts"][0]["layers"]):
        for name in re.split("[|:]", layer):
            places.setdefault(name.strip().split(".")[1], at)
    return places


def crossings(folder: Path, files: Sequence[Source]) -> tuple[int, int, int]:
    """Imports between modules of the package: all, those inside one feature or kit, those that point up."""
    names = {".".join(file.path.relative_to(folder.parent).with_suffix("").parts): file for file in files}
    names = {name.removesuffix(".__init__"): file for name, file in names.items()}
    place = layers(folder.parent)
    edges = {(name, target) for name, file in names.items() for target in imported(file, set(names))}
    ends = [(one.split(".")[1], other.split(".")[1]) for one, other in edges if "." in one and "." in other]
    inside = sum(one == other for one, other in ends)
    # Operations of accounts stand below the web kit, see the contract.
    others = [pair for pair in ends if pair != ("web", "accounts")]
    up = sum(place.get(one, 0) > place.get(other, 0) for one, other in others)
    return len(ends), inside, up


def is_record(node: ast.ClassDef) -> bool:
    """Whether a class is a dataclass, a named tuple or a struct."""
    names = {
        getattr(each, "id", getattr(getattr(each, "func", None), "id", "")) for each in node.decorator_list
    }
    bases = {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
    return "dataclass" in names or bool(bases & {"NamedTuple", "Struct"})


def sizes(folder: Path) -> dict[str, int]:
    """The sizes of a package, which tests/test_ratchet.py only allows to fall."""
    files = sources(folder)
    classes = (node for file in files for node in ast.walk(file.tree) if isinstance(node, ast.ClassDef))
    records = [node for node in classes if is_record(node)]
    return {
        "lines": sum(file.lines for file in files),
        "modules": len(files),
        "records": len(records),
        "fields of records": sum(isinstance(each, ast.AnnAssign) for node in records for each in node.body),
    }


def main(folder: str = "leaderboard", tests: str = "tests") -> None:
    """Print the figures of a package, one per line."""
    for name, value in figures(Path(folder).resolve(), Path(tests).resolve()):
        print(f"{name:42} {value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
