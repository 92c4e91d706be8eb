"""Makes the runs of the benchmark: `python -m benchmarks.generate --help`.

Everything comes from a seed and real qrels: the same files each time on the same numpy.
"""

import argparse
import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import variants

SEED = 20_240_601
TAG = "benchmark"
COLLECTION_SIZE = 8_841_823
"""Passages of MS MARCO: documents of `big` are integers below."""
FOUND = 0.85
"""Chance of a relevant document to be in `big`'s ranking at all: the recall of BM25 there."""
STEEPNESS = 1.25
"""Of the ranks at which they are: above 1 favours the top."""
TIES = 0.02
"""Share of neighbours in `big` with the same score."""
SPREADS = (15.0, 6.7, 12.0)
"""Difference of the first score and the 1,000th in the three kinds of `many`; 6.7 makes 48 % of
neighbours the same once they are cut to two decimals."""
KINDS = ("fixed", "rounded", "shortest")
SKILLS = (1.4, 2.6)
"""How far relevant documents lie above others in the worst and the best run of `many`."""
PLAUSIBLE = 0.7
"""How far judged documents that are not relevant do: they were pooled from runs."""

Generator = np.random.Generator
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Grades = dict[str, dict[str, int]]


def read_qrels(path: Path) -> Grades:
    """Grades by topic and docno, in the order of the file, which may be a .gz."""
    grades: Grades = {}
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            topic, _, docno, grade = line.split()
            grades.setdefault(topic, {})[docno] = int(grade)
    return grades


def write_qrels(grades: Grades, path: Path) -> None:
    """Write them as TREC qrels."""
    with path.open("w") as file:
        for topic, judged in grades.items():
            file.writelines(f"{topic} 0 {docno} {grade}\n" for docno, grade in judged.items())


def big(qrels: Path, folder: Path, *, topics: int | None = None, depth: int = 1000, seed: int = SEED) -> None:
    """One run over all topics of the qrels: run.txt, run.txt.gz and qrels.txt in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    grades = dict(list(read_qrels(qrels).items())[:topics])
    write_qrels(grades, folder / "qrels.txt")
    rng = np.random.default_rng(seed)
    # No file name and no time inside: the same bytes each time.
    with (
        (folder / "run.txt").open("wb") as plain,
        (folder / "run.txt.gz").open("wb") as packed,
        gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=6, mtime=0) as compressed,
    ):
        for topic, judged in grades.items():
            text = _big_topic(rng, topic, judged, depth).encode("ascii")
            plain.write(text)
            compressed.write(text)


def _big_topic(rng: Generator, topic: str, judged: dict[str, int], depth: int) -> str:
    relevant = np.array([int(docno) for docno, grade in judged.items() if grade > 0], dtype=np.int64)
    documents = rng.choice(COLLECTION_SIZE, size=depth + len(relevant), replace=False)
    documents = documents[~np.isin(documents, relevant)][:depth]
    retrieved = relevant[rng.random(len(relevant)) < FOUND]
    ranks = (depth ** (rng.random(len(retrieved)) ** STEEPNESS)).astype(np.int64) - 1
    # Two relevant documents at one rank: the first gives way to the last.
    documents[ranks] = retrieved
    scores = _descending(rng, depth, SPREADS[0], TIES)
    rows = zip(documents.tolist(), range(1, depth + 1), scores.tolist(), strict=True)
    return "".join([f"{topic} Q0 {docno} {rank} {score:.6f} {TAG}\n" for docno, rank, score in rows])


def many(qrels: Path, folder: Path, *, runs: int = 100, depth: int = 1000, seed: int = SEED) -> None:
    """Runs over few topics with many judgments: run-000.txt and so on, and qrels.txt, in the folder.

    A third has scores of six decimals, a third of two (so that about half the neighbours tie), a
    third in full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    grades = read_qrels(qrels)
    write_qrels(grades, folder / "qrels.txt")
    pool = _pool(grades, 3 * depth)
    for place in range(runs):
        rng = np.random.default_rng([seed, place])
        kind = place * len(KINDS) // runs
        with (folder / f"run-{place:03}.txt").open("w", encoding="ascii") as file:
            file.writelines(_many_run(rng, grades, pool, depth, kind, f"{KINDS[kind]}{place:03}"))


def _pool(grades: Grades, least: int) -> dict[str, int]:
    """Every judged docno and its place, filled up with made ones to that number."""
    docnos = dict.fromkeys(docno for judged in grades.values() for docno in judged)
    docnos |= dict.fromkeys(f"UNJUDGED-{number:06}" for number in range(least - len(docnos)))
    return {docno: place for place, docno in enumerate(docnos)}


def _many_run(
    rng: Generator, grades: Grades, pool: dict[str, int], depth: int, kind: int, tag: str
) -> Iterator[str]:
    docnos = list(pool)
    skill = rng.uniform(*SKILLS)
    for topic, judged in grades.items():
        places = np.array([pool[docno] for docno in judged], dtype=np.int64)
        lift = np.where(np.array(list(judged.values())) > 0, skill, PLAUSIBLE)
        ranked = _ranked(rng, places, lift, len(docnos), depth)
        scores = _texts(_descending(rng, len(ranked), SPREADS[kind], 0.0), kind)
        rows = zip(ranked.tolist(), range(1, len(ranked) + 1), scores, strict=True)
        yield "".join([f"{topic} Q0 {docnos[place]} {rank} {score} {tag}\n" for place, rank, score in rows])


def _ranked(rng: Generator, judged: IntArray, lift: FloatArray, size: int, depth: int) -> IntArray:
    """The best of the judged documents and as many others, by a normal score that judged ones lift."""
    others = rng.choice(size, size=3 * depth, replace=False)
    others = others[~np.isin(others, judged)]
    strength = rng.normal(size=len(judged) + len(others))
    strength[: len(judged)] += lift
    best = np.argsort(-strength, kind="stable")[:depth]
    return np.concatenate([judged, others])[best]


def _descending(rng: Generator, depth: int, spread: float, ties: float) -> FloatArray:
    gaps = rng.exponential(spread / depth, size=depth)
    gaps[rng.random(depth) < ties] = 0.0
    return rng.uniform(25.0, 40.0) - np.cumsum(gaps)


def _texts(scores: FloatArray, kind: int) -> Iterable[str]:
    if KINDS[kind] == "shortest":
        return map(repr, scores.tolist())
    return map(("%.6f" if KINDS[kind] == "fixed" else "%.2f").__mod__, scores.tolist())


def main(arguments: Sequence[str]) -> None:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, about in (
        ("big", "1 run of 1,000 documents per topic, for qrels of MS MARCO passages (docnos are integers)"),
        ("many", "100 runs of 1,000 documents per topic, for qrels like those of TREC-8"),
    ):
        kind = kinds.add_parser(name, help=about)
        kind.add_argument("qrels", type=Path, help="TREC qrels, may be a .gz")
        kind.add_argument("data", type=Path, help="folder that gets another for these files")
    kinds.add_parser("irregular", help="`big` in unusual forms").add_argument("data", type=Path)
    given = parser.parse_args(arguments)
    if given.kind == "big":
        big(given.qrels, given.data / "big")
    elif given.kind == "many":
        many(given.qrels, given.data / "many")
    else:
        variants.write_all(given.data / "big" / "run.txt", SEED)


if __name__ == "__main__":
    main(sys.argv[1:])
