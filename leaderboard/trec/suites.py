"""Suites without a site: the file that names the members, submissions of many runs, their scores."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from leaderboard.errors import MAX_PROBLEMS, Invalid, LeaderboardError, Problem
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.stats.suites import MemberScores
from leaderboard.trec.facts import at, leaves, text_of
from leaderboard.trec.read.archives import DEFAULT_LIMITS, Limits
from leaderboard.trec.read.bundles import BundledFile, is_hidden, kind_of, member_name, unbundled
from leaderboard.trec.read.forms import USUAL, Asked
from leaderboard.trec.read.lines import Problems, shown
from leaderboard.trec.read.metadata import parse_file
from leaderboard.trec.scores.report import RunScores
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer

GROUPS = ("domain", "language", "lag")
"""Properties that members may be grouped by."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_BYTES = 2**20
_SUITE = {
    "name": str,
    "measure": str,
    "reference": str,
    "baseline": str,
    "macro": str,
    "shared_topics": bool,
    "missing": str,
    "metadata": str,
    "members": list,
}
_MEMBER = {
    "name": str,
    "qrels": str,
    "measure": str,
    "leave_out": list,
    "changed_docnos": str,
    **dict.fromkeys(GROUPS, str),
}
_CHOICES = {"missing": ("blank", "empty"), "metadata": ("optional", "required"), "macro": GROUPS}


@dataclass(frozen=True, slots=True)
class Member:
    """One set of topics of a suite; its name is that of its folder in submissions.

    qrels is None for a task of a site, whose scores are there.
    """

    name: str
    qrels: Path | None
    measure: str
    groups: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[Path, ...] = ()
    changed_docnos: Path | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """The members of a suite in order, and how submissions to it are read.

    reference: the member that changes are relative to; baseline: the run that gains are relative to;
    macro: the key that groups members in the mean of means; shared_topics: whether a topic id is one topic
    in all members; missing_is_empty: whether a missing member counts as an empty run.
    """

    name: str
    members: tuple[Member, ...]
    reference: str = ""
    baseline: str = ""
    macro: str = ""
    shared_topics: bool = False
    missing_is_empty: bool = False
    metadata_is_required: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, in order."""
        return tuple(member.name for member in self.members)


def read_suite(path: Path) -> Suite:
    """The suite of a file; paths in it are from its folder. Raises Invalid with up to 25 problems."""
    if path.stat().st_size > MOST_BYTES:
        raise Invalid(f"{path}: a suite file has at most {MOST_BYTES:,} bytes.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: the suite file is not TOML: {error}.") from error
    reader = _Reader(path)
    reader.look(data, _SUITE, "the suite")
    members = [reader.member(item, str(data.get("measure", ""))) for item in data.get("members", ())]
    named = [member for member in members if member is not None]
    reader.look_at_all(data, named)
    return Suite(
        name=data.get("name", path.stem),
        members=tuple(named),
        reference=data.get("reference", ""),
        baseline=data.get("baseline", ""),
        macro=data.get("macro", ""),
        shared_topics=data.get("shared_topics", False),
        missing_is_empty=data.get("missing") == "empty",
        metadata_is_required=data.get("metadata") == "required",
    )


def meant(name: str, names: tuple[str, ...]) -> str:
    """A remedy that names the likely choice, or all choices.

    >>> meant("snapshot1", ("snapshot-1", "snapshot-2")), meant("x", ("a",))
    ('Did you mean snapshot-1?', 'It must be one of a.')
    """
    near = get_close_matches(name, names, 1)
    return f"Did you mean {near[0]}?" if near else f"It must be one of {', '.join(names)}."


class _Reader:
    """Collects the problems of a suite file."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._problems = Problems("suite file")

    def look(self, data: Mapping[str, Any], kinds: Mapping[str, type], where: str) -> bool:
        """Add a problem for each unknown key and each value of the wrong kind; whether all are right."""
        before = len(self._problems.found)
        for key, value in data.items():
            if key not in kinds:
                self._add(f"Unknown key in {where}.", meant(key, tuple(kinds)), "key", key)
            elif not isinstance(value, kinds[key]):
                kind = {str: "text", bool: "true or false", list: "a list"}[kinds[key]]
                self._add(f"The value of {key} in {where} must be {kind}.", "", key, str(value))
            elif key in _CHOICES and value not in _CHOICES[key]:
                self._add("This is not a valid choice.", meant(str(value), _CHOICES[key]), key, str(value))
        return len(self._problems.found) == before

    def member(self, data: Any, measure: str) -> Member | None:
        """A member; None where it has a problem that hides what it is."""
        if not isinstance(data, dict):
            self._add(
                "A member must be a table [[members]].", "Write its name and its qrels.", "members", str(data)
            )
            return None
        name = str(data.get("name", ""))
        if not self.look(data, _MEMBER, f"the member {name}"):
            return None
        if not NAME.fullmatch(name):
            rule = "A member's name must be of letters, digits, dots, underscores and hyphens, as a folder's."
            self._add(rule, "", "name", name)
            return None
        if not data.get("measure", measure):
            self._add("The member has no measure.", "Name one for it or for the suite.", "member", name)
        return Member(
            name=name,
            qrels=self._file(name, data.get("qrels", "")),
            measure=data.get("measure", measure),
            groups={key: data[key] for key in GROUPS if key in data},
            left_out=tuple(self._file(name, str(entry)) for entry in data.get("leave_out", ())),
            changed_docnos=self._file(name, data["changed_docnos"]) if "changed_docnos" in data else None,
        )

    def look_at_all(self, data: Mapping[str, Any], members: list[Member]) -> None:
        """Check the members together; raises Invalid with all problems found."""
        names = tuple(member.name for member in members)
        if not names and not self._problems.found:
            self._add("The suite has no members.", "Write a table [[members]] for each.", "", "")
        for name in {name for name in names if names.count(name) > 1}:
            self._add("Two members have this name.", "Give each member its own name.", "member", name)
        if names and (reference := data.get("reference")) and reference not in names:
            self._add(
                "The reference must be a member.", meant(str(reference), names), "reference", str(reference)
            )
        if macro := data.get("macro"):
            for member in members:
                if macro not in member.groups:
                    self._add(f"The member has no {macro}.", "Macro means need it.", "member", member.name)
        self._problems.stop()

    def _file(self, member: str, name: str) -> Path:
        path = self._folder / name
        if not name or not path.is_file():
            self._add(f"The member {member} needs a file that does not exist.", "", "file", name or "qrels")
        return path

    def _add(self, rule: str, remedy: str, key: str, value: str) -> None:
        self._problems.add(Problem(rule, remedy, None, key, shown(value)))


