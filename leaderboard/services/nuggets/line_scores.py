"""Scores of a task's runs by another line of judgments of answers than the one its board rests on.

Nothing of them is stored: they are computed from the stored answers under the newest revision of the line
when somebody reads its board, and kept in memory by a digest of all they depend on.
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

from leaderboard.db.tables import Qrels, QrelsRevision, Task
from leaderboard.errors import Invalid, NotFound
from leaderboard.measures.answers.registry import parse
from leaderboard.measures.judged import IntArray
from leaderboard.memory import keep
from leaderboard.services import answers as answers_services
from leaderboard.services.evaluations import editions
from leaderboard.services.evaluations.shown import FloatArray, PartialMean, ShownEdition
from leaderboard.services.nuggets import scoring
from leaderboard.services.nuggets.reading import WORDS
from leaderboard.services.policy import Sight
from leaderboard.services.qrels.files import MAIN
from leaderboard.services.qrels.lines import DRAFT
from leaderboard.services.statistics import requests
from leaderboard.stats.arrays import Arrays
from leaderboard.trec.facts import families
from leaderboard.trec.nuggets.judgments import MANY_FAILED
from leaderboard.trec.nuggets.packing import PARTS, PackedAnswers

KIND = "answers"
"""What judgments of answers are called among kinds of judgments."""
NAMED = 20
"""Topics named in a sentence."""


@dataclass(frozen=True, slots=True)
class AnswersBasis:
    """Who made the judgments of an edition, and how good they are.

    made_by: (part, who made it) in words. families: those of the language models that made any part.
    median_vital: of the topics with nuggets the median number of vital ones, None where there are none.
    failed: the share of assignments that failed, None without assignments. warning: what is wrong with them
    where these are many, else empty; sentences: all that a board has to say, the warning among it.
    """

    made_by: tuple[tuple[str, str], ...]
    families: frozenset[str]
    median_vital: float | None
    failed: float | None
    warning: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    """Number and name of the other lines of judgments, which have boards of their own."""
    sentences: tuple[str, ...] = ()

    def shared_with(self, *stated: str) -> frozenset[str]:
        """The families that what a run states of its models has in common with the judgments.

        >>> AnswersBasis((), frozenset({"gpt"}), None, None).shared_with("GPT-4o mini", "monoT5")
        frozenset({'gpt'})
        """
        return self.families & frozenset().union(*map(families, stated))


def of_edition(session: Session, shown: ShownEdition, sight: Sight) -> AnswersBasis | None:
    """What the scores of an edition rest on; None for rankings, and while judgments are held back."""
    if KIND not in shown.kinds or shown.edition is None or not sight.details:
        return None
    basis = of_packed(scoring.packed_of(session, shown.edition.revision_id))
    return replace(basis, lines=beside_board(session, shown.edition.task_id))


def beside_board(session: Session, task_id: int) -> tuple[tuple[int, str], ...]:
    """Number and name of each line of judgments of answers beside the board's, by name; one statement."""
    lines = select(Qrels.id, Qrels.name).where(*beside(task_id)).order_by(Qrels.name)
    return tuple((line_id, name) for line_id, name in session.execute(lines))


def beside(task_id: int) -> tuple[ColumnElement[bool], ...]:
    """Which lines of a task are judgments of answers beside the board's."""
    return (
        Qrels.task_id == task_id,
        Qrels.kind == KIND,
        Qrels.name != MAIN,
        Qrels.name.not_like(f"{DRAFT}%"),
    )


# Counting over all labels takes longer than the rest of a board, which opens the same judgments each time.
@keep
def of_packed(packed: bytes) -> AnswersBasis:
    """What scores under judgments rest on, of these as they are stored; raises Damaged."""
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
    return f"Warning: {failed:.1%} of all assignments failed; they count as not held."


def _sentences(judged: PackedAnswers, middle: float | None) -> Iterator[str]:
    if middle is not None:
        nuggets = "nugget" if middle == 1 else "nuggets"
        yield (
            f"A topic has {middle:g} vital {nuggets} in the median, so its scores are coarse, and their "
            "differences often skewed: where topics are few, the guarded paired t allows for that."
        )
    if judged.leaves_out and judged.without_vital:
        left = ", ".join(judged.without_vital[:NAMED])
        yield f"Measures of vital nuggets leave out topics without any: {left}."


