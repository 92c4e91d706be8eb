"""The kinds of run: rankings, answers, and what judges say. All that differs between them is asked here.

A task takes runs of one kind. `of` gives the object of a kind, which `run_kinds` loads; where there are
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

from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, QrelsRevision, Run, Task
from leaderboard.errors import Problem
from leaderboard.measures.binding import BoundMeasure
from leaderboard.pooling.registry import Method
from leaderboard.trec.qrels.revision_inputs import RevisionInputs
from leaderboard.trec.read.blocks import Consumer
from leaderboard.trec.read.lines import Limits, Source
from leaderboard.trec.runs.check import Report, Rules
from leaderboard.trec.runs.packing import PackedBlocks

RANKINGS, ANSWERS, JUDGES = KINDS = ("rankings", "answers", "judges")
LEAST_COVERAGE = 0.8
"""What a run covers of the topics of a blind task: anything smaller is a probe for single judgments."""

Others = Sequence[Callable[[], Consumer]]
"""What else takes the blocks of rankings while a file is read."""
Scores = npt.NDArray[np.float64]
Again = Callable[[BoundMeasure], tuple[Scores, Scores | None]]
"""Scores by a measure computed anew, and the parts of their aggregate."""


@dataclass(frozen=True, slots=True, eq=False)
class UploadRules:
    """What a file is checked against, read before the check so that none runs inside a transaction."""

    task_id: int
    kind: "RunKind"
    checks: Rules
    is_blind: bool
    earlier: tuple[tuple[int, str, bytes], ...] = ()
    """(run id, name, sketch) of the team's runs in this task."""
    own: Any = None
    """What the kind asks besides, as its `rules` gives it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedRun:
    """An accepted run as it is stored; digest: of what it says, whatever the form of its file."""

    topics: int
    entries: int
    """Documents, segments or values."""
    deepest: int
    """The most of them on one topic."""
    digest: str
    sketch: bytes
    tag: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the file says of the run."""
    order_differs: bool = False
    index: bytes = b""
    blocks: PackedBlocks = field(default_factory=PackedBlocks)
    """The rankings, or the answers."""
    answers: tuple[str, ...] = ()
    """Of a run of answers the topic of each of the blocks."""
    board: bytes = b""
    """What a judge says."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasureScores:
    """A run's scores by one measure, and what their aggregate is made of where they alone do not tell."""

    scores: Scores
    parts: Scores | None


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """What came of a run: scores by measure, and its judged hits; None where these are stored already."""

    by_measure: dict[str, MeasureScores]
    hits: bytes | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be computed: the measures a run lacks under an edition's revision, and its hits."""

    dialect: int
    missing: tuple[dict[str, Any], ...]
    lacks_hits: bool
    inputs: RevisionInputs
    ranking_sha256: str = ""
    """Digest of the run's rankings; empty for a run that is still being read."""
    revision_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunKind:
    """A kind of run: what it is called, and what is done with runs of it."""

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
    """The measure of this kind that a name stands for; raises UnknownMeasure."""
    alike: str
    """What is the same in near copies, in words."""
    stored: str
    """What a check of damage calls runs of it."""
    hidden_name: str
    """What a file is called whose own name is not told."""
    pooled: str
    """What pools are made of, in words; empty where there are none."""
    pool_methods: Mapping[str, Method]
    usual_pool: Mapping[str, object]
    """The method that is offered first, as a spec."""
    shortest: int
    """About how many bytes a topic takes at least in a file, beside its id."""
    missed: str
    """What becomes of a topic that a run misses, in words that follow a measure's."""
    missing: str
    """What becomes of what is missing, where scores are not trec_eval's."""
    rules: Callable[[Session, Task, list[str]], Any]
    """What the task asks of a file on these topics, beside what it asks of rankings."""
    checked: Callable[[Source, UploadRules, Limits, Others | None], tuple[Report, PackedRun | None]]
    """The report of a file, and the run if it is accepted; others None: it is not to be stored."""
    topics_of: Callable[[Session, Collection[int]], set[str]]
    """The topics that any of the runs speaks of; one statement."""
    prepared: Callable[[Session, Edition, int], list[Any]]
    """Requests of what pages of an edition and a phase wait for, beside what those of all kinds do."""
    is_one_run: Callable[[Path, str, Limits], bool]
    """Whether an archive, `zip` or `tar`, is one run and not several."""
    store: Callable[[Session, int, PackedRun], None]
    """Store what a run says."""
    damage: Callable[[Database, Run], Iterator[str]]
    """What is wrong with what is stored of a run; raises Damaged as well."""
    measures: Callable[[Session, Task, QrelsRevision], list[dict[str, Any]]]
    """The measures of a task as an edition keeps them."""
    has_hits: Callable[[Session, int], bool]
    """Whether something is stored with a run's scores, computed from what it says and the judgments."""
    compute: Callable[[Database, int, Plan], RunScores]
    """All that a run lacks, scores in the revision's topic order; raises Damaged."""
    again: Callable[[Database, int, Plan, bytes | None], tuple[Sequence[str], Again]]
    """What is wrong with a run's stored hits, and what computes its scores anew; raises Damaged."""
    open_hits: Callable[[int, Plan, bytes], object]
    """A run's stored hits; raises Damaged."""


_loads: dict[str, Callable[[], RunKind]] = {}


def register(loads: Mapping[str, Callable[[], RunKind]]) -> None:
    """Say how kinds are loaded: they stand on modules that ask for them, so none can be imported here."""
    _loads.update(loads)


@cache
def of(name: str) -> RunKind:
    """The kind of that name, one of KINDS."""
    return _loads[name]()


@cache
def judged_by(judgments: str) -> RunKind:
    """The kind whose boards rest on judgments of that kind."""
    return of({"answers": ANSWERS, "board": JUDGES}.get(judgments, RANKINGS))


def refused_probe(
    report: Report, fact: str, topics: Sized, says: str, remedy: str, field: str = "run"
) -> Report:
    """The report of a file sent to a blind task, refused where it tells of too few of all topics.

    It is a probe: its scores would tell how single topics are judged. fact: the one that counts its topics.
    """
    told, of_all = report.facts.get(fact, 0), len(topics)
    if not report.facts or told >= LEAST_COVERAGE * of_all:
        return report
    rule = f"{says} {told} of {of_all} topics; a blind task scores at least {LEAST_COVERAGE:.0%}."
    return replace(report, problems=(*report.problems, Problem(rule, remedy, field=field)))
