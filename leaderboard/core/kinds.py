"""The kinds of run: rankings, answers, and what judges say. All that differs between them is asked here.

A task accepts runs of one kind. `of` gives the object of a kind, which a feature adds; where there are
rankings only, no module of another kind ever is.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.core import feature
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, QrelsRevision, Run, Task
from leaderboard.errors import Problem
from leaderboard.measures.binding import BoundMeasure
from leaderboard.pooling.registry import Method
from leaderboard.trec.qrels.revision_inputs import RevisionInputs
from leaderboard.trec.read.kernel import Consumer
from leaderboard.trec.read.lines import Limits, Source
from leaderboard.trec.runs.check import Report, Rules
from leaderboard.trec.runs.packing import PackedBlocks

RANKINGS, ANSWERS, JUDGES = KINDS = ("rankings", "answers", "judges")
LEAST_COVERAGE = 0.8
"""Minimum topic coverage of a run in a blind task; smaller runs could probe single judgments."""

Others = Sequence[Callable[[], Consumer]]
"""Other consumers of the blocks of rankings while a file is read."""
Scores = npt.NDArray[np.float64]
Procedure = Callable[[Session, Any, Sequence[int], Callable[[float], None]], Any]
"""Arrays of a source of scores and the ids of runs; reports its progress."""
Again = Callable[[BoundMeasure], tuple[Scores, Scores | None]]
"""Scores by a measure computed again, and the parts of their aggregate."""


@dataclass(frozen=True, slots=True, eq=False)
class UploadRules:
    """The rules for a file check, read first so that no check runs inside a transaction."""

    task_id: int
    kind: "RunKind"
    checks: Rules
    is_blind: bool
    earlier: tuple[tuple[int, str, bytes], ...] = ()
    """(run id, name, sketch) of the team's runs in this task."""
    own: Any = None
    """Further rules of the kind, as its `rules` gives them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedRun:
    """An accepted run in its stored form; digest: of what it says, whatever the form of its file."""

    topics: int
    entries: int
    """Documents, segments or values."""
    deepest: int
    """The most of them on one topic."""
    digest: str
    sketch: bytes
    tag: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the run in the file."""
    order_differs: bool = False
    index: bytes = b""
    blocks: PackedBlocks = field(default_factory=PackedBlocks)
    """The rankings, or the answers."""
    answers: tuple[str, ...] = ()
    """Of a run of answers the topic of each of the blocks."""
    board: bytes = b""
    """Content of a judge's run."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasureScores:
    """A run's scores by one measure, and the parts of their aggregate where scores alone do not suffice."""

    scores: Scores
    parts: Scores | None


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """Scoring result of a run: scores by measure, and judged hits, None if already stored."""

    by_measure: dict[str, MeasureScores]
    hits: bytes | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A scoring request: measures missing for a run under an edition's revision, and its hits."""

    dialect: int
    missing: tuple[dict[str, Any], ...]
    lacks_hits: bool
    inputs: RevisionInputs
    ranking_sha256: str = ""
    """Digest of the run's rankings; empty for a run that is still being read."""
    revision_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunKind:
    """A kind of run: its names, and how its runs are handled."""

    name: str
    judgments: str
    """The kind of judgments that its boards rest on."""
    ranks_documents: bool
    """Whether runs rank documents, which are judged one by one."""
    may_be_open: bool
    """Whether all scores may be shown before a task closes."""
    usual_measures: tuple[str, ...]
    """The measures of a board unless others are chosen, the first one ranks it; empty: by its judgments."""
    parse: Callable[[str], BoundMeasure]
    """The measure of this kind with a name; raises UnknownMeasure."""
    alike: str
    """Description of what near copies share."""
    stored: str
    """Name of runs of this kind in the check for damage."""
    hidden_name: str
    """File name where the own name is hidden."""
    pooled: str
    """Description of the items that pools are made from; empty if it has none."""
    pool_methods: Mapping[str, Method]
    usual_pool: Mapping[str, object]
    """The method that is offered first, as a spec."""
    shortest: int
    """Approximate minimum bytes of a topic in a file, without its id."""
    missed: str
    """Sentence on topics that a run misses, to follow a measure's description."""
    missing: str
    """Sentence on missing items, where scores are not trec_eval's."""
    rules: Callable[[Session, Task, list[str]], Any]
    """The task's rules for a file on these topics, in addition to those for rankings."""
    checked: Callable[[Source, UploadRules, Limits, Others | None], tuple[Report, PackedRun | None]]
    """The report of a file, and the run if it is accepted; others None: it is not to be stored."""
    sample: Callable[[UploadRules, Sequence[str]], Iterator[str]] | None
    """Lines of a run of these documents that a task with these rules accepts; None: no task has one."""
    topics_of: Callable[[Session, Collection[int]], set[str]]
    """The topics that any of the runs mentions; one statement."""
    prepared: Callable[[Session, Edition, int], list[Any]]
    """Requests of what pages of an edition and a phase wait for, next to what those of all kinds do."""
    is_one_run: Callable[[Path, str, Limits], bool]
    """Whether an archive, `zip` or `tar`, is one run and not several."""
    store: Callable[[Session, int, PackedRun], None]
    """Store what a run says."""
    damage: Callable[[Database, Run], Iterator[str]]
    """Descriptions of damage in the stored data of a run; raises Damaged as well."""
    measures: Callable[[Session, Task, QrelsRevision], list[dict[str, Any]]]
    """The measures of a task as an edition keeps them."""
    has_hits: Callable[[Session, int], bool]
    """Whether something is stored with a run's scores, computed from what it says and the judgments."""
    compute: Callable[[Database, int, Plan], RunScores]
    """All that a run lacks, scores in the revision's topic order; raises Damaged."""
    again: Callable[[Database, int, Plan, bytes | None], tuple[Sequence[str], Again]]
    """Damage in a run's stored hits, and a function that computes its scores again; raises Damaged."""
    open_hits: Callable[[int, Plan, bytes], object]
    """A run's stored hits; raises Damaged."""
    basis: Callable[[Session, Any, Any], Any] | None
    """Origin of a board's judgments, for an edition and a viewer; None if there is nothing to state."""
    packed: Callable[[bytes, str], Any] | None
    """The judgments in a revision's packed bytes, by file name; None where they are rows; raises Damaged."""
    procedure: Procedure | None
    """Procedure that computes the statistic named after the kind, if there is one."""


@cache
def of(name: str) -> RunKind:
    """The kind of that name, one of KINDS."""
    return feature.KINDS[name]()


def is_known(name: str) -> bool:
    """Whether a feature of this site adds the kind."""
    return name in feature.KINDS


def procedure(name: str) -> Procedure | None:
    """The statistic function of the kind with this name; None for an unknown kind."""
    return of(name).procedure if is_known(name) else None


@cache
def judged_by(judgments: str) -> RunKind:
    """The run kind scored with this kind of judgments."""
    return of({"answers": ANSWERS, "board": JUDGES}.get(judgments, RANKINGS))


def refused_probe(
    report: Report, fact: str, topics: Sized, says: str, remedy: str, field: str = "run"
) -> Report:
    """The report of a file for a blind task, refused if it covers too few topics.

    It is a probe: its scores would reveal how single topics are judged. fact: the one that counts its topics.
    """
    covered, of_all = report.facts.get(fact, 0), len(topics)
    if not report.facts or covered >= LEAST_COVERAGE * of_all:
        return report
    rule = f"{says} {covered} of {of_all} topics; a blind task requires at least {LEAST_COVERAGE:.0%}."
    return replace(report, problems=(*report.problems, Problem(rule, remedy, field=field)))
