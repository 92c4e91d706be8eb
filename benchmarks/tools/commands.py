"""The command of each evaluator, and whether it is available."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks import values

MEASURES = [part for measure in values.MEASURES for part in ("-m", measure)]
PACKAGES = ("pytrec_eval", "ir_measures", "ranx")
BASE = "trec_eval"
OURS = "leaderboard"
WITHOUT_KERNEL = "leaderboard-numpy"
NAMES = (BASE, OURS, WITHOUT_KERNEL, *PACKAGES)


class Workload(NamedTuple):
    """Runs to score against qrels in one go."""

    name: str
    qrels: Path
    runs: tuple[Path, ...]


@dataclass(frozen=True)
class Tool:
    """An evaluator; command returns the command line, where the path is one for a file in between."""

    name: str
    command: Callable[[Workload, Path], list[str]]
    version: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


class Missing(Exception):
    """A missing evaluator, with the reason."""


def trec_eval_program(given: str | None) -> str:
    """The path of trec_eval: from there, the environment's TREC_EVAL or the PATH."""
    program = shutil.which(given or os.environ.get("TREC_EVAL") or "trec_eval")
    if program is None:
        raise Missing("no program (--trec-eval, TREC_EVAL or the PATH)")
    return str(Path(program).resolve())


def trec_eval(given: str | None) -> Tool:
    """trec_eval from there, the environment's TREC_EVAL or the PATH."""
    program = trec_eval_program(given)
    output = subprocess.run([program, "-v"], capture_output=True, text=True, check=False)
    version = re.search(r"\d+(\.\d+)+", output.stdout + output.stderr)

    def command(work: Workload, between: Path) -> list[str]:
        calls = [_trec_eval_call(program, work.qrels, run, between) for run in work.runs]
        return ["sh", "-c", " && ".join(calls)]

    return Tool(BASE, command, version.group() if version else "of unknown version")


def _trec_eval_call(program: str, qrels: Path, run: Path, between: Path) -> str:
    before = ""
    if run.suffix == ".gz":
        # It maps its files into memory, so that neither a pipe nor a .gz will do.
        before = f"gzip -dc {shlex.quote(str(run))} > {shlex.quote(str(between))} && "
        run = between
    return before + shlex.join([program, "-q", "-c", *MEASURES, str(qrels), str(run)])


def leaderboard(given: str, dialect: int, *, kernel: bool) -> Tool:
    """This project's, with its kernel in C or without."""
    program = shutil.which(given)
    if program is None:
        raise Missing(f"no program {given}")
    path = str(Path(program).absolute())

    def command(work: Workload, between: Path) -> list[str]:
        files = map(str, (work.qrels, *work.runs))
        return [path, "evaluate", *files, "--per-topic", "--dialect", str(dialect), *MEASURES]

    name, switch = (OURS, "on") if kernel else (WITHOUT_KERNEL, "off")
    return Tool(name, command, environment={"LEADERBOARD_KERNEL": switch})


def package(name: str, python: str) -> Tool:
    """A package of that interpreter, through the script here that calls it."""
    asked = (
        f"import {name}, importlib.metadata as m; print(m.version(m.packages_distributions()[{name!r}][0]))"
    )
    program = shutil.which(python)
    if program is None:
        raise Missing(f"no program {python}")
    # Not resolved: what a link into a virtual environment points to is outside of it.
    interpreter = str(Path(program).absolute())
    output = subprocess.run([interpreter, "-c", asked], capture_output=True, text=True, check=False)
    if output.returncode:
        raise Missing(f"not installed for {python}")

    def command(work: Workload, between: Path) -> list[str]:
        files = map(str, (work.qrels, *work.runs))
        return [interpreter, "-m", f"benchmarks.tools.with_{name}", *files]

    return Tool(name, command, output.stdout.strip())
