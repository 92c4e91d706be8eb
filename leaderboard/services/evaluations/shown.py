"""Which edition a viewer is shown, what its scores rest on, and where these are stored.

A measure of rankings is over all judged topics. One of answers may be over fewer, which its edition says,
and a run has a value by it only where it is judged on every one of them: not judged is not 0.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from numpy import typing as npt
from sqlalchemy import ColumnElement, Select, and_, bindparam, literal, or_, select, union_all
from sqlalchemy.orm import Session

from leaderboard.db.evaluations import DAMAGED_TOO
from leaderboard.db.tables import (
    Edition,
    Evaluation,
    EvaluationMean,
    Pool,
    Qrels,
    QrelsRevision,
    RunGroup,
    Task,
)
from leaderboard.errors import NotFound
from leaderboard.measures.naming import is_of_answers, parse
from leaderboard.services import kinds
from leaderboard.services.evaluations.score import MEANS, stored_scores, whole_means
from leaderboard.services.policy import Sight
from leaderboard.services.qrels import left_out as qrels_left_out
from leaderboard.tables.record import Place, Shown


def left_out(edition: Edition, key: str) -> frozenset[str]:
    """The judged topics that a measure of the edition is not over."""
    found = next((measure for measure in edition.measures if measure["key"] == key), {})
    return frozenset(found.get("left_out", ()))


def needed_topics(edition: Edition, topic_set: str) -> dict[str, int]:
    """Key -> on how many topics of a set a run is to be judged; of the measures where it may be on fewer."""
    topics = edition.topic_sets.get(topic_set, {"topics": ()})["topics"]
    return {
        measure["key"]: len(set(topics) - set(measure["left_out"]))
        for measure in edition.measures
        if "left_out" in measure
    }


def is_whole(needed: Mapping[str, int], key: str, topics: Any) -> bool:
    """Whether a mean over so many topics is one to rank by."""
    return key not in needed or topics >= needed[key]


FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Basis:
    """What all scores of one edition rest on."""

    edition: int
    revision: int
    revision_id: int
    revision_note: str
    revision_at: datetime
    revision_sha256: str
    origin: str
    origin_name: str
    dialect: Annotated[int, Shown(shown=Place.DATA)]
    """Whose arithmetic rankings are scored with; 0 for answers and judges, unknown to trec_eval."""
    topics: int
    is_current: bool
    shown_from: datetime | None = None
    phase: str = ""
    """Name of the phase whose runs are shown; empty where the task has one phase only."""
    is_combined: bool = False
    """Whether people judged a sample of it too, and the board of both is shown to everybody."""
    left_out: str = ""
    """What is left out of rankings, in words; empty where nothing is."""
    left_out_facts: Mapping[str, Any] | None = None
    """The same for files: how many documents, None while judgments are held back, and whether residual."""
    unlike: int | None = None
    """An edition that it must not be compared with, as other documents are left out of rankings there: of a
    board that leaves some out one on all judgments, else the newest that leaves some out."""

    @property
    def qrels(self) -> str:
        """The revision and what it leaves out, in words."""
        beside = f" ({self.left_out})" if self.left_out else ""
        return f"qrels revision {self.revision}{beside}"


def left_out_facts(basis: Basis | None) -> dict[str, Any]:
    """What JSON says of documents left out; nothing where none are."""
    return {} if basis is None or basis.left_out_facts is None else {"left_out": basis.left_out_facts}


def basis_of(
    edition: Edition, revision: QrelsRevision, qrels: Qrels, sight: Sight, *, is_combined: bool = False
) -> Basis:
    """What the scores of an edition rest on; a digest of held-back judgments would confirm guesses."""
    facts = revision.left_out_facts
    return Basis(
        left_out=qrels_left_out.words(facts, with_count=sight.details),
        left_out_facts=qrels_left_out.told(facts, with_count=sight.details),
        edition=edition.number,
        revision=revision.number,
        revision_id=revision.id,
        revision_note=revision.note,
        revision_at=revision.created_at,
        revision_sha256=revision.sha256 if sight.details else "",
        origin=qrels.origin,
        origin_name=qrels.origin_name,
        dialect=edition.dialect if kinds.judged_by(qrels.kind).ranks_documents else 0,
        topics=len(edition.topic_sets.get(sight.topic_set, {"topics": ()})["topics"]),
        is_current=edition.state == "current",
        shown_from=edition.shown_from,
        phase=sight.phase,
        is_combined=is_combined and sight.details,
    )


def rests_on(revision: int, topics: int, dialect: int, left_out: str = "") -> str:
    """What scores rest on, in words for captions; left_out: what is left out of rankings, in words.

    >>> rests_on(2, 50, 10)
    'qrels revision 2, 50 topics, as trec_eval 10 computes them'
    >>> rests_on(2, 50, 0)
    'qrels revision 2, 50 topics'
    >>> rests_on(2, 50, 0, "residual, 3,124 documents left out")
    'qrels revision 2 (residual, 3,124 documents left out), 50 topics'
    """
    beside = f" ({left_out})" if left_out else ""
    counted = f"{topics:,} {'topic' if topics == 1 else 'topics'}"
    return f"qrels revision {revision}{beside}, {counted}{computed_as(dialect)}"


def computed_as(dialect: int) -> str:
    """Whose arithmetic scores are, as the end of a sentence; empty for scores of answers."""
    return f", as trec_eval {dialect} computes them" if dialect else ""


@dataclass(frozen=True, slots=True)
class ShownEdition:
    """The edition to show, what it rests on, the numbers of all that were ever shown, the one being built."""

    edition: Edition | None
    basis: Basis | None
    numbers: tuple[int, ...]
    building: int | None
    building_revision: int
    source: "Source | None" = None
    kinds: frozenset[str] = frozenset()
    """The kinds of judgments that the edition's scores rest on, such as graded and subtopic."""
    may_have_groups: bool = True
    """Whether the task may have groups of runs: no where it is known to have none."""
    before: Edition | None = None
    """The edition shown before it; None for the first, and where that left out other documents."""
    before_revision: int = 0
    """The number of its revision."""


