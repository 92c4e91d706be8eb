"""The edition shown to a viewer, its basis, and where its scores are stored.

A measure of rankings covers all judged topics. A measure of answers may cover fewer, as recorded in its
edition, and a run has a value by it only if it is judged on all of them: not judged is not 0.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from numpy import typing as npt
from sqlalchemy import ColumnElement, Executable, Select, and_, bindparam, literal, or_, select, union_all
from sqlalchemy.orm import Session, undefer

from leaderboard.checksums import damaged
from leaderboard.core import kinds
from leaderboard.core.policy import TaskAccess
from leaderboard.db.engine import of_row
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
from leaderboard.errors import Damaged, NotFound
from leaderboard.measures.naming import is_of_answers, parse
from leaderboard.scoring.ops.qrels import left_out as qrels_left_out
from leaderboard.tables.record import Place, Shown

log = logging.getLogger(__name__)


def left_out(edition: Edition, key: str) -> frozenset[str]:
    """The judged topics that a measure of the edition does not cover."""
    measure = next((measure for measure in edition.measures if measure["key"] == key), {})
    return frozenset(measure.get("left_out", ()))


def needed_topics(edition: Edition, topic_set: str) -> dict[str, int]:
    """Key -> number of topics of a set that a run must be judged on, for measures where that varies."""
    topics = edition.topic_sets.get(topic_set, {"topics": ()})["topics"]
    return {
        measure["key"]: len(set(topics) - set(measure["left_out"]))
        for measure in edition.measures
        if "left_out" in measure
    }


def is_whole(needed: Mapping[str, int], key: str, topics: Any) -> bool:
    """Whether a mean over this number of topics may be used for ranking."""
    return key not in needed or topics >= needed[key]


FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Basis:
    """The basis of all scores of an edition."""

    edition: int
    revision: int
    revision_id: int
    revision_note: str
    revision_at: datetime
    revision_sha256: str
    origin: str
    origin_name: str
    dialect: Annotated[int, Shown(shown=Place.DATA)]
    """The trec_eval version whose arithmetic is used; 0 for answers and judges."""
    topics: int
    is_current: bool
    shown_from: datetime | None = None
    phase: str = ""
    """Name of the shown phase; empty if the task has only one."""
    is_combined: bool = False
    """Whether people also judged a sample, and the combined board is public."""
    left_out: str = ""
    """Documents left out of rankings, as text; empty if absent."""
    left_out_facts: Mapping[str, Any] | None = None
    """The same for files: number of documents (None while judgments are hidden), and whether residual."""
    unlike: int | None = None
    """An edition that it must not be compared with, because it leaves out other documents: for a board that
    leaves some out, one on all judgments, otherwise the newest that leaves some out."""

    @property
    def qrels(self) -> str:
        """The revision and the documents it leaves out, as text."""
        note = f" ({self.left_out})" if self.left_out else ""
        return f"qrels revision {self.revision}{note}"


def left_out_facts(basis: Basis | None) -> dict[str, Any]:
    """JSON facts on documents left out; empty if absent."""
    return {} if basis is None or basis.left_out_facts is None else {"left_out": basis.left_out_facts}


def basis_of(
    edition: Edition, revision: QrelsRevision, qrels: Qrels, access: TaskAccess, *, is_combined: bool = False
) -> Basis:
    """The basis of an edition, without the digest of hidden judgments, which would confirm guesses."""
    facts = revision.left_out_facts
    return Basis(
        left_out=qrels_left_out.words(facts, with_count=access.details) if facts else "",
        left_out_facts=qrels_left_out.left_out_facts(facts, with_count=access.details) if facts else None,
        edition=edition.number,
        revision=revision.number,
        revision_id=revision.id,
        revision_note=revision.note,
        revision_at=revision.created_at,
        revision_sha256=revision.sha256 if access.details else "",
        origin=qrels.origin,
        origin_name=qrels.origin_name,
        dialect=edition.dialect if kinds.judged_by(qrels.kind).ranks_documents else 0,
        topics=len(edition.topic_sets.get(access.topic_set, {"topics": ()})["topics"]),
        is_current=edition.state == "current",
        shown_from=edition.shown_from,
        phase=access.phase,
        is_combined=is_combined and access.details,
    )


def rests_on(revision: int, topics: int, dialect: int, left_out: str = "") -> str:
    """The basis of scores as text for captions; left_out: documents left out of rankings, as text.

    >>> rests_on(2, 50, 10)
    'qrels revision 2, 50 topics, as trec_eval 10 computes them'
    >>> rests_on(2, 50, 0)
    'qrels revision 2, 50 topics'
    >>> rests_on(2, 50, 0, "residual, 3,124 documents left out")
    'qrels revision 2 (residual, 3,124 documents left out), 50 topics'
    """
    note = f" ({left_out})" if left_out else ""
    counted = f"{topics:,} {'topic' if topics == 1 else 'topics'}"
    return f"qrels revision {revision}{note}, {counted}{computed_as(dialect)}"


def computed_as(dialect: int) -> str:
    """The arithmetic of scores, as the end of a sentence; empty for scores of answers."""
    return f", as trec_eval {dialect} computes them" if dialect else ""


@dataclass(frozen=True, slots=True)
class ShownEdition:
    """The edition to show with its basis, the numbers of all editions shown, and one in progress."""

    edition: Edition | None
    basis: Basis | None
    numbers: tuple[int, ...]
    building: int | None
    building_revision: int
    source: "Source | None" = None
    kinds: frozenset[str] = frozenset()
    """Kinds of judgments that the edition is based on, such as graded and subtopic."""
    may_have_groups: bool = True
    """Whether the task may have groups of runs; False if it is known to have none."""
    before: Edition | None = None
    """The previous edition; None for the first, and if it left out other documents."""
    before_revision: int = 0
    """The number of its revision."""
    revision: QrelsRevision | None = None
    """Revision that the edition's scores rest on."""


