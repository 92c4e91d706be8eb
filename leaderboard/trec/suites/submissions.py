"""A submission to a suite: a folder, a zip or a tar with a run for each member in a folder of its name."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leaderboard.errors import MAX_PROBLEMS, Invalid, LeaderboardError, Problem
from leaderboard.trec.facts.header import at, leaves, text_of
from leaderboard.trec.read.archives import DEFAULT_LIMITS, Limits
from leaderboard.trec.read.bundles import BundledFile, is_hidden, kind_of, member_name, unbundled
from leaderboard.trec.read.lines import shown
from leaderboard.trec.read.metadata import parse_file
from leaderboard.trec.suites.suite_files import meant

METADATA = ("ir-metadata.yml", "ir-metadata.yaml")
RUNS = ("run.txt", "run.txt.gz")
ANSWERS = ("run.jsonl", "run.jsonl.gz")
"""What the run of a member that takes answers, or boards of judges, may be named too."""
MOST_RUN_BYTES = 250_000_000
"""Of one member's file as it is sent: LongEval's limit."""
MOST_METADATA_BYTES = 2**20
WANTED: tuple[tuple[str, ...], ...] = (("tag",), ("actor", "team"))
"""What a header must say where one is required."""


class Submission:
    """One submission, read a member at a time; what is wrong with it is collected, as all or nothing counts.

    Nothing of an archive is unpacked under a name that it chose, and no more than one member at a time.
    """

    def __init__(
        self,
        path: Path,
        members: Sequence[str],
        limits: Limits = DEFAULT_LIMITS,
        *,
        names: Sequence[str] = RUNS,
        called: str = "",
    ) -> None:
        """names: what a run may be named; called: the name that the archive came by, if not its own."""
        self.path = path
        self._called = called or path.name
        self._names = tuple(names)
        self.problems: list[Problem] = []
        self.metadata: dict[str, Any] = {}
        self.seen: dict[str, str] = {}
        self._members = tuple(members)
        self._limits = limits

    @property
    def name(self) -> str:
        """The tag of its metadata, or else its own name without an ending."""
        return text_of(at(self.metadata, "tag")) or self._called.split(".")[0]

    @property
    def _shown(self) -> str:
        return str(self.path) if self._called == self.path.name else shown(self._called)

    @property
    def missing(self) -> list[str]:
        """The members that it has no run for."""
        return [name for name in self._members if name not in self.seen]

    def runs(self) -> Iterator[tuple[str, Path]]:
        """Each member's name and the file of its run, which is there until the next is asked for.

        Raises Invalid for what is neither a folder nor an archive, or a damaged one; TooLarge beyond the
        limits.
        """
        with TemporaryDirectory() as folder:
            for file in self._files(Path(folder)):
                member = self._member(file)
                if member and file.path is not None:
                    yield member, file.path
                if file.path is not None and file.path.parent == Path(folder):
                    file.path.unlink()

    def refuse(self, member: str, path: Path, error: LeaderboardError) -> None:
        """Keep what is wrong with the run of a member, under the name that it was sent by."""
        name = self.seen[member]
        self.add(error.message.removeprefix(f"{path}: ").replace(str(path), name), "", name)

    def require(self, metadata: bool) -> None:
        """Raise Invalid with up to 25 problems, if there are any; metadata: whether there must be some."""
        if metadata:
            absent = [path for path in WANTED if not text_of(at(self.metadata, *path))]
            for path in absent:
                self.add(f"It says no {'.'.join(path)}.", "Fill it in.", METADATA[0])
        if not self.seen and not self.problems:
            self.add("It has no run of any member.", f"Folders are named {', '.join(self._members)}.", "")
        if self.problems:
            raise Invalid(f"{self._shown} is refused: nothing of it counts.", self.problems)

    def add(self, rule: str, remedy: str, name: str) -> None:
        """Keep a problem; raises Invalid once there are as many as are ever shown."""
        self.problems.append(Problem(rule, remedy, None, "", shown(name)))
        if len(self.problems) >= MAX_PROBLEMS:
            raise Invalid(f"{self._shown} is refused: nothing of it counts.", self.problems)

    def _files(self, folder: Path) -> Iterator[BundledFile]:
        if self.path.is_dir():
            return _of_folder(self.path)
        kind = kind_of(self.path, self._limits)
        if not kind:
            raise Invalid(
                f"{self._shown} is not a folder, a zip or a tar; put each member's run into its folder."
            )
        return unbundled(self.path, kind, folder, self._limits)

    def _member(self, file: BundledFile) -> str:
        """The member that a file is the run of; empty for metadata, and where it is refused."""
        if file.leads_outside:
            self.add("The path is absolute or has `..`.", "Make the archive inside its folder.", file.name)
        elif file.problem is not None:
            self.add(file.problem.rule, file.problem.remedy, file.name)
        elif file.name in METADATA:
            self._read_metadata(file)
        else:
            return self._run(file)
        return ""

    def _run(self, file: BundledFile) -> str:
        folder, _, name = file.name.rpartition("/")
        if "/" in folder or not folder:
            rule = "A run stands in the folder of its member, which stands at the top."
            self.add(rule, f"Write {self._members[0]}/{RUNS[0]}.", file.name)
        elif folder not in self._members:
            self.add("There is no such member.", meant(folder, self._members), file.name)
        elif name not in self._names:
            self.add(f"A run is named {' or '.join(self._names)}.", "", file.name)
        elif folder in self.seen:
            self.add(f"The member has a run already, {self.seen[folder]}.", "Send one.", file.name)
        elif file.path is not None and file.path.stat().st_size > MOST_RUN_BYTES:
            self.add(f"A run has at most {MOST_RUN_BYTES // 10**6} MB.", "Compress it.", file.name)
        else:
            self.seen[folder] = file.name
            return folder
        return ""

    def _read_metadata(self, file: BundledFile) -> None:
        assert file.path is not None, "a file without a problem was unpacked"
        if file.path.stat().st_size > MOST_METADATA_BYTES:
            self.add("Metadata is a megabyte at most.", "", file.name)
            return
        self.metadata = parse_file(file.path)


def differing(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What two ir_metadata headers say differently: key, and what either says, empty where nothing.

    >>> differing({"tag": "a", "actor": {"team": "x"}}, {"tag": "b", "actor": {"team": "x"}})
    [('tag', 'a', 'b')]
    """
    keys = [key for header in (one, two) for key in _flat(header)]
    sides = _flat(one), _flat(two)
    both = ((key, sides[0].get(key, ""), sides[1].get(key, "")) for key in dict.fromkeys(keys))
    return [row for row in both if row[1] != row[2]]


def _flat(header: Mapping[str, Any]) -> dict[str, str]:
    return {".".join(path): text for path, text in leaves(header)}


def _of_folder(path: Path) -> Iterator[BundledFile]:
    """The files of a folder as an archive of it would have them; links are refused, not followed."""
    for each in sorted(path.rglob("*")):
        name = member_name(each.relative_to(path).as_posix())
        if is_hidden(name):
            continue
        if each.is_symlink():
            yield BundledFile(
                name, None, Problem("This is a link, not a file.", "Put the file itself there.")
            )
        elif each.is_file():
            yield BundledFile(name, each)