# Every page that shows a score begins with it: it is written once.
_EDITIONS = (
    select(
        Edition,
        QrelsRevision,
        Qrels,
        select(RunGroup.id).where(RunGroup.task_id == bindparam("task")).exists().label("has_groups"),
        select(Pool.id)
        .where(Pool.task_id == bindparam("task"), Pool.shown_at.is_not(None))
        .exists()
        .label("is_combined"),
    )
    # An edition whose revision is damaged is an error and no empty board.
    .outerjoin(QrelsRevision, QrelsRevision.id == Edition.revision_id)
    .outerjoin(Qrels, Qrels.id == QrelsRevision.qrels_id)
    .where(Edition.task_id == bindparam("task"))
    .order_by(Edition.number)
)


def shown_edition(
    session: Session, task: Task, sight: Sight, number: int | None = None, at: datetime | None = None
) -> ShownEdition:
    """What to show of a task's editions: the one the sight is of unless a number or moment is given.

    One statement.

    Raises NotFound for an unknown number, and for a moment at which there was no edition yet; Damaged where
    the edition is damaged. Damaged ones before it are not named.
    """
    number = sight.edition if number is None and at is None else number
    rows = session.execute(_EDITIONS, {"task": task.id}, execution_options=DAMAGED_TOO).all()
    past = {row.Edition.number: row for row in rows if row.Edition.shown_from is not None}
    if number is not None and (number not in past or not sight.means):
        raise NotFound(f"There is no edition {number} of this board.")
    if at is not None:
        number = _number_at([row.Edition for row in past.values()] if sight.means else [], task, at)
    current = next((row for row in rows if row.Edition.state == "current"), None)
    chosen = past[number] if number is not None else current
    if chosen is None or not sight.means:
        return ShownEdition(None, None, (), None, 0)
    chosen.Edition.require_whole()
    past = {at: row for at, row in past.items() if row.Edition.is_whole}
    building = next((row for row in rows if row.Edition.state == "building" and row.Edition.is_whole), None)
    earlier = [row for row in past.values() if row.Edition.number < chosen.Edition.number]
    gone = chosen.QrelsRevision.left_out_facts
    # Ranks of runs that lack other documents are not compared.
    before = earlier[-1] if earlier and earlier[-1].QrelsRevision.left_out_facts == gone else None
    leaving = {row.Edition.number: row.QrelsRevision.left_out_facts is not None for row in past.values()}
    return ShownEdition(
        chosen.Edition,
        replace(
            basis_of(
                chosen.Edition, chosen.QrelsRevision, chosen.Qrels, sight, is_combined=chosen.is_combined
            ),
            unlike=_unlike(chosen.Edition.number, leaving),
        ),
        tuple(past),
        building.Edition.id if building else None,
        building.QrelsRevision.number if building else 0,
        source_of(chosen.Edition, chosen.QrelsRevision, sight.topic_set),
        frozenset({chosen.Qrels.kind, *(chosen.Edition.companions or ())}),
        chosen.has_groups,
        before.Edition if before else None,
        before.QrelsRevision.number if before else 0,
    )


