"""An uploaded run file, digested, checked and packed before any transaction opens."""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leaderboard.checksums import compressor, framed, plain_bytes
from leaderboard.errors import Problem
from leaderboard.services.phase_rules import LEAST_MEDIAN_DEPTH
from leaderboard.services.runs.admission import UploadRules
from leaderboard.trec.read.archives import TooSlow
from leaderboard.trec.read.blocks import Consumer
from leaderboard.trec.read.bundles import is_larger
from leaderboard.trec.read.lines import Limits, Source
from leaderboard.trec.read.plain import is_longer
from leaderboard.trec.read.scanning import Scanned
from leaderboard.trec.runs.check import Checked, read_and_check
from leaderboard.trec.runs.fingerprints import SKETCH_DEPTH, RankingDigest, Sketch, similarity
from leaderboard.trec.runs.packing import PackedBlocks, RunPacker
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
LEAST_COVERAGE, MOST_UNKNOWN = 0.8, 0.01
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
    blocks: PackedBlocks
    answers: tuple[str, ...] | None = None
    """Of a run of answers the topics, whose answers are the blocks; it has no index."""
    board: bytes | None = None
    """Of a run of a task of judges its board; it has neither blocks nor an index."""


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
    if rules.answers is not None:
        return _checked_answers(path, rules)[0]
    if rules.board is not None:
        return _checked_board(path, rules, limits)[0]
    try:
        scanned, report = read_and_check(path, rules.checks, quickly)
    except TooSlow:
        return None
    if scanned is not None and rules.is_blind:
        report = _with_probe_problems(report, scanned.consumer, rules)
    return report


def prepare(path: Path, file_name: str, rules: UploadRules, limits: Limits) -> PreparedUpload:
    """The file checked and, if it can be accepted, packed; bad content ends in the report, not an error."""
    report, packed = checked(path, rules, limits)
    return PreparedUpload(path, file_name, digest(path), path.stat().st_size, report, packed)


def checked(
    source: Source, rules: UploadRules, limits: Limits, *others: Callable[[], Consumer]
) -> tuple[Report, PackedRun | None]:
    """The report of a file, and the packed run if it can be accepted; others take the run's blocks too."""
    if rules.answers is not None:
        return _checked_answers(source, rules)
    if rules.board is not None:
        return _checked_board(source, rules, limits)
    makers: list[Callable[[], Consumer]] = [RunPacker, RankingDigest, Sketch, *others]
    scanned, report = read_and_check(source, rules.checks, limits, *makers)
    if scanned is not None and rules.is_blind:
        report = _with_probe_problems(report, scanned.consumer, rules)
    if scanned is None or not report.accepted:
        return report, None
    packed = _packed(scanned)
    return replace(report, warnings=(*report.warnings, *_copies(packed.sketch, rules))), packed


def _checked_answers(source: Source, rules: UploadRules) -> tuple[Report, PackedRun | None]:
    from leaderboard.services.answers import sending

    assert rules.answers is not None, "the task takes answers"
    report, packed = sending.checked(source, rules.answers)
    if rules.is_blind:
        probes = sending.probe_problems(report, rules.answers, LEAST_COVERAGE)
        report = replace(report, problems=(*report.problems, *probes))
    if packed is None or not report.accepted:
        return report, None
    run = PackedRun(
        tag=packed.run,
        details=dict(packed.details),
        topics=len(packed.topics),
        entries=packed.segments,
        deepest=packed.most,
        digest=packed.digest,
        sketch=packed.sketch,
        order_differs=False,
        index=b"",
        blocks=packed.bodies,
        answers=packed.topics,
    )
    copies = _copies(run.sketch, rules, "cited documents and segments")
    return replace(report, warnings=(*report.warnings, *copies)), run


def _checked_board(source: Source, rules: UploadRules, limits: Limits) -> tuple[Report, PackedRun | None]:
    from leaderboard.services.judges import sending

    assert rules.board is not None, "the task takes boards"
    report, packed = sending.checked(source, rules.board, limits)
    if rules.is_blind:
        probes = sending.probe_problems(report, rules.board, LEAST_COVERAGE)
        report = replace(report, problems=(*report.problems, *probes))
    if packed is None or not report.accepted:
        return report, None
    run = of_judge(packed)
    return replace(report, warnings=(*report.warnings, *_copies(run.sketch, rules, "values"))), run


def of_judge(packed: Any) -> PackedRun:
    """A run of a judge, as its PackedJudge says, which no module is loaded for where there are rankings."""
    return PackedRun(
        tag=packed.tag,
        details={},
        topics=packed.topics,
        entries=packed.values,
        deepest=packed.most,
        digest=packed.digest,
        sketch=packed.sketch,
        order_differs=False,
        index=b"",
        blocks=PackedBlocks(),
        board=packed.body,
    )


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


def _packed(scanned: Scanned[Checked]) -> PackedRun:
    packer, digest_, sketch = scanned.consumer.others[:3]
    assert isinstance(packer, RunPacker)
    assert isinstance(digest_, RankingDigest)
    assert isinstance(sketch, Sketch)
    packed = packer.packed()
    return PackedRun(
        tag=scanned.tag,
        details=scanned.metadata,
        topics=len(scanned.consumer.depths),
        entries=scanned.entries,
        deepest=max(scanned.consumer.depths.values()),
        digest=digest_.hexdigest(),
        sketch=sketch.packed(),
        order_differs=digest_.differs,
        index=packed.index,
        blocks=packed.blocks,
    )


def _copies(sketch: bytes, rules: UploadRules, what: str = f"top {SKETCH_DEPTH} documents") -> list[Problem]:
    problems = []
    for _, name, other in rules.earlier:
        share = similarity(sketch, other)
        if share >= NEAR_COPY:
            same = "the same" if share == 1.0 else f"{share:.0%} the same"
            problems.append(
                Problem(
                    f"the {what} are {same} as those of your run {name}.",
                    "Withdraw one of them if this was not meant.",
                    field="ranking",
                )
            )
    return problems


def _with_probe_problems(report: Report, run: Checked, rules: UploadRules) -> Report:
    topics = set(rules.checks.expected)
    depths = sorted(depth for topic, depth in run.depths.items() if topic in topics)
    problems = []
    if topics and len(depths) < LEAST_COVERAGE * len(topics):
        which = "topics" if rules.checks.scored is None else "scored topics"
        problems.append(f"has {len(depths)} of {len(topics)} {which}; a blind task scores at least 80%.")
    if depths and depths[len(depths) // 2] < LEAST_MEDIAN_DEPTH:
        problems.append(
            f"lists fewer than {LEAST_MEDIAN_DEPTH} documents for most topics; a blind task scores deeper "
            "runs only."
        )
    if run.unknown > MOST_UNKNOWN * run.entries:
        problems.append("has more than 1% documents that are not in the collection.")
    # Runs like these are probes: their scores would tell what is judged.
    remedy = "Send the run with all it ranks; this task takes no other before it closes."
    probes = [Problem(rule, remedy, field="run") for rule in problems]
    return replace(report, problems=(*report.problems, *probes))