# Every page with a score starts with this statement, so it is built once.
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
    # An edition with a damaged revision is an error, not an empty board.
    .outerjoin(QrelsRevision, QrelsRevision.id == Edition.revision_id)
    .outerjoin(Qrels, Qrels.id == QrelsRevision.qrels_id)
    .where(Edition.task_id == bindparam("task"))
    .order_by(Edition.number)
)


def shown_edition(
    session: Session, task: Task, access: TaskAccess, number: int | None = None, at: datetime | None = None
) -> ShownEdition:
    """The edition of a task to show: by default that of the access, or by number or time.

    One statement.

    Raises NotFound for an unknown number, and for a time before the first edition; Damaged if the edition is
    damaged. Earlier damaged editions are omitted.
    """
    number = access.edition if number is None and at is None else number
    rows = session.execute(_EDITIONS, {"task": task.id}, execution_options=DAMAGED_TOO).all()
    past = {row.Edition.number: row for row in rows if row.Edition.shown_from is not None}
    if number is not None and (number not in past or not access.means):
        raise NotFound(f"This board has no edition {number}.")
    if at is not None:
        number = _number_at([row.Edition for row in past.values()] if access.means else [], task, at)
    current = next((row for row in rows if row.Edition.state == "current"), None)
    chosen = past[number] if number is not None else current
    if chosen is None or not access.means:
        return ShownEdition(None, None, (), None, 0)
    chosen.Edition.require_whole()
    past = {at: row for at, row in past.items() if row.Edition.is_whole}
    building = next((row for row in rows if row.Edition.state == "building" and row.Edition.is_whole), None)
    earlier = [row for row in past.values() if row.Edition.number < chosen.Edition.number]
    gone = chosen.QrelsRevision.left_out_facts
    # Ranks are not comparable if other documents were left out.
    before = earlier[-1] if earlier and earlier[-1].QrelsRevision.left_out_facts == gone else None
    leaving = {row.Edition.number: row.QrelsRevision.left_out_facts is not None for row in past.values()}
    return ShownEdition(
        chosen.Edition,
        replace(
            basis_of(
                chosen.Edition, chosen.QrelsRevision, chosen.Qrels, access, is_combined=chosen.is_combined
            ),
            unlike=_unlike(chosen.Edition.number, leaving),
        ),
        tuple(past),
        building.Edition.id if building else None,
        building.QrelsRevision.number if building else 0,
        source_of(chosen.Edition, chosen.QrelsRevision, access.topic_set),
        frozenset({chosen.Qrels.kind, *(chosen.Edition.companions or ())}),
        chosen.has_groups,
        before.Edition if before else None,
        before.QrelsRevision.number if before else 0,
        chosen.QrelsRevision,
    )


