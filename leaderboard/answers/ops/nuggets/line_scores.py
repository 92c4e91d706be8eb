"""Scores of a task's runs by a separate judgment series for answers.

They are not stored: they are computed from the stored answers under the newest revision of the series when
its board is read, and cached by a digest of all inputs.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import median
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers as answers_services
from leaderboard.answers.ops.nuggets import scoring
from leaderboard.answers.ops.nuggets.reading import WORDS
from leaderboard.boards.ops.rows import AnswersBasis
from leaderboard.core.policy import TaskAccess
from leaderboard.db.tables import Qrels, QrelsRevision, Task
from leaderboard.errors import Invalid, NotFound
from leaderboard.measures.answers.registry import parse
from leaderboard.measures.judged import IntArray
from leaderboard.memory import keep
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.evaluations.shown import FloatArray, PartialMean, ShownEdition
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.qrels.lines import DRAFT
from leaderboard.scoring.ops.statistics import requests
from leaderboard.stats.arrays import Arrays
from leaderboard.trec.facts import families
from leaderboard.trec.nuggets.judgments import MANY_FAILED
from leaderboard.trec.nuggets.packing import PARTS, PackedAnswers

KIND = "answers"
"""Name of answer judgments among the kinds of judgments."""
NAMED = 20
"""Maximum number of topics named in a sentence."""


def of_edition(session: Session, shown: ShownEdition, access: TaskAccess) -> AnswersBasis | None:
    """The basis of an edition's scores; None for rankings, and while judgments are hidden."""
    if KIND not in shown.kinds or shown.edition is None or not access.details:
        return None
    basis = of_packed(scoring.packed_of(session, shown.edition.revision_id))
    return replace(basis, lines=separate_series(session, shown.edition.task_id))


def separate_series(session: Session, task_id: int) -> tuple[tuple[int, str], ...]:
    """Number and name of each separate judgment series for answers, by name; one statement."""
    lines = select(Qrels.id, Qrels.name).where(*is_separate(task_id)).order_by(Qrels.name)
    return tuple((line_id, name) for line_id, name in session.execute(lines))


def is_separate(task_id: int) -> tuple[ColumnElement[bool], ...]:
    """SQL conditions for the separate judgment series for answers of a task."""
    return (
        Qrels.task_id == task_id,
        Qrels.kind == KIND,
        Qrels.name != MAIN,
        Qrels.name.not_like(f"{DRAFT}%"),
    )


# Counting all labels dominates the time of a board, which reads the same judgments each time.
@keep
def of_packed(packed: bytes) -> AnswersBasis:
    """The basis of scores under stored judgments; raises Damaged."""
    judged = scoring.opened(packed)
    assigned = judged.judgments.assignments
    nuggets = [given for given in judged.judgments.nuggets.topics.values() if given]
    vital = [sum(nugget.importance == "vital" for nugget in given) for given in nuggets]
    middle = float(median(vital)) if vital else None
    failed = None if assigned is None else assigned.failed_share
    machines = [maker.name for maker in judged.made_by.values() if maker.kind != "human"]
    return AnswersBasis(
        made_by=tuple((WORDS[part], str(judged.made_by[part])) for part in PARTS if part in judged.made_by),
        families=frozenset().union(*map(families, machines)),
        median_vital=middle,
        failed=failed,
        warning=(warning := _warning(failed)),
        sentences=tuple(filter(None, (warning, *_sentences(judged, middle)))),
    )


def _warning(failed: float | None) -> str:
    if failed is None or failed <= MANY_FAILED:
        return ""
    return f"Warning: {failed:.1%} of all assignments failed; they count as not supported."


def _sentences(judged: PackedAnswers, middle: float | None) -> Iterator[str]:
    if middle is not None:
        nuggets = "nugget" if middle == 1 else "nuggets"
        yield (
            f"The median topic has {middle:g} vital {nuggets}, so topic scores are coarse and their "
            "differences are often skewed. With few topics, the guarded paired t-test allows for that."
        )
    if judged.leaves_out and judged.without_vital:
        left = ", ".join(judged.without_vital[:NAMED])
        yield f"Measures of vital nuggets exclude topics without any: {left}."


