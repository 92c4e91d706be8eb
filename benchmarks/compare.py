"""Times this project's evaluator and others on the same files: `python -m benchmarks.compare --help`."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import measuring, table
from benchmarks.table import Row
from benchmarks.tools import commands
from benchmarks.tools.commands import Missing, Tool, Workload

ROOT = Path(__file__).resolve().parents[1]
IRREGULAR = ("blanks", "crlf", "unsorted", "split", "interleaved")
SELECTIONS = ("big", "many", "irregular", "gz")
DEFAULT_DIALECT = 10


def workloads(data: Path, selected: Iterable[str]) -> list[Workload]:
    """The workloads in the folder for the selections; ends the program if something is missing."""
    big = data / "big"
    files = {
        "big": {"big": [big / "run.txt"]},
        "many": {"many": sorted((data / "many").glob("run-*.txt"))},
        "irregular": {f"big, {name}": [big / f"run.{name}.txt"] for name in IRREGULAR},
        "gz": {"big, .gz": [big / "run.txt.gz"]},
    }
    works = []
    for selection in selected:
        for name, runs in files[selection].items():
            folder = data / "many" if selection == "many" else big
            if not runs or not all(run.is_file() for run in runs):
                sys.exit(f"no files for {name} in {data}: see python -m benchmarks.generate --help")
            works.append(Workload(name, folder / "qrels.txt", tuple(runs)))
    return works


def tools(given: argparse.Namespace) -> list[Tool]:
    """The available tools, and a line for each missing one with the reason."""
    available: list[Tool] = []

    def add(name: str, make: Callable[[], Tool]) -> None:
        try:
            available.append(make())
        except Missing as missing:
            print(f"- {name}: skipped, {missing}")

    add(commands.BASE, partial(commands.trec_eval, given.trec_eval))
    major = available[0].version.partition(".")[0] if available else ""
    dialect = int(major) if major in ("9", "10") else DEFAULT_DIALECT
    add(commands.OURS, partial(commands.leaderboard, given.leaderboard, dialect, kernel=True))
    add(commands.WITHOUT_KERNEL, partial(commands.leaderboard, given.leaderboard, dialect, kernel=False))
    for name in commands.PACKAGES:
        add(name, partial(commands.package, name, given.python))
    print(f"- dialect of leaderboard: {dialect}")
    return [tool for tool in available if tool.name in (given.only or commands.NAMES)]


def compare(work: Workload, present: Sequence[Tool], repeats: int, folder: Path) -> list[Row]:
    """Every tool in turn, as often as asked, each in a process of its own."""
    for path in (work.qrels, *work.runs):
        measuring.warm(path)
    rows = {tool.name: Row(f"{tool.name} {tool.version}".strip()) for tool in present}
    for repeat in range(repeats):
        for tool in present:
            row = rows[tool.name]
            if row.failure:
                continue
            command = tool.command(work, folder / "decompressed")
            output = _output(folder, tool)
            try:
                row.costs[repeat] = measuring.measure(command, output, tool.environment, ROOT)
            except measuring.Failed as failed:
                row.failure = str(failed)
            outcome = row.failure or f"{row.costs[repeat].seconds:.2f} s"
            print(f"{work.name}, {repeat + 1} of {repeats}, {tool.name}: {outcome}", file=sys.stderr)
    _compare_values(present, rows, folder)
    return list(rows.values())


def _compare_values(present: Sequence[Tool], rows: dict[str, Row], folder: Path) -> None:
    base = next((tool for tool in present if tool.name == commands.BASE), None)
    if base is None or rows[base.name].failure:
        return
    for tool in present:
        if tool is not base and not rows[tool.name].failure:
            # In another process: this one has to stay small, see `measure`.
            files = (str(_output(folder, base)), str(_output(folder, tool)))
            command = [sys.executable, "-m", "benchmarks.agreement", *files]
            output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            wrong, total = map(int, output.stdout.split())
            rows[tool.name].agreement = f"{wrong:,} of {total:,}"


def _output(folder: Path, tool: Tool) -> Path:
    return folder / f"{tool.name}.txt"


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that benchmarks.generate filled")
    parser.add_argument("--repeats", type=int, default=5, help="how often (default: 5)")
    parser.add_argument("--trec-eval", metavar="PROGRAM", help="default: $TREC_EVAL or the PATH")
    parser.add_argument(
        "--leaderboard",
        metavar="PROGRAM",
        default=str(Path(sys.executable).with_name("leaderboard")),
        help="default: next to this Python",
    )
    parser.add_argument(
        "--python", default=sys.executable, help="interpreter that has pytrec_eval, ir_measures and ranx"
    )
    parser.add_argument(
        "--only", choices=commands.NAMES, metavar="TOOL", action="append", help="only this tool, repeatable"
    )
    for selection in SELECTIONS:
        parser.add_argument(f"--{selection}", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    given = _arguments(arguments)
    selected = [name for name in SELECTIONS if getattr(given, name)] or ["big", "many"]
    chosen = workloads(given.data.resolve(), selected)
    print(table.facts(measuring.machine()), end="")
    present = tools(given)
    print(f"- peak memory shows no less than {measuring.own_peak():.0f} MB")
    print(f"- repeats: {given.repeats}; medians; shares of trec_eval's time within each repeat\n")
    with tempfile.TemporaryDirectory(dir=given.data) as folder:
        for work in chosen:
            rows = compare(work, present, given.repeats, Path(folder).resolve())
            print(table.workload(work.name, rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