def _unlike(number: int, leaving: Mapping[int, bool]) -> int | None:
    """The newest edition that a given one must not be compared with, preferably an earlier one.

    leaving: number of each edition ever shown -> whether it leaves documents out.

    >>> _unlike(3, {1: False, 2: False, 3: True}), _unlike(2, {1: False, 2: False, 3: True})
    (2, 3)
    """
    others = [other for other, leaves_out in leaving.items() if leaves_out != leaving[number]]
    before = [other for other in others if leaving[number] and other < number]
    return max(before or others, default=None)


def _number_at(shown: list[Edition], task: Task, at: datetime) -> int:
    """The number of the edition shown at a time, among editions ever shown, in order."""
    before = [
        edition.number for edition in shown if edition.shown_from is not None and edition.shown_from <= at
    ]
    if before:
        return before[-1]
    if not shown or shown[0].shown_from is None:
        raise NotFound(f"No earlier board of {task.name} is available.")
    first = shown[0].shown_from
    raise NotFound(
        f"{task.name} had no board at {at:%Y-%m-%d %H:%M} UTC: "
        f"its first edition dates from {first:%Y-%m-%d %H:%M} UTC."
    )


def means(
    session: Session,
    edition: Edition,
    topic_set: str,
    run_ids: Iterable[int] | None = None,
    keys: Collection[str] | None = None,
) -> dict[int, dict[str, float]]:
    """Run id -> measure -> aggregate over the topic set; one statement, empty without a set.

    run_ids and keys restrict runs and measures. Runs not judged on all topics have no aggregate.
    """
    (of_one,) = means_of_all(session, [(edition, keys)], topic_set, run_ids)
    return of_one


def means_of_all(
    session: Session,
    editions: Sequence[tuple[Edition, Collection[str] | None]],
    topic_set: str,
    run_ids: Iterable[int] | None = None,
) -> list[dict[int, dict[str, float]]]:
    """As `means` for several editions, each with requested measures; one statement for all."""
    by_edition: list[dict[int, dict[str, float]]] = [{} for _ in editions]
    versions = [_versions(edition, keys) for edition, keys in editions]
    chosen = None if run_ids is None else list(run_ids)
    queries = [
        _means_query(at, edition, edition.topic_sets[topic_set]["id"], versions[at], chosen)
        for at, (edition, _) in enumerate(editions)
        if topic_set in edition.topic_sets
    ]
    needed = [needed_topics(edition, topic_set) for edition, _ in editions]
    # Separate queries use separate indexes, unlike one condition with OR.
    rows = session.execute(union_all(*queries)).all() if queries else ()
    for (at, run_id, _, measure, version, *_), mean, topics in whole_means(session, rows):
        if versions[at][measure] == version and is_whole(needed[at], measure, topics):
            by_edition[at].setdefault(run_id, {})[measure] = mean
    return by_edition