def _unlike(number: int, leaving: Mapping[int, bool]) -> int | None:
    """The edition that one must not be compared with, the newest before it, else of all.

    leaving: the number of each edition that was ever shown -> whether it leaves documents out.

    >>> _unlike(3, {1: False, 2: False, 3: True}), _unlike(2, {1: False, 2: False, 3: True})
    (2, 3)
    """
    others = [other for other, leaves_out in leaving.items() if leaves_out != leaving[number]]
    before = [other for other in others if leaving[number] and other < number]
    return max(before or others, default=None)


def _number_at(shown: list[Edition], task: Task, at: datetime) -> int:
    """The number of the edition that was shown at a moment, of those that were ever shown, in order."""
    before = [
        edition.number for edition in shown if edition.shown_from is not None and edition.shown_from <= at
    ]
    if before:
        return before[-1]
    if not shown or shown[0].shown_from is None:
        raise NotFound(f"No earlier board of {task.name} is shown.")
    first = shown[0].shown_from
    raise NotFound(
        f"At {at:%Y-%m-%d %H:%M} UTC there was no board of {task.name} yet: "
        f"its first edition is of {first:%Y-%m-%d %H:%M} UTC."
    )


def means(
    session: Session,
    edition: Edition,
    topic_set: str,
    run_ids: Iterable[int] | None = None,
    keys: Collection[str] | None = None,
) -> dict[int, dict[str, float]]:
    """Run id -> measure -> aggregate over the topic set; one statement, empty where the set is none.

    run_ids and keys leave out other runs and measures. Runs that are not judged on all topics have none.
    """
    (of_one,) = means_of_all(session, [(edition, keys)], topic_set, run_ids)
    return of_one


def means_of_all(
    session: Session,
    editions: Sequence[tuple[Edition, Collection[str] | None]],
    topic_set: str,
    run_ids: Iterable[int] | None = None,
) -> list[dict[int, dict[str, float]]]:
    """As `means`, of several editions, each with the measures wished for; one statement for all."""
    by_edition: list[dict[int, dict[str, float]]] = [{} for _ in editions]
    versions = [_versions(edition, keys) for edition, keys in editions]
    wanted = None if run_ids is None else list(run_ids)
    queries = [
        _means_query(at, edition, edition.topic_sets[topic_set]["id"], versions[at], wanted)
        for at, (edition, _) in enumerate(editions)
        if topic_set in edition.topic_sets
    ]
    needed = [needed_topics(edition, topic_set) for edition, _ in editions]
    # Each has its own way through the indexes, which one condition with OR would not take.
    rows = session.execute(union_all(*queries)).all() if queries else ()
    for (at, run_id, _, measure, version, *_), mean, topics in whole_means(session, rows):
        if versions[at][measure] == version and is_whole(needed[at], measure, topics):
            by_edition[at].setdefault(run_id, {})[measure] = mean
    return by_edition


def _versions(edition: Edition, keys: Collection[str] | None) -> dict[str, int]:
    """Key -> version of an edition's measures, of some or of all."""
    return {
        measure["key"]: measure["version"]
        for measure in edition.measures
        if keys is None or measure["key"] in keys
    }


