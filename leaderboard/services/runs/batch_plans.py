"""What is to become of files that are sent together: names, teams and kinds, by rules that one chose.

Only the files and the list are looked at, no database, so that
the same rules hold on the site and at the command line.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from leaderboard.errors import Invalid, LeaderboardError, Problem, TooLarge
from leaderboard.services.phase_rules import KINDS
from leaderboard.services.runs import lists, prepare
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.lists import ListRow, RunList
from leaderboard.trec.facts.fields import FactValue
from leaderboard.trec.read.archives import Limits, any_blocks
from leaderboard.trec.read.bundles import kind_of
from leaderboard.trec.read.lines import shown

MOST_FILES = 500
"""Files of one batch."""
FROM_FILE, FROM_TAG = "file", "tag"
BY_LIST, BY_FOLDER = "list", "folder"


@dataclass(frozen=True, slots=True)
class BatchFile:
    """A file of a batch: where it lies and the name it came by, or why no archive would give it."""

    name: str
    path: Path | None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """How names, teams and kinds come about, and whether good files wait for a look.

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
    """The phase that they are sent to; empty: the one that takes runs."""
    late: str = ""
    """Why they count though the phase has closed, as an organiser says."""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A file, the run that it is to be, and the name of its team; '' where one was chosen for all."""

    path: Path
    file_name: str
    run: RunRequest
    team: str = ""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is to become of the files: those that are checked, and a problem for each of the others."""

    files: tuple[FileRequest, ...]
    refused: tuple[tuple[str, Problem], ...]

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams that files are for, in the order of their names."""
        return tuple(sorted({one.team for one in self.files if one.team}))


def archive_kind(path: Path, limits: Limits, task_kind: str) -> str:
    """'zip' or 'tar' for an archive of runs; '' for one run.

    One run is LongEval's zip of answers too, and of a task of judges an archive of one judge's parts.
    """
    kind = kind_of(path, limits)
    if kind == "zip" and task_kind == "answers":
        from leaderboard.trec.answers import packages

        return "" if packages.is_package(path) else kind
    if kind and task_kind == "judges":
        from leaderboard.services.nuggets import senders

        return "" if senders.has_parts(path, limits) else kind
    return kind


def plan(files: Sequence[BatchFile], wished: BatchRequest, most: int = MOST_FILES) -> BatchPlan:
    """Give each file its name, team and kind by the rules that were chosen; needs no database.

    Raises Invalid where the rules cannot work, TooLarge for too many files.
    """
    if len(files) > most:
        raise TooLarge(f"These are {len(files):,} files; {most} are taken at once.")
    _require_sensible(files, wished)
    planned: dict[str, FileRequest] = {}
    refused: list[tuple[str, Problem]] = []
    used: list[ListRow] = []
    for file in files:
        if file.path is None:
            refused.append((file.name, file.problem or Problem("The file cannot be read.")))
            continue
        row = _listed(file, wished, used)
        if isinstance(row, Problem):
            refused.append((file.name, row))
            continue
        used += [row] if row else []
        one = _request(file, file.path, wished, row)
        if isinstance(one, Problem):
            refused.append((file.name, one))
        elif (earlier := planned.get(one.run.name.casefold())) is not None:
            rule = f"{shown(earlier.file_name)} of the same batch has the name {earlier.run.name} already."
            refused.append((file.name, Problem(rule, "Give the file, or its tag, another name.")))
        else:
            planned[one.run.name.casefold()] = one
    if wished.runs is not None and wished.team == BY_LIST:
        refused += [(shown(row.run), _no_file(row)) for row in wished.runs.without(used)]
    return BatchPlan(tuple(planned.values()), tuple(refused))


def _require_sensible(files: Sequence[BatchFile], wished: BatchRequest) -> None:
    if not files:
        raise Invalid("There are no run files in what was sent.")
    if wished.names_from not in (FROM_FILE, FROM_TAG):
        raise Invalid("A run's name comes from its file or from its tag.")
    if wished.kind not in KINDS:
        raise Invalid(f"A run is one of {', '.join(KINDS)}, not {shown(wished.kind)!r}.")
    if wished.team == BY_LIST and wished.runs is None:
        raise Invalid("Give the list that says whose runs these are: lines of run,team,kind.")


def _no_file(row: ListRow) -> Problem:
    rule = f"Line {row.line} of the list names this run of {shown(row.team)}, but no file is it."
    return Problem(rule, "Check its name in the list, or send its file.")


def _listed(file: BatchFile, wished: BatchRequest, used: Collection[ListRow]) -> ListRow | Problem | None:
    """The file's row of the list; None without a list. A list may also say the kinds of one team's runs."""
    if wished.runs is None or file.path is None:
        return None
    row = wished.runs.row_of(lists.names_of(file.name, first_tag(file.path)))
    if row is None and wished.team == BY_LIST:
        return Problem("The list has neither the name of this file nor its tag.", "Add a line for it.")
    if row in used:
        return Problem("Another file of the batch is this run of the list too.", "Send one of the two.")
    return row


def _request(file: BatchFile, path: Path, wished: BatchRequest, row: ListRow | None) -> FileRequest | Problem:
    """The run that a file is to be."""
    tag = first_tag(path) if wished.names_from == FROM_TAG else ""
    name = prepare.suggested_name(tag or file.name)
    team = ""
    if wished.team == BY_LIST and row is not None:
        team = row.team
    elif wished.team == BY_FOLDER:
        folders = file.name.split("/")[:-1]
        if not folders:
            return Problem("The file is in no folder that could name its team.", "Put it into one.")
        team = folders[-1]
    kind = row.kind if row is not None and row.kind else wished.kind
    original = {"original": int(row.reproduces)} if row is not None and row.reproduces else {}
    run = RunRequest(
        name, kind, wished.description, wished.facts, wished.phase, reproduces=original, late=wished.late
    )
    return FileRequest(path, file.name, run, team)


def first_tag(path: Path) -> str:
    """The tag of a run's first entry; '' where there is none or the file cannot be read."""
    try:
        head = next(any_blocks(path, Limits(memory=prepare.QUICK_MEMORY)), b"")
    except LeaderboardError:
        return ""
    entries = (line.split() for line in head.splitlines() if line and not line.startswith(b"#"))
    fields = next((fields for fields in entries if fields), [])
    return fields[5].decode("utf-8", "replace") if len(fields) == 6 else ""
