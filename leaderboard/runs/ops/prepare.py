"""An uploaded run file, digested, checked and packed before any transaction opens.

It reads only the files and the list, not the database, so that the site and the command line apply the same
rules.
"""

import csv
import hashlib
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from leaderboard.checksums import compressor, framed, plain_bytes
from leaderboard.core import kinds
from leaderboard.core.kinds import PackedRun, UploadRules
from leaderboard.core.phase_rules import KINDS
from leaderboard.errors import MAX_PROBLEMS, Invalid, LeaderboardError, Problem, TooLarge
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.trec.facts import FactValue
from leaderboard.trec.read.archives import Limits as ArchivesLimits
from leaderboard.trec.read.archives import TooSlow, any_blocks
from leaderboard.trec.read.bundles import base_name, is_larger, kind_of
from leaderboard.trec.read.kernel import Consumer
from leaderboard.trec.read.lines import Limits, Source, shown
from leaderboard.trec.read.plain import is_longer
from leaderboard.trec.runs.check import Report
from leaderboard.trec.runs.fingerprints import similarity

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".txt", ".run", ".res", ".trec", ".jsonl")
CHUNK_BYTES = 2**20
_LEVEL = 1
QUICK_MEMORY = 2**25
"""Maximum decompressed size in bytes of a file checked while its sender waits."""
QUICK_BUFFER = 2**20
"""Maximum bytes of one topic's lines there: a thousand lines of any allowed length."""
NEAR_COPY = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class PreparedUpload:
    """A file with its digest, the report of its check, and the packed run if it is accepted.

    path is None if the file is already stored.
    """

    path: Path | None
    file_name: str
    sha256: str
    size: int
    report: Report
    run: PackedRun | None

    def chunks(self) -> Iterator[bytes]:
        """The submitted file, in compressed pieces of about a megabyte."""
        assert self.path is not None, "a stored file has its pieces"
        pieces = compressor(_LEVEL)
        with self.path.open("rb") as file:
            while piece := file.read(CHUNK_BYTES):
                yield framed(b"", pieces.compress(piece))


def unpack_chunk(body: bytes) -> bytes:
    """A stored piece as submitted; raises Damaged where it is not what was stored."""
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
    """The check report of a file that is not submitted; None if the check takes too long to wait for."""
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
    """A run name derived from a file name or any text: extensions dropped, invalid characters replaced."""
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
                    "If this is a mistake, withdraw one of them.",
                    field="ranking",
                )
            )
    return problems


LIST_BYTES = 500_000
NUMBER = re.compile("[1-9][0-9]{0,8}")
_COLUMNS = ("run", "team")


@dataclass(frozen=True, slots=True)
class ListRow:
    """One row of a run list: file name or tag, team, kind, and the reproduced run.

    kind: '' if not given; reproduces: the number of the original, '' if not given.
    """

    line: int
    run: str
    team: str
    kind: str
    reproduces: str = ""


@dataclass(frozen=True, slots=True)
class RunList:
    """The rows of a list."""

    rows: tuple[ListRow, ...]

    def row_of(self, names: Collection[str]) -> ListRow | None:
        """The row of the file with one of these names, the most specific first; None without one."""
        # A list may name files with suffixes that were removed later, or the other way round.
        by_run = {suggested_name(row.run): row for row in self.rows} | {row.run: row for row in self.rows}
        rows = (by_run.get(name) for name in names)
        return next((row for row in rows if row is not None), None)

    def without(self, used: Collection[ListRow]) -> tuple[ListRow, ...]:
        """The rows that are not among these."""
        return tuple(row for row in self.rows if row not in used)


def is_list(path: Path, name: str) -> bool:
    """Whether a file is a list: CSV by its name, whose first line names the columns run and team."""
    if not name.lower().endswith((".csv", ".tsv")) or path.stat().st_size > LIST_BYTES:
        return False
    with path.open("rb") as file:
        head = file.readline(1000).decode("utf-8-sig", "replace")
    return set(_COLUMNS) <= {cell.strip().lower() for cell in _cells(head)[0]} if head.strip() else False