def _means_query(
    at: int, edition: Edition, topic_set_id: int, measures: Collection[str], run_ids: list[int] | None
) -> Select[Any]:
    query = (
        select(literal(at), *MEANS)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(
            Evaluation.revision_id == edition.revision_id,
            Evaluation.dialect == edition.dialect,
            Evaluation.measure.in_(measures),
            EvaluationMean.topic_set_id == topic_set_id,
        )
    )
    return query if run_ids is None else query.where(Evaluation.run_id.in_(run_ids))


@dataclass(frozen=True, slots=True)
class Source:
    """Which stored scores an edition's board is made of, on the topics of one set."""

    edition_id: int
    revision_id: int
    revision_sha256: str
    dialect: int
    topic_set: str
    topics: tuple[str, ...]
    places: tuple[int, ...]
    """Where each topic stands in a stored vector of scores."""
    leaves_out: bool = False
    """Whether documents are taken out of rankings before ranks are counted."""


def source_of(edition: Edition, revision: QrelsRevision, topic_set: str) -> Source:
    """Where the scores of an edition are, for the topics of a set as it was when the edition was built."""
    topics = tuple(edition.topic_sets.get(topic_set, {"topics": ()})["topics"])
    place = {topic: index for index, topic in enumerate(revision.topics)}
    places = tuple(place[topic] for topic in topics)
    leaves_out = revision.left_out_facts is not None
    return Source(
        edition.id, revision.id, revision.sha256, edition.dialect, topic_set, topics, places, leaves_out
    )


def scores_of(
    session: Session, source: Source, key: str, version: int, run_ids: Collection[int]
) -> dict[int, FloatArray]:
    """Run id -> scores by a measure on the source's topics, (topics,); one statement; raises Damaged.

    Without runs that are not judged on some of the topics, where their score is nan.
    """
    chosen = np.array(source.places, dtype=np.int64)
    wanted = (
        Evaluation.revision_id == source.revision_id,
        Evaluation.dialect == source.dialect,
        Evaluation.measure == key,
        Evaluation.measure_version == version,
        Evaluation.run_id.in_(run_ids),
    )
    scores = ((row.run_id, row.scores[chosen]) for row in stored_scores(session, *wanted))
    return {run_id: values for run_id, values in scores if not np.isnan(values).any()}


def scored_runs(session: Session, source: Source, key: str, version: int) -> set[int]:
    """The ids of the runs that have scores by a measure."""
    query = select(Evaluation.run_id).where(
        Evaluation.revision_id == source.revision_id,
        Evaluation.dialect == source.dialect,
        Evaluation.measure == key,
        Evaluation.measure_version == version,
    )
    return set(session.scalars(query))


def ranking_key(source: Source, run_id: int, ranking_sha256: str, order_differs: bool) -> str:
    """What tells a run's rankings from others in the order that the source's scores were computed in.

    The digest of rankings is one of trec_eval 10's order: where trec_eval 9 has another, two runs that share
    the digest may still differ.
    """
    return f"{ranking_sha256} {run_id}" if order_differs and source.dialect != 10 else ranking_sha256