VERSION = 1
"""Version of cached results; a new version invalidates older ones."""
MOST_ANSWERS = 20_000
"""Maximum number of answers scored within a request: a few seconds."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LineRevision:
    """The newest revision of a judgment series for answers.

    topics: its judged topics that count for the viewer, in order; measures: supported measures of the task,
    with keys, versions and the topics that each does not cover.
    """

    line_id: int
    name: str
    number: int
    note: str
    at: datetime
    sha256: str
    packed: bytes
    topics: tuple[str, ...]
    measures: tuple[Mapping[str, Any], ...]

    @property
    def judged(self) -> PackedAnswers:
        """Its nuggets and labels."""
        return scoring.opened(self.packed)

    @property
    def keys(self) -> tuple[str, ...]:
        """Its measures."""
        return tuple(measure["key"] for measure in self.measures)

    def topics_of(self, key: str) -> tuple[str, ...]:
        """The topics that count and that a measure covers."""
        without = next(set(measure["left_out"]) for measure in self.measures if measure["key"] == key)
        return tuple(topic for topic in self.topics if topic not in without)


@dataclass(frozen=True, slots=True, eq=False)
class RunByLine:
    """A run under a series: measure -> mean if judged on all topics, else partial mean.

    by_topic: measure -> scores on the topics of that measure, nan where the run is not judged.
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    partial: Mapping[str, PartialMean] = field(default_factory=dict)
    by_topic: Mapping[str, FloatArray] = field(default_factory=dict)


def newest_of(session: Session, task: Task, line_id: int, topic_set: str) -> LineRevision:
    """The newest revision of a series on a set of topics; three statements.

    Raises NotFound for an unknown series and for that of the board, Damaged.
    """
    row = session.execute(
        select(Qrels.name, QrelsRevision, QrelsRevision.packed)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(*is_separate(task.id), Qrels.id == line_id)
        .order_by(QrelsRevision.number.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        raise NotFound(f"{task.name} has no such separate judgment series.")
    revision, judged = row.QrelsRevision, scoring.opened(row.packed)
    sets = editions.topic_sets(session, task.id, revision.topics)
    return LineRevision(
        line_id=line_id,
        name=row.name,
        number=revision.number,
        note=revision.note,
        at=revision.created_at,
        sha256=revision.sha256,
        packed=row.packed,
        topics=tuple(sets.get(topic_set, {"topics": ()})["topics"]),
        measures=tuple(scoring.measures(judged, task.measures, task.primary_measure)),
    )


def of_runs(session: Session, line: LineRevision, runs: Mapping[int, str]) -> dict[int, RunByLine]:
    """Run id -> scores under the series; runs: id -> digest of the answers.

    One statement per run not scored before. Raises Invalid if there are too many to wait for.
    """
    digests = {run_id: _digest(line, answers) for run_id, answers in runs.items()}
    by_run = {run_id: requests.kept.get(digest) for run_id, digest in digests.items()}
    lacking = [run_id for run_id, arrays in by_run.items() if arrays is None]
    if (answers := len(lacking) * len(line.judged.topics)) > MOST_ANSWERS:
        raise Invalid(
            f"This judgment series requires scoring {answers:,} answers while you wait; the limit is "
            f"{MOST_ANSWERS:,}. Make it a revision of the board's judgments to have it scored by jobs."
        )
    for run_id in lacking:
        by_run[run_id] = requests.kept.put(digests[run_id], _computed(session, line, run_id, runs[run_id]))
    places = _places(line)
    return {run_id: _by_line(places, arrays) for run_id, arrays in by_run.items() if arrays is not None}


def _digest(line: LineRevision, answers: str) -> str:
    versions = [(measure["key"], measure["version"]) for measure in line.measures]
    facts = ("line_scores", VERSION, line.sha256, versions, answers)
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _computed(session: Session, line: LineRevision, run_id: int, digest: str) -> Arrays:
    """Measure -> scores on all judged topics, with numerators and denominators of quotients."""
    answers = {answer.topic: answer for answer in answers_services.of_run(session, run_id)}
    by_measure = scoring.scores(line.judged, digest, answers, line.keys)
    arrays: Arrays = {key: scores.scores for key, scores in by_measure.items()}
    arrays |= {
        _parts(key): measure_scores.parts
        for key, measure_scores in by_measure.items()
        if measure_scores.parts is not None
    }
    return arrays


def _parts(key: str) -> str:
    return f"parts of {key}"


def _places(line: LineRevision) -> dict[str, IntArray]:
    """Measure -> index in a score vector of each of its topics that count."""
    place = {topic: at for at, topic in enumerate(line.judged.topics)}
    return {
        key: np.array([place[topic] for topic in line.topics_of(key)], dtype=np.int64) for key in line.keys
    }


def _by_line(places: Mapping[str, IntArray], arrays: Arrays) -> RunByLine:
    scores, partial, by_topic = {}, {}, {}
    for key, topics in places.items():
        values = np.asarray(arrays[key], dtype=np.float64)
        by_topic[key] = values[topics]
        judged = topics[~np.isnan(values[topics])]
        if not len(judged):
            continue
        parts = arrays.get(_parts(key))
        of_judged = None if parts is None else np.asarray(parts, dtype=np.float64)[:, judged]
        mean = parse(key).aggregate(values[judged], of_judged)
        if len(judged) == len(topics):
            scores[key] = mean
        else:
            partial[key] = PartialMean(mean, len(judged), len(topics))
    return RunByLine(scores, partial, by_topic)