VERSION = 1
"""Of what is kept in memory; a new one makes what an older program kept unused."""
MOST_ANSWERS = 20_000
"""Answers that are scored while a reader waits: a few seconds."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LineRevision:
    """The newest revision of a line of judgments of answers.

    topics: those of its judgments that count for the viewer, in their order; measures: what it allows of the
    measures of the task, keys with versions and the topics that each is not over.
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
        """The topics that count and that a measure of it is over."""
        without = next(set(measure["left_out"]) for measure in self.measures if measure["key"] == key)
        return tuple(topic for topic in self.topics if topic not in without)


@dataclass(frozen=True, slots=True, eq=False)
class RunByLine:
    """A run under a line: measure -> mean where it is judged on all topics, else what it got on some.

    by_topic: measure -> scores on the topics of that measure, nan where the run is not judged.
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    partial: Mapping[str, PartialMean] = field(default_factory=dict)
    by_topic: Mapping[str, FloatArray] = field(default_factory=dict)


def newest_of(session: Session, task: Task, line_id: int, topic_set: str) -> LineRevision:
    """The newest revision of a line on a set of topics; three statements.

    Raises NotFound for a line that the task does not have, or on which its board rests, Damaged.
    """
    row = session.execute(
        select(Qrels.name, QrelsRevision, QrelsRevision.packed)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(*beside(task.id), Qrels.id == line_id)
        .order_by(QrelsRevision.number.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        raise NotFound(f"{task.name} has no such line of judgments beside those that its board rests on.")
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
    """Run id -> what it got under the line; runs: id -> digest of the answers.

    A statement for each run that was not scored before. Raises Invalid where these are too many to wait for.
    """
    digests = {run_id: _digest(line, answers) for run_id, answers in runs.items()}
    known = {run_id: requests.kept.get(digest) for run_id, digest in digests.items()}
    lacking = [run_id for run_id, arrays in known.items() if arrays is None]
    if (answers := len(lacking) * len(line.judged.topics)) > MOST_ANSWERS:
        raise Invalid(
            f"{answers:,} answers would have to be scored by this line while you wait; at most "
            f"{MOST_ANSWERS:,} are. Make it a revision of the board's judgments to have it scored by jobs."
        )
    for run_id in lacking:
        known[run_id] = requests.kept.put(digests[run_id], _computed(session, line, run_id, runs[run_id]))
    places = _places(line)
    return {run_id: _by_line(places, arrays) for run_id, arrays in known.items() if arrays is not None}


def _digest(line: LineRevision, answers: str) -> str:
    versions = [(measure["key"], measure["version"]) for measure in line.measures]
    facts = ("line_scores", VERSION, line.sha256, versions, answers)
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _computed(session: Session, line: LineRevision, run_id: int, digest: str) -> Arrays:
    """Measure -> scores on all topics of the judgments, and the parts of those that are quotients."""
    answers = {answer.topic: answer for answer in answers_services.of_run(session, run_id)}
    found = scoring.scores(line.judged, digest, answers, line.keys)
    arrays: Arrays = {key: one.scores for key, one in found.items()}
    arrays |= {_parts(key): one.parts for key, one in found.items() if one.parts is not None}
    return arrays


def _parts(key: str) -> str:
    return f"parts of {key}"


def _places(line: LineRevision) -> dict[str, IntArray]:
    """Measure -> where each of its topics that count stands in a vector of scores."""
    place = {topic: at for at, topic in enumerate(line.judged.topics)}
    return {
        key: np.array([place[topic] for topic in line.topics_of(key)], dtype=np.int64) for key in line.keys
    }


def _by_line(places: Mapping[str, IntArray], arrays: Arrays) -> RunByLine:
    scores, partial, by_topic = {}, {}, {}
    for key, wanted in places.items():
        values = np.asarray(arrays[key], dtype=np.float64)
        by_topic[key] = values[wanted]
        judged = wanted[~np.isnan(values[wanted])]
        if not len(judged):
            continue
        parts = arrays.get(_parts(key))
        of_judged = None if parts is None else np.asarray(parts, dtype=np.float64)[:, judged]
        mean = parse(key).aggregate(values[judged], of_judged)
        if len(judged) == len(wanted):
            scores[key] = mean
        else:
            partial[key] = PartialMean(mean, len(judged), len(wanted))
    return RunByLine(scores, partial, by_topic)