def run_digest(procedure: str, version: int, source: Source, key: str, *facts: object) -> str:
    """A digest of all that a number of one run depends on: what computes it, judgments, topics, rankings.

    key: of the rankings, from ranking_key; facts: what else plays a part, as plain values.
    """
    on = source.revision_sha256, source.dialect, source.topics
    return hashlib.sha256(json.dumps((procedure, version, on, key, facts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PartialMean:
    """What a run got on the topics it is judged on, of all that the measure is over; no value to rank by."""

    mean: float
    judged: int
    topics: int


def narrowed(source: Source, edition: Edition, key: str) -> Source:
    """The source with the topics that a measure is over; itself for a measure of rankings."""
    without = left_out(edition, key)
    if not without.intersection(source.topics):
        return source
    kept = [at for at, topic in enumerate(source.topics) if topic not in without]
    topics = tuple(source.topics[at] for at in kept)
    return replace(source, topics=topics, places=tuple(source.places[at] for at in kept))


def source_by(session: Session, source: Source, key: str) -> Source:
    """Where the scores by another measure of the source's edition are, which may be over other topics."""
    if not is_of_answers(parse(key).measure):
        return source
    edition = session.get_one(Edition, source.edition_id)
    revision = session.get_one(QrelsRevision, source.revision_id)
    return narrowed(source_of(edition, revision, source.topic_set), edition, key)


def partial_means(
    session: Session, edition: Edition, topic_set: str, decimals: int | None = None
) -> dict[int, dict[str, PartialMean]]:
    """Run id -> key -> what it got where it is judged on some topics only; no statement for rankings."""
    whole = needed_topics(edition, topic_set)
    if not whole or topic_set not in edition.topic_sets:
        return {}
    rows = session.execute(
        select(*MEANS)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(
            Evaluation.revision_id == edition.revision_id,
            Evaluation.dialect == edition.dialect,
            Evaluation.measure.in_(whole),
            EvaluationMean.topic_set_id == edition.topic_sets[topic_set]["id"],
        )
    ).all()
    found: dict[int, dict[str, PartialMean]] = {}
    for row, mean, judged in whole_means(session, rows):
        key = row.measure
        if judged < whole[key]:
            value = mean if decimals is None else round(mean, decimals)
            found.setdefault(row.run_id, {})[key] = PartialMean(value, judged, whole[key])
    return found


def seen_means(
    session: Session,
    edition: Edition,
    sight: Sight,
    run_ids: Collection[int] | None = None,
    keys: Collection[str] | None = None,
) -> dict[int, dict[str, float]]:
    """Run id -> measure -> aggregate, as the sight shows it; one statement.

    Rounded before anything is ordered by it, so that order tells no more. run_ids and keys leave out other
    runs and measures.
    """
    return _rounded(means(session, edition, sight.topic_set, run_ids, keys), sight.decimals)


def seen_means_of_both(
    session: Session, edition: Edition, before: Edition, key: str, sight: Sight
) -> tuple[dict[int, dict[str, float]], dict[int, dict[str, float]]]:
    """As `seen_means` of two editions, of the earlier one by one measure; one statement."""
    now, then = means_of_all(session, [(edition, None), (before, (key,))], sight.topic_set)
    return _rounded(now, sight.decimals), _rounded(then, sight.decimals)


def primary_scores(session: Session, shown: Sequence[tuple[Edition, Sight]]) -> dict[int, float]:
    """Run id -> what it got by the primary measure of its task's edition, as each sight shows it.

    One statement for editions of any number of tasks.
    """
    sets = [
        (edition, edition.topic_sets[sight.topic_set]["id"])
        for edition, sight in shown
        if sight.topic_set in edition.topic_sets
    ]
    if not sets:
        return {}
    rows = session.execute(
        select(*MEANS)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(or_(*(_of_primary(edition) & (EvaluationMean.topic_set_id == of) for edition, of in sets)))
    ).all()
    means_of_rows = list(whole_means(session, rows))
    primary: dict[int, float] = {}
    for edition, sight in shown:
        key = edition.primary_measure
        needed = needed_topics(edition, sight.topic_set)
        scores = {
            row.run_id: {key: mean}
            for row, mean, topics in means_of_rows
            if row.revision_id == edition.revision_id and is_whole(needed, key, topics)
        }
        told = _rounded(scores, sight.decimals).items()
        primary |= {run_id: of_run[key] for run_id, of_run in told if key in of_run}
    return primary


def _of_primary(edition: Edition) -> ColumnElement[bool]:
    key = edition.primary_measure
    version = next(measure["version"] for measure in edition.measures if measure["key"] == key)
    return and_(
        Evaluation.revision_id == edition.revision_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure == key,
        Evaluation.measure_version == version,
    )


def _rounded(scores: dict[int, dict[str, float]], decimals: int | None) -> dict[int, dict[str, float]]:
    if decimals is None:
        return {run_id: dict(of_run) for run_id, of_run in scores.items()}
    return {
        run_id: {key: round(value, decimals) for key, value in of_run.items()}
        for run_id, of_run in scores.items()
    }
