"""Run files of the demo task: a TREC run under an ir_metadata header, compressed without a time stamp."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from demo.texts import FOLDER

DEPTH = 100
Ranking = list[tuple[str, float]]


@dataclass(frozen=True)
class System:
    """What a run file's header says: name, one sentence, family, parameters, libraries."""

    name: str
    description: str
    family: str
    request: str
    parameters: Mapping[str, float | int | str]
    libraries: str = "numpy, scipy"


def ranking(docnos: Sequence[str], scores: Sequence[float], depth: int = DEPTH) -> Ranking:
    """The best documents with scores above 0, rounded, in the order trec_eval gives them."""
    scored = [(docno, round(float(score), 4)) for docno, score in zip(docnos, scores, strict=True)]
    positive = [pair for pair in scored if pair[1] > 0]
    positive.sort(key=lambda pair: (pair[1], pair[0]), reverse=True)
    return positive[:depth]


def header(system: System, milliseconds: float) -> list[str]:
    """The ir_metadata lines of a run."""
    lines = ["ir_metadata.start", "schema-version: 0.2", f"tag: {system.name}", "actor:", "  team: baselines"]
    lines += ["implementation:", "  source:", "    lang: python", f"    libraries: {system.libraries}"]
    lines += ["method:", "  automatic: true", f"  family: {system.family}"]
    lines += [f"  description: {system.description}", f"  topic-fields: {system.request}"]
    lines += [f"  query-latency-ms: {milliseconds:.2f}"]
    if system.parameters:
        lines += ["  parameters:"] + [f"    {key}: {value}" for key, value in system.parameters.items()]
    return [f"# {line}" for line in [*lines, "ir_metadata.end"]]


def write(
    system: System, rankings: Mapping[str, Ranking], milliseconds: float, folder: Path = FOLDER
) -> None:
    """Write `runs/NAME.run.gz`; milliseconds is the measured median over the topics."""
    lines = header(system, milliseconds)
    for topic, entries in rankings.items():
        for rank, (docno, score) in enumerate(entries, start=1):
            lines.append(f"{topic} Q0 {docno} {rank} {score:.4f} {system.name}")
    data = ("\n".join(lines) + "\n").encode("ascii")
    path = folder / "runs" / f"{system.name}.run.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))


def read(path: Path) -> dict[str, Ranking]:
    """The rankings of a run file by topic, in its order."""
    rankings: dict[str, Ranking] = {}
    for line in gzip.decompress(path.read_bytes()).decode("ascii").splitlines():
        if not line.startswith("#"):
            topic, _, docno, _, score, _ = line.split()
            rankings.setdefault(topic, []).append((docno, float(score)))
    return rankings