def read_list(text: str) -> RunList:
    """The list in a text: columns run, team and perhaps kind and reproduces, by commas, tabs or semicolons.

    Raises Invalid with up to 25 problems: a column or a cell that is missing, an unknown kind, an original
    that is not a number, a run twice.
    """
    rows = [[cell.strip() for cell in row] for row in _cells(text.removeprefix("\ufeff"))]
    head = [cell.lower() for cell in rows[0]] if rows else []
    missing = [column for column in _COLUMNS if column not in head]
    if missing:
        problem = Problem(f"The list has no column {missing[0]}.", "The first line must be run,team,kind.", 1)
        raise Invalid(str(problem), [problem])
    by_run: dict[str, ListRow] = {}
    problems: list[Problem] = []
    for line, cells in enumerate(rows[1:], start=2):
        if any(cells):
            row = _row(line, dict(zip(head, cells, strict=False)))
            problems += _wrong(row, by_run.get(row.run))
            by_run.setdefault(row.run, row)
    if problems:
        raise Invalid(f"The list cannot be used: {problems[0]}", problems[:MAX_PROBLEMS])
    return RunList(tuple(by_run.values()))


def _cells(text: str) -> list[list[str]]:
    first = text.split("\n", 1)[0]
    separator = next((letter for letter in "\t;" if letter in first), ",")
    try:
        return list(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error as error:
        raise Invalid(f"The list is not CSV ({error}). Save it as CSV and submit it again.") from error


def _row(line: int, cells: dict[str, str]) -> ListRow:
    run, team, kind, original = (cells.get(name, "") for name in ("run", "team", "kind", "reproduces"))
    return ListRow(line, run, team, kind.lower(), original)


def _wrong(row: ListRow, earlier: ListRow | None) -> Iterator[Problem]:
    if not row.run or not row.team:
        yield Problem("A row must name a run and its team.", "Fill in both.", row.line)
    if row.kind and row.kind not in KINDS:
        yield Problem(f"The kind must be one of {', '.join(KINDS)}.", "", row.line, "kind", shown(row.kind))
    if row.reproduces and not NUMBER.fullmatch(row.reproduces):
        rule = "The reproduced run must be given by its number."
        yield Problem(rule, "For example 12, from /runs/12.", row.line, "reproduces", shown(row.reproduces))
    if earlier is not None and row.run:
        rule = f"The run is already on line {earlier.line}."
        yield Problem(rule, "Keep one of the two lines.", row.line, "run", shown(row.run))


def names_of(file_name: str, tag: str) -> tuple[str, ...]:
    """By what a list may call a file: its path, its name, that without endings, its tag."""
    base = base_name(file_name)
    return (file_name, base, suggested_name(base), tag)


MOST_FILES = 500
"""Files of one batch."""
FROM_FILE, FROM_TAG = "file", "tag"
BY_LIST, BY_FOLDER = "list", "folder"


@dataclass(frozen=True, slots=True)
class BatchFile:
    """A file of a batch: its path and original name, or why no archive would contain it."""

    name: str
    path: Path | None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """Rules for names, teams and kinds, and whether valid files wait for review.

    team: the id of the team of all files, or BY_LIST or BY_FOLDER.
    """

    team: int | str
    names_from: str = FROM_FILE
    kind: str = "official"
    description: str = ""
    facts: Mapping[str, FactValue] = field(default_factory=dict, hash=False)
    runs: RunList | None = None
    makes_teams: bool = False
    holds: bool = False
    phase: str = ""
    """The target phase; empty: the open phase."""
    late: str = ""
    """An organiser's reason to count them after the phase has closed."""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A file, the run that it is to be, and the name of its team; '' where one was chosen for all."""

    path: Path
    file_name: str
    run: RunRequest
    team: str = ""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The plan for the files: those to check, and a problem for each of the others."""

    files: tuple[FileRequest, ...]
    refused: tuple[tuple[str, Problem], ...]

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams that files are for, in the order of their names."""
        return tuple(sorted({file.team for file in self.files if file.team}))


def archive_kind(path: Path, limits: ArchivesLimits, task_kind: str) -> str:
    """'zip' or 'tar' for an archive of runs; '' for one run.

    One run is LongEval's zip of answers too, and of a judge task an archive of one judge's parts.
    """
    kind = kind_of(path, limits)
    return "" if kind and kinds.of(task_kind).is_one_run(path, kind, limits) else kind


def plan(files: Sequence[BatchFile], batch_request: BatchRequest, most: int = MOST_FILES) -> BatchPlan:
    """Give each file its name, team and kind by the rules that were chosen; needs no database.

    Raises Invalid where the rules cannot work, TooLarge for too many files.
    """
    if len(files) > most:
        raise TooLarge(f"You sent {len(files):,} files; at most {most} are accepted at once.")
    _require_sensible(files, batch_request)
    planned: dict[str, FileRequest] = {}
    refused: list[tuple[str, Problem]] = []
    used: list[ListRow] = []
    for file in files:
        if file.path is None:
            refused.append((file.name, file.problem or Problem("The file cannot be read.")))
            continue
        row = _listed(file, batch_request, used)
        if isinstance(row, Problem):
            refused.append((file.name, row))
            continue
        used += [row] if row else []
        file_request = _request(file, file.path, batch_request, row)
        if isinstance(file_request, Problem):
            refused.append((file.name, file_request))
        elif (earlier := planned.get(file_request.run.name.casefold())) is not None:
            rule = f"{shown(earlier.file_name)} in the same batch already has the name {earlier.run.name}."
            refused.append((file.name, Problem(rule, "Give the file, or its tag, another name.")))
        else:
            planned[file_request.run.name.casefold()] = file_request
    if batch_request.runs is not None and batch_request.team == BY_LIST:
        refused += [(shown(row.run), _no_file(row)) for row in batch_request.runs.without(used)]
    return BatchPlan(tuple(planned.values()), tuple(refused))


def _require_sensible(files: Sequence[BatchFile], batch_request: BatchRequest) -> None:
    if not files:
        raise Invalid("The submission contains no run files.")
    if batch_request.names_from not in (FROM_FILE, FROM_TAG):
        raise Invalid("The run name must come from the file name or the tag.")
    if batch_request.kind not in KINDS:
        raise Invalid(
            f"A run's kind is one of {', '.join(KINDS)}, not {shown(batch_request.kind)!r}.", field="kind"
        )
    if batch_request.team == BY_LIST and batch_request.runs is None:
        raise Invalid("Give a list with the team of each run: lines of run,team,kind.")


def _no_file(row: ListRow) -> Problem:
    rule = f"Line {row.line} of the list names this run of {shown(row.team)}, but no file matches it."
    return Problem(rule, "Check its name in the list, or add its file.")


def _listed(
    file: BatchFile, batch_request: BatchRequest, used: Collection[ListRow]
) -> ListRow | Problem | None:
    """The file's row of the list; None without a list. A list may also say the kinds of one team's runs."""
    if batch_request.runs is None or file.path is None:
        return None
    row = batch_request.runs.row_of(names_of(file.name, first_tag(file.path)))
    if row is None and batch_request.team == BY_LIST:
        return Problem(
            "The list contains neither the name of this file nor its tag.", "Add a line for this file."
        )
    if row in used:
        return Problem(
            "Another file of the batch matches the same run in the list.", "Submit only one of them."
        )
    return row


def _request(
    file: BatchFile, path: Path, batch_request: BatchRequest, row: ListRow | None
) -> FileRequest | Problem:
    """The run that a file is to be."""
    tag = first_tag(path) if batch_request.names_from == FROM_TAG else ""
    name = suggested_name(tag or file.name)
    team = ""
    if batch_request.team == BY_LIST and row is not None:
        team = row.team
    elif batch_request.team == BY_FOLDER:
        folders = file.name.split("/")[:-1]
        if not folders:
            return Problem(
                "The file is not in a folder that names its team.",
                "Move it into a folder named after the team.",
            )
        team = folders[-1]
    kind = row.kind if row is not None and row.kind else batch_request.kind
    original = {"original": int(row.reproduces)} if row is not None and row.reproduces else {}
    run = RunRequest(
        name,
        kind,
        batch_request.description,
        batch_request.facts,
        batch_request.phase,
        reproduces=original,
        late=batch_request.late,
    )
    return FileRequest(path, file.name, run, team)


def first_tag(path: Path) -> str:
    """The tag of a run's first entry; '' if absent or the file is unreadable."""
    try:
        head = next(any_blocks(path, ArchivesLimits(memory=QUICK_MEMORY)), b"")
    except LeaderboardError:
        return ""
    entries = (line.split() for line in head.splitlines() if line and not line.startswith(b"#"))
    fields = next((fields for fields in entries if fields), [])
    return fields[5].decode("utf-8", "replace") if len(fields) == 6 else ""
