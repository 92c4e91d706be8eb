"""The Python interface and its peers: `python -m benchmarks.interface --help`.

Three tables: one run from its file, the same from dictionaries, and 143 runs of 30 topics in one call. The
peers are pytrec_eval, ir_measures, ranx and trec_eval. Each tool runs in a process of its own, in turn with
the others. Wall-clock and processor seconds are given; on a busy machine only the latter can be compared.
"""

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import generate, measuring
from benchmarks.tools import commands

ROOT = Path(__file__).resolve().parents[1]
OURS, BASE = "leaderboard", "pytrec_eval"
RUNS, TOPICS, JUDGED = 143, 30, 290
"""As many runs, topics and judgments of each as in round 1 of TREC-COVID."""
IN_PYTHON = (OURS, BASE, "ir_measures", "ranx")
ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""For every tool: nobody needs a second one, which spins for a tenth of a second after NumPy is imported."""
TARGETS = {"files": ("pytrec_eval", 15), "dictionaries": ("pytrec_eval", 2), "many": ("trec_eval", 12)}
"""Table -> next to which tool, and how many times as fast this program should be."""


class Cost(NamedTuple):
    """What one tool took: seconds by the clock and of the processor, and MB."""

    wall: float
    processor: float
    megabytes: float


def one(kind: str, data: Path, python: str, folder: Path, repeats: int) -> dict[str, list[Cost]]:
    """One large run, from its file by the reader that each tool's documentation shows, or from dictionaries.

    From dictionaries only evaluating counts, and the memory that it takes besides.
    """
    files = [str(data / "big" / name) for name in ("qrels.txt", "run.txt")]
    command = [python, "-m", "benchmarks.tools.in_python"]
    return _in_turn({tool: [*command, tool, kind, *files] for tool in IN_PYTHON}, folder, repeats)


def many(data: Path, python: str, trec_eval: str | None, folder: Path, repeats: int) -> dict[str, list[Cost]]:
    """Many small runs: one call here, a process each for trec_eval."""
    runs = sorted((data / "covid" / "many").glob("run-*.txt"))
    qrels = data / "covid" / "many" / "qrels.txt"
    tools = {
        name: [python, "-m", "benchmarks.tools.in_python", name, "official", str(qrels), *map(str, runs)]
        for name in (OURS, BASE)
    }
    try:
        program = commands.trec_eval_program(trec_eval)
        calls = [shlex.join([program, "-c", "-m", "official", str(qrels), str(run)]) for run in runs]
        tools["trec_eval"] = ["sh", "-c", " && ".join(calls)]
    except commands.Missing as missing:
        print(f"- trec_eval: skipped, {missing}")
    return _in_turn(tools, folder, repeats)


def _in_turn(tools: Mapping[str, list[str]], folder: Path, repeats: int) -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = {}
    failed: set[str] = set()
    for _ in range(repeats):
        for tool, command in tools.items():
            output = folder / f"{tool}.txt"
            try:
                if tool not in failed:
                    cost = measuring.measure(command, output, ONE_BLAS_THREAD, ROOT)
                    costs.setdefault(tool, []).append(
                        _said(output) or Cost(cost.seconds, cost.processor, cost.megabytes)
                    )
            except measuring.Failed as failure:
                failed.add(tool)
                print(f"- {tool}: skipped, {failure}")
    return costs


def _said(output: Path) -> Cost | None:
    """What a tool measured of itself; None where the whole process counts."""
    last = output.read_text(errors="replace").strip().rsplit("\n", 1)[-1]
    return Cost(**json.loads(last)) if last.startswith('{"wall"') else None


def table(name: str, costs: Mapping[str, Sequence[Cost]]) -> str:
    """The costs as Markdown: medians, and how many times as fast this program is within each repeat."""
    beside, target = TARGETS[name]
    lines = [
        "| tool | seconds | of the processor | times ours | of the processor | MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    ours = costs.get(OURS, [])
    for tool, found in costs.items():
        by_clock, by_processor = (
            median(getattr(cost, part) / getattr(own, part) for cost, own in zip(found, ours, strict=False))
            for part in ("wall", "processor")
        )
        cells = [median(getattr(cost, part) for cost in found) for part in Cost._fields]
        numbers = f"{cells[0]:.2f} | {cells[1]:.2f} | {by_clock:.1f} | {by_processor:.1f} | {cells[2]:.0f}"
        lines.append(f"| {tool} | {numbers} |")
    return "\n".join([*lines, "", f"Target: {target} times as fast as {beside}.", ""])


def _made(qrels: Path, data: Path) -> None:
    """Write runs like those of that round, over the first topics of the qrels, unless they exist."""
    if (data / "covid" / "many" / "qrels.txt").exists():
        return
    whole = islice(generate.read_qrels(qrels).items(), TOPICS)
    grades = {topic: dict(islice(judged.items(), JUDGED)) for topic, judged in whole}
    with tempfile.TemporaryDirectory() as folder:
        generate.write_qrels(grades, Path(folder) / "qrels")
        generate.many(Path(folder) / "qrels", data / "covid" / "many", runs=RUNS)


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interface", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that `benchmarks.generate big` filled")
    parser.add_argument("--qrels", type=Path, help="judgments that the 143 runs are made for, once")
    parser.add_argument("--repeats", type=int, default=3, help="how often (default: 3)")
    parser.add_argument("--trec-eval", metavar="PROGRAM", help="default: $TREC_EVAL or the PATH")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the other tools")
    parser.add_argument("--only", choices=list(TARGETS), action="append", help="only this table, repeatable")
    given = parser.parse_args(arguments)
    data = given.data.resolve()
    if given.qrels:
        _made(given.qrels, data)
    print("".join(f"- {name}: {value}\n" for name, value in measuring.machine().items()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        makers: dict[str, Callable[[], dict[str, list[Cost]]]] = {
            "files": lambda: one("files", data, given.python, folder, given.repeats),
            "dictionaries": lambda: one("dictionaries", data, given.python, folder, given.repeats),
            "many": lambda: many(data, given.python, given.trec_eval, folder, given.repeats),
        }
        for kind in given.only or makers:
            print(f"### {kind}\n\n{table(kind, makers[kind]())}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
