"""An uploaded run file, digested, checked and packed before any transaction opens."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from leaderboard.errors import Problem
from leaderboard.services.admission import UploadRules
from leaderboard.trec.align import order, order_differs
from leaderboard.trec.check import Report, ranking_digest, read_and_check
from leaderboard.trec.lines import Limits
from leaderboard.trec.packing import pack_rankings
from leaderboard.trec.runs import Run

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".txt", ".run", ".res", ".trec")
CHUNK_BYTES = 2**20
SKETCH_SIZE = 256
SKETCH_DEPTH = 10
NEAR_COPY = 0.95
LEAST_COVERAGE, LEAST_MEDIAN_DEPTH, MOST_UNKNOWN = 0.8, 10, 0.01
"""What a blind task scores: anything smaller or stranger is a probe for single judgments."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedRun:
    """An accepted run as it is stored."""

    tag: str
    details: dict[str, Any]
    topics: int
    entries: int
    deepest: int
    digest: str
    sketch: bytes
    order_differs: bool
    index: bytes
    blocks: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedUpload:
    """A file on disk with its digest, the report of its check, and the packed run if it is accepted."""

    path: Path
    file_name: str
    sha256: str
    size: int
    report: Report
    run: PackedRun | None

    def chunks(self) -> Iterator[bytes]:
        """The file as sent, in compressed pieces of about a megabyte."""
        compressor = zstandard.ZstdCompressor(level=1)
        with self.path.open("rb") as file:
            while piece := file.read(CHUNK_BYTES):
                yield compressor.compress(piece)


def unpack_chunk(body: bytes) -> bytes:
    """A stored piece as it was sent."""
    return zstandard.ZstdDecompressor().decompress(body)


def prepare(path: Path, file_name: str, rules: UploadRules, limits: Limits) -> PreparedUpload:
    """The file checked and, if it can be accepted, packed; bad content ends in the report, not an error."""
    run, report = read_and_check(path, rules.checks, limits)
    packed = None
    if run is not None and rules.is_blind:
        report = _with_probe_problems(report, run, rules)
    if run is not None and report.accepted:
        packed = _pack(run)
        report = replace(report, warnings=(*report.warnings, *_copies(packed.sketch, rules)))
    return PreparedUpload(path, file_name, digest(path), path.stat().st_size, report, packed)


def unchecked(path: Path, file_name: str) -> PreparedUpload:
    """The file with its digest only, for those checked later by the evaluator."""
    return PreparedUpload(path, file_name, digest(path), path.stat().st_size, Report((), (), {}), None)


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def suggested_name(text: str) -> str:
    """A name for a run made of a file's name or any text: endings dropped, odd characters replaced."""
    name = text.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    while name.lower().endswith(ENDINGS):
        name = name[: name.rfind(".")]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
    return name[:64] or "run"


def _pack(run: Run) -> PackedRun:
    packed = pack_rankings(run.rankings.values())
    return PackedRun(
        tag=run.tag,
        details=run.metadata,
        topics=len(run.rankings),
        entries=run.entries,
        deepest=max(len(ranking.docnos) for ranking in run.rankings.values()),
        digest=ranking_digest(run),
        sketch=_sketch(run),
        order_differs=any(order_differs(ranking) for ranking in run.rankings.values()),
        index=packed.index,
        blocks=tuple(packed.blocks),
    )


def _sketch(run: Run) -> bytes:
    """The smallest hashes of all (topic, document) pairs in the top ten: similar sets share them."""
    hashes = set()
    for topic, ranking in run.rankings.items():
        top = ranking.docnos[order(ranking, 10)[:SKETCH_DEPTH]]
        for docno in top.tolist():
            piece = hashlib.blake2b(topic.encode() + b"\0" + docno, digest_size=8).digest()
            hashes.add(int.from_bytes(piece, "little"))
    return np.array(sorted(hashes)[:SKETCH_SIZE], dtype="<u8").tobytes()


def similarity(one: bytes, other: bytes) -> float:
    """The estimated share of top documents two sketches have in common (Jaccard, bottom-k estimate)."""
    first, second = np.frombuffer(one, "<u8"), np.frombuffer(other, "<u8")
    union = np.union1d(first, second)[:SKETCH_SIZE]
    if not len(union):
        return 1.0
    return float(np.isin(union, first).astype(int) @ np.isin(union, second).astype(int) / len(union))


def _copies(sketch: bytes, rules: UploadRules) -> list[Problem]:
    found = []
    for _, name, other in rules.earlier:
        share = similarity(sketch, other)
        if share >= NEAR_COPY:
            same = "the same" if share == 1.0 else f"{share:.0%} the same"
            found.append(
                Problem(
                    f"the top {SKETCH_DEPTH} documents are {same} as those of your run {name}.",
                    "Withdraw one of them if this was not meant.",
                    field="ranking",
                )
            )
    return found


def _with_probe_problems(report: Report, run: Run, rules: UploadRules) -> Report:
    topics = rules.checks.topics or ()
    depths = sorted(len(ranking.docnos) for ranking in run.rankings.values())
    problems = []
    if topics and len(run.rankings) < LEAST_COVERAGE * len(topics):
        problems.append(f"has {len(run.rankings)} of {len(topics)} topics; a blind task scores at least 80%.")
    if depths and depths[len(depths) // 2] < LEAST_MEDIAN_DEPTH:
        problems.append(
            "lists fewer than 10 documents for most topics; a blind task scores deeper runs only."
        )
    if _unknown_share(run, rules) > MOST_UNKNOWN:
        problems.append("has more than 1% documents that are not in the collection.")
    diagnostic = [
        Problem(rule, "A run like this is diagnostic and is not scored before the task closes.", field="run")
        for rule in problems
    ]
    return replace(report, problems=(*report.problems, *diagnostic))


def _unknown_share(run: Run, rules: UploadRules) -> float:
    unknown = rules.checks.unknown_docnos
    if unknown is None or not run.entries:
        return 0.0
    strange = sum(len(unknown(ranking.docnos.tolist())) for ranking in run.rankings.values())
    return strange / run.entries