def _versions(edition: Edition, keys: Collection[str] | None) -> dict[str, int]:
    """Key -> version of some or all measures of an edition."""
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
    """Location of the stored scores of an edition's board, on one topic set."""

    edition_id: int
    revision_id: int
    revision_sha256: str
    dialect: int
    topic_set: str
    topics: tuple[str, ...]
    places: tuple[int, ...]
    """Index of each topic in a stored score vector."""
    leaves_out: bool = False
    """Whether documents are removed from rankings before scoring."""


def source_of(edition: Edition, revision: QrelsRevision, topic_set: str) -> Source:
    """Source of an edition's scores, for the topics of a set as of its creation."""
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
    measured = Evaluation.measure == key, Evaluation.measure_version == version
    rows = stored_scores(session, *_of_source(source), *measured, Evaluation.run_id.in_(run_ids))
    return _on_topics(source, rows)


def both_scores(
    session: Session,
    source: Source,
    edition: Edition,
    measure: tuple[str, int],
    run_ids: Collection[int],
    run_id: int,
) -> tuple[dict[int, FloatArray], dict[str, FloatArray]]:
    """As `scores_of`, plus measure -> one run's scores on all topics of the revision.

    The latter covers all measures of the edition. One statement; raises Damaged.
    """
    versions = _versions(edition, None)
    measured = Evaluation.measure == measure[0], Evaluation.measure_version == measure[1]
    field = and_(*measured, Evaluation.run_id.in_(run_ids))
    own = and_(Evaluation.measure.in_(versions), Evaluation.run_id == run_id)
    rows = stored_scores(session, *_of_source(source), or_(field, own))
    field_ids = set(run_ids)
    among = [row for row in rows if (row.measure, row.measure_version) == measure and row.run_id in field_ids]
    mine = (row for row in rows if row.run_id == run_id)
    return (
        _on_topics(source, among),
        {row.measure: row.scores for row in mine if row.measure_version == versions.get(row.measure)},
    )


def _of_source(source: Source) -> tuple[ColumnElement[bool], ...]:
    return Evaluation.revision_id == source.revision_id, Evaluation.dialect == source.dialect


def _on_topics(source: Source, rows: Iterable[Any]) -> dict[int, FloatArray]:
    chosen = np.array(source.places, dtype=np.int64)
    scores = ((row.run_id, row.scores[chosen]) for row in rows)
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
    """Key of a run's rankings in the order used for the source's scores.

    The digest of rankings uses the order of trec_eval 10: if trec_eval 9 orders them differently, two runs
    with the same digest may still differ.
    """
    return f"{ranking_sha256} {run_id}" if order_differs and source.dialect != 10 else ranking_sha256