METADATA = ("ir-metadata.yml", "ir-metadata.yaml")
RUNS = ("run.txt", "run.txt.gz")
ANSWERS = ("run.jsonl", "run.jsonl.gz")
"""Other names of a member's run if it accepts answers or boards of judges."""
MOST_RUN_BYTES = 250_000_000
"""Of one member's submitted file: LongEval's limit."""
MOST_METADATA_BYTES = 2**20
WANTED: tuple[tuple[str, ...], ...] = (("tag",), ("actor", "team"))
"""Required fields of a header, where one is required."""


class Submission:
    """One submission, read member by member; its problems are collected, because all of it counts or none.

    Nothing is unpacked under a name from the archive, and no more than one member at a time.
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
        """Each member's name and the file of its run, which exists until the next is requested.

        Raises Invalid for a file that is not an archive, or a damaged one; TooLarge beyond the
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
        """Add the problems of a member's run, under the name that it was submitted by."""
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
            raise Invalid(f"{self._shown} is rejected; none of it counts.", self.problems)

    def add(self, rule: str, remedy: str, name: str) -> None:
        """Keep a problem; raises Invalid once there are as many as are ever shown."""
        self.problems.append(Problem(rule, remedy, None, "", shown(name)))
        if len(self.problems) >= MAX_PROBLEMS:
            raise Invalid(f"{self._shown} is rejected; none of it counts.", self.problems)

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
            rule = "A run belongs in the folder of its member, at the top level."
            self.add(rule, f"Write {self._members[0]}/{RUNS[0]}.", file.name)
        elif folder not in self._members:
            self.add("There is no such member.", meant(folder, self._members), file.name)
        elif name not in self._names:
            self.add(f"A run must be named {' or '.join(self._names)}.", "", file.name)
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
            self.add("Metadata may have at most one megabyte.", "", file.name)
            return
        self.metadata = parse_file(file.path)


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The differences of two ir_metadata headers: key and both values, empty where missing.

    >>> differing({"tag": "a", "actor": {"team": "x"}}, {"tag": "b", "actor": {"team": "x"}})
    [('tag', 'a', 'b')]
    """
    keys = [key for header in (first, second) for key in _flat(header)]
    sides = _flat(first), _flat(second)
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


@dataclass(frozen=True, slots=True, eq=False)
class SuiteRun:
    """A run of a suite: by member its scores, (topics,); missing: members that it has none for."""

    name: str
    scores: dict[str, FloatArray]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SuiteScores:
    """All runs of a suite, by member in the suite's order.

    notes: what was left out of members' rankings; read_as: how the files were read.
    """

    suite: Suite
    runs: tuple[SuiteRun, ...]
    measures: dict[str, BoundMeasure]
    topics: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    read_as: tuple[str, ...] = ()

    def of(self, members: Sequence[Member]) -> list[MemberScores]:
        """The scores in these members, a missing one None; the group is the one of macro means."""
        return [
            MemberScores(
                self.topics[member.name],
                tuple(run.scores.get(member.name) for run in self.runs),
                member.groups.get(self.suite.macro, ""),
            )
            for member in members
        ]


def score_suite(
    suite: Suite, paths: Sequence[Path], *, level: int = 1, dialect: int = 10, mapping: Asked = USUAL
) -> SuiteScores:
    """Every submission scored; memory does not grow with the size of runs.

    mapping: how the judgments of every member are read.

    Raises Invalid for judgments and measures as scorers do, for a submission with any problem, naming up to
    25, and for two submissions of one name.
    """
    scorers = {
        member.name: _scorer(member, Options((member.measure,), level, dialect), mapping)
        for member in suite.members
    }
    runs: list[SuiteRun] = []
    for path in paths:
        run = _scored(suite, scorers, Submission(path, suite.names))
        if run.name in {earlier.name for earlier in runs}:
            raise Invalid(f"Two submissions are named {run.name}; give each its own tag or file name.")
        runs.append(run)
    return SuiteScores(
        suite=suite,
        runs=tuple(runs),
        measures={name: scorer.measures[0] for name, scorer in scorers.items()},
        topics={name: scorer.topics for name, scorer in scorers.items()},
        notes=tuple(
            f"{name}: {note}" for name, scorer in scorers.items() for note in scorer.left_out_notes()
        ),
        read_as=tuple(note for scorer in scorers.values() for note in scorer.notes),
    )


def _scorer(member: Member, options: Options, mapping: Asked) -> Scorer:
    assert member.qrels is not None, "a suite file names judgments"
    inputs = Inputs(
        member.qrels, left_out=member.left_out, changed_docnos=member.changed_docnos, asked=mapping
    )
    scorer = Scorer(inputs, options)
    if len(scorer.measures) != 1:
        keys = ", ".join(measure.key for measure in scorer.measures)
        raise Invalid(f"The member {member.name} has one measure, not several: {keys}.")
    return scorer


def _scored(suite: Suite, scorers: dict[str, Scorer], submission: Submission) -> SuiteRun:
    scores: dict[str, FloatArray] = {}
    for member, path in submission.runs():
        try:
            scores[member] = _column(scorers[member].scores(path))
        except LeaderboardError as error:
            submission.refuse(member, path, error)
    submission.require(suite.metadata_is_required)
    missing = tuple(submission.missing)
    if suite.missing_is_empty:
        scores |= {member: _column(scorers[member].empty()) for member in missing}
    return SuiteRun(submission.name, scores, missing)


def _column(report: RunScores) -> FloatArray:
    (column,) = report.scores.values()
    values = np.asarray(column, dtype=np.float64)
    if not np.isfinite(values).all():
        raise Invalid("The measure is undefined on some topic, so runs cannot be ranked by it.")
    return values
