"""Feeds mutated files to every reader: `python -m benchmarks.fuzz --help`.

Each reader has a process of its own, with a cap on its memory; each file has a cap on CPU time and is read
with either kernel. Only LeaderboardErrors count as answers. Exit code 1 where anything was found.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.fuzz.readers import READERS
from benchmarks.fuzz.running import MEGABYTES, SECONDS, Findings, content, fuzz, limit_memory, peak_megabytes

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 5


def in_process(name: str, numbers: range, seed: int, folder: Path) -> tuple[Findings, float]:
    """What a process of its own finds, and its peak memory in MB; where it dies, another one goes on."""
    total, peak, start = Findings(), 0.0, numbers.start
    while start < numbers.stop:
        command = [sys.executable, "-m", "benchmarks.fuzz", "--child", str(folder), "--seed", str(seed)]
        command += ["--only", name, "--from", str(start), "--files", str(numbers.stop - start)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            report = json.loads(done.stdout)
            peak = max(peak, report.pop("peak"))
            return _together(total, Findings(**report)), peak
        number = int((folder / "number").read_text())
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        read = Findings(number - start + 1, crashes=[f"{number}: ended with {done.returncode}: {last}"[:300]])
        total, start = _together(total, read), number + 1
    return total, peak


def _together(one: Findings, other: Findings) -> Findings:
    return Findings(
        one.files + other.files,
        one.taken + other.taken,
        one.refused + other.refused,
        one.crashes + other.crashes,
        one.disagreements + other.disagreements,
        one.over + other.over,
        max(one.slowest, other.slowest),
    )


def _child(given: argparse.Namespace) -> None:
    """Read the files within this process and print what was found."""
    limit_memory()
    found = fuzz(given.only[0], range(given.first, given.first + given.files), given.seed, given.child)
    print(json.dumps({**asdict(found), "peak": peak_megabytes()}))


def _line(name: str, found: Findings, peak: float) -> str:
    counts = (found.files, found.taken, found.refused)
    faults = (len(found.crashes), len(found.disagreements), len(found.over))
    cells = [
        name,
        *(f"{count:,}" for count in (*counts, *faults)),
        f"{1000 * found.slowest:.0f}",
        f"{peak:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="for each reader (default: 10,000)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same files (default: 1)")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first file")
    parser.add_argument("--only", choices=list(READERS), action="append", help="only this reader, repeatable")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where files with a fault are written")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Feed, print a table, and say what was found."""
    given = _arguments(arguments)
    if given.child:
        _child(given)
        return 0
    print(f"seed {given.seed}, {SECONDS:g} s of CPU a file, {MEGABYTES} MB more than at the start\n")
    print("| reader | files | taken | refused | crashes | disagreements | over | slowest ms | peak MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    faults: dict[str, list[str]] = {}
    for name in given.only or READERS:
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        try:
            found, peak = in_process(name, range(given.first, given.first + given.files), given.seed, folder)
        finally:
            shutil.rmtree(folder)
        print(_line(name, found, peak), flush=True)
        if found.faults:
            faults[name] = found.faults
    for name, found_faults in faults.items():
        print(f"\n{name}:\n" + "\n".join(f"- file {fault}" for fault in found_faults[:SHOWN]))
        for fault in found_faults if given.keep else ():
            number = int(fault.partition(":")[0])
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / f"{name}-{number}").write_bytes(content(name, given.seed, number, READERS[name]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