def run_digest(procedure: str, version: int, source: Source, key: str, *facts: object) -> str:
    """Digest of everything that a number of one run depends on: code, judgments, topics, rankings.

    key: from ranking_key; facts: other inputs, as plain values.
    """
    on = source.revision_sha256, source.dialect, source.topics
    return hashlib.sha256(json.dumps((procedure, version, on, key, facts)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PartialMean:
    """Mean of a run over its judged topics among those the measure covers; not used for ranking."""

    mean: float
    judged: int
    topics: int


def narrowed(source: Source, edition: Edition, key: str) -> Source:
    """The source restricted to the topics that a measure covers; unchanged for rankings."""
    without = left_out(edition, key)
    if not without.intersection(source.topics):
        return source
    kept = [at for at, topic in enumerate(source.topics) if topic not in without]
    topics = tuple(source.topics[at] for at in kept)
    return replace(source, topics=topics, places=tuple(source.places[at] for at in kept))


def source_by(session: Session, source: Source, key: str) -> Source:
    """Source of another measure of the same edition, which may cover other topics."""
    if not is_of_answers(parse(key).measure):
        return source
    edition = session.get_one(Edition, source.edition_id)
    revision = session.get_one(QrelsRevision, source.revision_id)
    return narrowed(source_of(edition, revision, source.topic_set), edition, key)


def partial_means(
    session: Session, edition: Edition, topic_set: str, decimals: int | None = None
) -> dict[int, dict[str, PartialMean]]:
    """Run id -> key -> partial mean of runs judged on some topics only; no statement for rankings."""
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
    by_run: dict[int, dict[str, PartialMean]] = {}
    for row, mean, judged in whole_means(session, rows):
        key = row.measure
        if judged < whole[key]:
            value = mean if decimals is None else round(mean, decimals)
            by_run.setdefault(row.run_id, {})[key] = PartialMean(value, judged, whole[key])
    return by_run


def seen_means(
    session: Session,
    edition: Edition,
    access: TaskAccess,
    run_ids: Collection[int] | None = None,
    keys: Collection[str] | None = None,
) -> dict[int, dict[str, float]]:
    """Run id -> measure -> aggregate, as visible to the viewer; one statement.

    Rounded before ordering, so that the order reveals no more. run_ids and keys restrict runs and measures.
    """
    return _rounded(means(session, edition, access.topic_set, run_ids, keys), access.decimals)


def seen_means_of_both(
    session: Session, edition: Edition, before: Edition, key: str, access: TaskAccess
) -> tuple[dict[int, dict[str, float]], dict[int, dict[str, float]]]:
    """As `seen_means` for two editions, the earlier one by one measure only; one statement."""
    now, then = means_of_all(session, [(edition, None), (before, (key,))], access.topic_set)
    return _rounded(now, access.decimals), _rounded(then, access.decimals)


def primary_scores(session: Session, shown: Sequence[tuple[Edition, TaskAccess]]) -> dict[int, float]:
    """Run id -> value by the primary measure of its task's edition, as visible to the viewer.

    One statement for editions of any number of tasks.
    """
    sets = [
        (edition, edition.topic_sets[access.topic_set]["id"])
        for edition, access in shown
        if access.topic_set in edition.topic_sets
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
    for edition, access in shown:
        key = edition.primary_measure
        needed = needed_topics(edition, access.topic_set)
        scores = {
            row.run_id: {key: mean}
            for row, mean, topics in means_of_rows
            if row.revision_id == edition.revision_id and is_whole(needed, key, topics)
        }
        rounded = _rounded(scores, access.decimals).items()
        primary |= {run_id: of_run[key] for run_id, of_run in rounded if key in of_run}
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


Places = npt.NDArray[np.int64]
IDENTITY = (
    Evaluation.run_id,
    Evaluation.revision_id,
    Evaluation.measure,
    Evaluation.measure_version,
    Evaluation.dialect,
)
MEANS: tuple[Any, ...] = (
    *IDENTITY,
    Evaluation.checksum.label("evaluation_checksum"),
    EvaluationMean.evaluation_id,
    EvaluationMean.topic_set_id,
    EvaluationMean.mean,
    EvaluationMean.topics,
    EvaluationMean.checksum.label("mean_checksum"),
)
"""Final columns of a statement on means, read by `whole_means`."""
_WHO, _WHAT = slice(-11, -6), slice(-5, -1)
SCORED: tuple[Any, ...] = (*IDENTITY, Evaluation.checksum, Evaluation.scores, Evaluation.parts)


def whole_editions(session: Session, query: Executable) -> list[Any]:
    """The `Edition` rows of a statement, without damaged ones."""
    rows = session.execute(query, execution_options=DAMAGED_TOO).all()
    for row in rows:
        if not row.Edition.is_whole:
            log.error("edition %d is damaged: its checksum does not match", row.Edition.id)
    return [row for row in rows if row.Edition.is_whole]


def whole_means(session: Session, rows: Iterable[Any]) -> Iterator[tuple[Any, float, int]]:
    """Each row of a statement that ends with MEANS, with its mean and number of topics.

    A damaged mean is recomputed from its scores; rows without a mean, or with one that cannot be recomputed,
    are omitted.
    """
    for row in rows:
        if row[-5] is None:
            continue
        if row[-6] != of_row(tuple(row[_WHO])):
            log.error("evaluation %d is damaged: its checksum does not match", row[-5])
        elif row[-1] == of_row(tuple(row[_WHAT])):
            yield row, row[-3], row[-2]
        else:
            log.error("a mean of evaluation %d is damaged; it is computed from the scores", row[-5])
            again = _again(session, row[-5], row[-4])
            if again is not None:
                yield row, *again


def _again(session: Session, evaluation_id: int, set_id: int) -> tuple[float, int] | None:
    of_it = [undefer(Evaluation.scores), undefer(Evaluation.parts)]
    try:
        evaluation = session.get_one(Evaluation, evaluation_id, options=of_it)
    except Damaged:
        return None
    if parse(evaluation.measure).measure.version != evaluation.measure_version:
        return None
    places = next(places_of(session, evaluation.revision_id, set_id), None)
    return None if places is None else aggregate(evaluation, places)


def aggregate(evaluation: Evaluation, chosen: Places) -> tuple[float, int] | None:
    """Aggregate over the topics at these indices and their number; None if none is judged."""
    scores, parts = evaluation.scores, evaluation.parts
    # nan means not judged and does not count in a mean.
    judged = chosen[~np.isnan(scores[chosen])]
    if not len(judged):
        return None
    if parts is not None:
        parts = parts.reshape(-1, len(scores))[:, judged]
    return float(parse(evaluation.measure).aggregate(scores[judged], parts)), len(judged)


def places_of(session: Session, revision_id: int, set_id: int) -> Iterator[Places]:
    """Indices of a set's topics in a revision's scores, for each edition under it."""
    topics = session.get_one(QrelsRevision, revision_id).topics
    place = {topic: index for index, topic in enumerate(topics)}
    editions = select(Edition).where(Edition.revision_id == revision_id)
    for row in whole_editions(session, editions.order_by(Edition.number.desc())):
        for chosen in row.Edition.topic_sets.values():
            if chosen["id"] == set_id:
                yield np.array([place[topic] for topic in chosen["topics"]], dtype=np.int64)


def stored_scores(session: Session, *chosen: ColumnElement[bool]) -> list[Any]:
    """SCORED rows of the selected evaluations; raises Damaged, naming the run."""
    return _whole_scores(session, lambda: session.execute(select(*SCORED).where(*chosen)).all(), *chosen)


def _whole_scores(
    session: Session, read: Callable[[], Iterable[Any]], *chosen: ColumnElement[bool]
) -> list[Any]:
    """The selected evaluations, converted by `read`; raises Damaged, naming the run."""
    try:
        rows = list(read())
    except Damaged as error:
        raise next(damaged_scores(session, *chosen), error) from error
    for row in rows:
        require_whole(row)
    return rows


def require_whole(row: Any) -> None:
    """Raise Damaged if an evaluation, or a row of IDENTITY and checksum, fails its checksum."""
    if row.checksum != of_row((row.run_id, row.revision_id, row.measure, row.measure_version, row.dialect)):
        what = f"scores of run {row.run_id} by {row.measure}"
        raise damaged(what, "the checksum of whose they are does not match")


def damaged_scores(session: Session, *chosen: ColumnElement[bool]) -> Iterator[Damaged]:
    """One error per evaluation with damaged scores; one statement per evaluation."""
    rows = session.execute(select(*IDENTITY, Evaluation.checksum, Evaluation.id).where(*chosen)).all()
    for row in rows:
        what = f"scores of run {row.run_id} by {row.measure}"
        try:
            require_whole(row)
            session.execute(select(Evaluation.scores, Evaluation.parts).where(Evaluation.id == row.id)).one()
        except Damaged as error:
            yield damaged(what, str(error.facts["why"]))
