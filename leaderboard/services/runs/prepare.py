"""An uploaded run file, digested, checked and packed before any transaction opens."""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from leaderboard.checksums import compressor, framed, plain_bytes
from leaderboard.errors import Problem
from leaderboard.services.kinds import PackedRun, UploadRules
from leaderboard.trec.read.archives import TooSlow
from leaderboard.trec.read.blocks import Consumer
from leaderboard.trec.read.bundles import is_larger
from leaderboard.trec.read.lines import Limits, Source
from leaderboard.trec.read.plain import is_longer
from leaderboard.trec.runs.fingerprints import similarity
from leaderboard.trec.runs.reports import Report

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".txt", ".run", ".res", ".trec", ".jsonl")
CHUNK_BYTES = 2**20
_LEVEL = 1
QUICK_MEMORY = 2**25
"""Bytes a file may take to be decompressed while its sender waits."""
QUICK_BUFFER = 2**20
"""Bytes that lines of one topic may have there: a thousand lines of any length allowed."""
NEAR_COPY = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class PreparedUpload:
    """A file with its digest, the report of its check, and the packed run if it is accepted.

    path is None where the file is stored already.
    """

    path: Path | None
    file_name: str
    sha256: str
    size: int
    report: Report
    run: PackedRun | None

    def chunks(self) -> Iterator[bytes]:
        """The file as sent, in compressed pieces of about a megabyte."""
        assert self.path is not None, "a stored file has its pieces"
        pieces = compressor(_LEVEL)
        with self.path.open("rb") as file:
            while piece := file.read(CHUNK_BYTES):
                yield framed(b"", pieces.compress(piece))


def unpack_chunk(body: bytes) -> bytes:
    """A stored piece as it was sent; raises Damaged where it is not what was stored."""
    return plain_bytes(b"", body, "bytes")


def quick(path: Path, file_name: str, rules: UploadRules, limits: Limits) -> PreparedUpload | None:
    """The file as `prepare` gives it, None where that takes more than its sender can be made to wait for."""
    try:
        return prepare(
            path, file_name, rules, replace(limits, memory=QUICK_MEMORY, buffer_bytes=QUICK_BUFFER)
        )
    except TooSlow:
        return None


def check_only(path: Path, rules: UploadRules, limits: Limits) -> Report | None:
    """The report of a file that is not sent, None where it takes longer than anybody can be made to wait."""
    quickly = replace(limits, memory=QUICK_MEMORY, buffer_bytes=QUICK_BUFFER)
    try:
        return rules.kind.checked(path, rules, quickly, None)[0]
    except TooSlow:
        return None


def prepare(path: Path, file_name: str, rules: UploadRules, limits: Limits) -> PreparedUpload:
    """The file checked and, if it can be accepted, packed; bad content ends in the report, not an error."""
    report, packed = checked(path, rules, limits)
    return PreparedUpload(path, file_name, digest(path), path.stat().st_size, report, packed)


def checked(
    source: Source, rules: UploadRules, limits: Limits, *others: Callable[[], Consumer]
) -> tuple[Report, PackedRun | None]:
    """The report of a file, and the packed run if it can be accepted; others take the run's blocks too."""
    report, packed = rules.kind.checked(source, rules, limits, others)
    if packed is None or not report.accepted:
        return report, None
    return replace(report, warnings=(*report.warnings, *_copies(packed.sketch, rules))), packed


def unchecked(path: Path, file_name: str) -> PreparedUpload:
    """The file with its digest only, for those checked later by the evaluator."""
    return PreparedUpload(path, file_name, digest(path), path.stat().st_size, Report((), (), {}), None)


def is_large(path: Path, inline_bytes: int) -> bool:
    """Whether a file, by its plain size or the memory it takes, is too much while its sender waits.

    Of an archive that is one run, by the size of its files.
    """
    is_one = is_longer(path, inline_bytes, QUICK_MEMORY)
    return is_one or is_larger(path, inline_bytes, Limits(memory=QUICK_MEMORY))


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


def _copies(sketch: bytes, rules: UploadRules) -> list[Problem]:
    problems = []
    for _, name, other in rules.earlier:
        share = similarity(sketch, other)
        if share >= NEAR_COPY:
            same = "the same" if share == 1.0 else f"{share:.0%} the same"
            problems.append(
                Problem(
                    f"the {rules.kind.alike} are {same} as those of your run {name}.",
                    "Withdraw one of them if this was not meant.",
                    field="ranking",
                )
            )
    return problems
