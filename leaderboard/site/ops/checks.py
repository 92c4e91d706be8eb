"""Whether all stored data is what was written: each kind of data has its check."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import ColumnElement, func, select, text, tuple_, union
from sqlalchemy.orm import Session, undefer

from leaderboard.answers.ops import answers
from leaderboard.boards.ops.snapshots import whole_body
from leaderboard.core import audit, kinds
from leaderboard.core.kinds import Again, Plan, RunKind
from leaderboard.db.engine import Database
from leaderboard.db.tables import (
    Alignment,
    Answer,
    ClickLog,
    Collection,
    DocumentBlock,
    Edition,
    Evaluation,
    EvaluationMean,
    Judgment,
    PoolTopic,
    Qrels,
    QrelsRevision,
    Run,
    Snapshot,
    Statistic,
    Task,
    TaskPicture,
    Upload,
    UploadChunk,
)
from leaderboard.errors import Damaged, StoreAway
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.measures.naming import parse
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.scoring.ops.evaluations.shown import aggregate, damaged_scores, places_of
from leaderboard.scoring.ops.qrels import files, left_out, lines
from leaderboard.scoring.ops.qrels.files import PreparedQrels
from leaderboard.stats import arrays
from leaderboard.tasks.ops.pictures import pictures
from leaderboard.trec.clicks.sessions import unpack_sessions
from leaderboard.trec.documents.blocks import unpack_documents
from leaderboard.trec.documents.docno_filter import DocnoFilter
from leaderboard.trec.qrels.packed import unpack_judgments
from leaderboard.trec.qrels.revision_inputs import RevisionInputs
from leaderboard.trec.runs.fingerprints import similarity

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it was written: what it belongs to, and what is wrong with it."""

    owner: str
    what: str

    def __str__(self) -> str:
        """Both in one line."""
        return f"{self.owner}: {self.what}"


Look = Callable[[Database, Any], Iterator[str]]
"""Checks one of the places of a check and returns its problems; raises Damaged as well."""


@dataclass(frozen=True, slots=True)
class DamageCheck:
    """One kind of stored data: its name, what a place of it is called, where its places are, how to look."""

    name: str
    owner: str
    places: Callable[[Database], Sequence[Any]]
    look: Look

    def damage(self, database: Database, place: Any) -> list[Damage]:
        """Damage at one place; anything that prevents reading it is damage too.

        Raises StoreAway: unavailable data may be intact.
        """
        owner = f"{self.owner} {place}" if place is not None else self.owner
        try:
            return [Damage(owner, what) for what in self.look(database, place)]
        except Damaged as error:
            return [
                Damage(
                    owner, f"{error.facts['what']}: {error.facts['why']}" if error.facts else error.message
                )
            ]
        except StoreAway:
            raise
        except Exception as error:
            # Bytes without a checksum can be wrong in ways that no reader was written for.
            log.debug("%s cannot be read", owner, exc_info=True)
            return [Damage(owner, f"{self.name} cannot be read ({type(error).__name__}: {error})")]


def _revisions(database: Database) -> Sequence[int]:
    with database.read() as session:
        return session.scalars(select(QrelsRevision.id).order_by(QrelsRevision.id)).all()


def _judgments(database: Database, revision_id: int) -> Iterator[str]:
    with database.read() as session:
        options = files.WHOLE
        revision = session.get(QrelsRevision, revision_id, options=options)
        if revision is None:
            # A draft that was given up since.
            return
        prepared = lines.stored(session, revision)
        lines.distractors_of(revision)
        left_out.of_revision(revision)
        if prepared.size != revision.judgments:
            yield f"it has {prepared.size:,} of {revision.judgments:,} judgments"
        if _differs(session, revision, prepared):
            yield "its packed judgments differ from its rows"
        if not lines.has_its_digest(session, revision):
            yield "its judgments do not match its digest"


def _differs(session: Session, revision: QrelsRevision, prepared: PreparedQrels) -> bool:
    """Whether rows and packed judgments differ; drafts and preferences have no rows."""
    if not lines.is_packed_whole(session.get_one(Qrels, revision.qrels_id)):
        return unpack_judgments(revision.packed) != prepared.judgments
    columns = Judgment.topic_id, Judgment.subtopic, Judgment.docno, Judgment.grade
    rows = session.execute(select(*columns).where(Judgment.revision_id == revision.id))
    stored_rows = {(topic, part, docno.encode(), grade) for topic, part, docno, grade in rows}
    return bool(stored_rows) and stored_rows != set(prepared.rows)


JUDGMENTS_CHECKS = (DamageCheck("judgments", "revision", _revisions, _judgments),)


def _snapshot(sha256: str, body: bytes) -> Iterator[str]:
    whole_body(sha256, body)
    yield from ()


def _edition(_: Edition) -> Iterator[str]:
    # Reading one raises where its checksum does not match.
    yield from ()


def _comparison(row: Statistic, result: bytes | None) -> Iterator[str]:
    if not row.is_whole:
        yield "the checksum of its content does not match"
    if result is not None:
        arrays.unpack(result)


def _documents(first: str, last: str, count: int, body: bytes) -> Iterator[str]:
    docnos = [document.docno for document in unpack_documents(body)]
    if (docnos[0], docnos[-1], len(docnos)) != (first, last, count):
        yield "its documents differ from their recorded range"


def _docnos(packed: bytes) -> Iterator[str]:
    DocnoFilter.bits(packed)
    yield from ()


def _pool(documents: int, body: bytes) -> Iterator[str]:
    # An adaptive pool has fewer judged than it has documents.
    if sum(document.grade is None for document in pool_documents.unpack(body)) < documents:
        yield "it has fewer documents than recorded"


def _log(sessions: int, body: bytes) -> Iterator[str]:
    if unpack_sessions(body).count != sessions:
        yield "its number of sessions differs from the recorded number"


def _picture(sha256: str, body: bytes) -> Iterator[str]:
    pictures.whole_body(sha256, body)
    yield from ()


def _answer(run_id: int, topic_id: str, body: bytes) -> Iterator[str]:
    answers.opened(run_id, topic_id, body)
    yield from ()


def _check(
    name: str, owner: str, key: tuple[Any, ...], columns: tuple[Any, ...], look: Any, has: Any = None
) -> DamageCheck:
    """The check of one kind of body: where the column `has` has one, these columns are checked."""
    is_there = (columns[-1] if has is None else has).is_not(None)

    def places(database: Database) -> Sequence[Any]:
        with database.read() as session:
            rows = session.execute(select(*key).where(is_there).order_by(*key)).all()
        return [row[0] if len(key) == 1 else tuple(row) for row in rows]

    def look_at(database: Database, place: Any) -> Iterator[str]:
        parts = (place,) if len(key) == 1 else place
        here = [column == part for column, part in zip(key, parts, strict=True)]
        with database.read() as session:
            row = session.execute(select(*columns).where(*here)).one_or_none()
        # A missing one has been withdrawn since: a pool's draft, a query log.
        return iter(()) if row is None else look(*row)

    return DamageCheck(name, owner, places, look_at)


KEPT_CHECKS = (
    _check("editions", "edition", (Edition.id,), (Edition,), _edition, Edition.id),
    _check("snapshots", "snapshot", (Snapshot.id,), (Snapshot.sha256, Snapshot.body), _snapshot),
    _check(
        "comparisons", "comparison", (Statistic.id,), (Statistic, Statistic.result), _comparison, Statistic.id
    ),
    _check(
        "documents",
        "document block",
        (DocumentBlock.id,),
        (DocumentBlock.first_docno, DocumentBlock.last_docno, DocumentBlock.count, DocumentBlock.body),
        _documents,
    ),
    _check("known docnos", "collection", (Collection.id,), (Collection.known_docnos,), _docnos),
    _check(
        "pools",
        "pool and topic",
        (PoolTopic.pool_id, PoolTopic.topic_id),
        (PoolTopic.documents, PoolTopic.body),
        _pool,
    ),
    _check(
        "answers",
        "answer of run and topic",
        (Answer.run_id, Answer.topic_id),
        (Answer.run_id, Answer.topic_id, Answer.body),
        _answer,
    ),
    _check("query logs", "query log", (ClickLog.id,), (ClickLog.sessions, ClickLog.body), _log),
    _check("pictures", "picture", (TaskPicture.id,), (TaskPicture.sha256, TaskPicture.body), _picture),
)


def _uploads(database: Database) -> Sequence[int]:
    with database.read() as session:
        return session.scalars(select(Upload.id).order_by(Upload.id)).all()


def _file(database: Database, upload_id: int) -> Iterator[str]:
    with database.read() as session:
        upload = session.get(Upload, upload_id)
        pieces = select(func.count()).where(UploadChunk.upload_id == upload_id)
        stored = session.scalar(pieces)
    if upload is None or (upload.state == "rejected" and not stored):
        return
    StoredFile(database, upload_id).require_whole(upload.sha256)
    yield from ()


def _runs(kind: RunKind, database: Database) -> Sequence[int]:
    with database.read() as session:
        runs = select(Run.id).join(Task, Task.id == Run.task_id).where(Task.kind == kind.name)
        return session.scalars(runs.order_by(Run.id)).all()


def _run_damage(kind: RunKind, database: Database, run_id: int) -> Iterator[str]:
    with database.read() as session:
        run = session.get_one(Run, run_id)
    # Its checksum is all there is to ask: versions had different hashes.
    similarity(run.sketch, run.sketch)
    yield from kind.damage(database, run)


def runs_checks() -> tuple[DamageCheck, ...]:
    """The checks of runs, of each kind in turn."""
    checks = (
        DamageCheck(kind.stored, "run", partial(_runs, kind), partial(_run_damage, kind))
        for kind in map(kinds.of, filter(kinds.is_known, kinds.KINDS))
    )
    return DamageCheck("submitted files", "upload", _uploads, _file), *checks


Key = tuple[int, int, int]
"""Revision, run, dialect: what one alignment and the scores by all measures rest on."""


def _keys(database: Database) -> Sequence[Key]:
    """Those of all stored scores and hits, revision by revision: its judgments are compiled once."""
    _inputs.cache_clear()
    kinds = (select(kind.revision_id, kind.run_id, kind.dialect) for kind in (Evaluation, Alignment))
    with database.read() as session:
        return sorted(tuple(row) for row in session.execute(union(*kinds)))  # type: ignore[misc]


def _stored(database: Database, key: Key) -> Iterator[str]:
    with database.read() as session:
        errors = list(damaged_scores(session, _of(Evaluation, key)))
        yield from (f"{error.facts['what']}: {error.facts['why']}" for error in errors)
        body = session.scalar(select(Alignment.body).where(_of(Alignment, key)))
    if not errors:
        yield from _wrong_means(database, key)
    if body is None:
        return
    inputs = _inputs(database, key[0])
    plan = Plan(key[2], (), False, inputs, revision_id=key[0])
    kinds.judged_by(inputs.kind).open_hits(key[1], plan, body)


def _wrong_means(database: Database, key: Key) -> Iterator[str]:
    """Means whose checksum does not match, or that are not those of the stored scores."""
    rows = (
        select(Evaluation, EvaluationMean)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(_of(Evaluation, key))
        .options(undefer(Evaluation.scores), undefer(Evaluation.parts))
    )
    with database.read() as session:
        for evaluation, mean in session.execute(rows):
            of_it = f"its mean {evaluation.measure} over topic set {mean.topic_set_id}"
            if not mean.is_whole:
                yield f"{of_it}: its checksum does not match"
            elif parse(evaluation.measure).measure.version == evaluation.measure_version:
                places = places_of(session, evaluation.revision_id, mean.topic_set_id)
                stored_mean = (mean.mean, mean.topics)
                if not any(aggregate(evaluation, chosen) == stored_mean for chosen in places):
                    yield f"{of_it} does not match its stored scores"


def _computed_again(database: Database, key: Key) -> Iterator[str]:
    revision_id, run_id, dialect = key
    with database.read() as session:
        run = session.get_one(Run, run_id)
    inputs = _inputs(database, revision_id)
    plan = Plan(dialect, (), False, inputs, run.ranking_sha256, revision_id)
    with database.read() as session:
        hits = session.scalar(select(Alignment.body).where(_of(Alignment, key)))
    wrong, again = kinds.judged_by(inputs.kind).again(database, run_id, plan, hits)
    yield from wrong
    yield from _all_differences(database, key, again)


def _all_differences(database: Database, key: Key, again: Again) -> Iterator[str]:
    """Differences between a run's stored data and its scores computed again."""
    evaluations = select(Evaluation).where(_of(Evaluation, key))
    with database.read() as session:
        for evaluation in session.scalars(
            evaluations.options(undefer(Evaluation.scores), undefer(Evaluation.parts))
        ):
            yield from _differences(evaluation, again)


def _differences(evaluation: Evaluation, again: Again) -> Iterator[str]:
    bound = parse(evaluation.measure)
    if bound.measure.version != evaluation.measure_version:
        # Scores of an earlier version are unchanged; this program cannot compute them.
        return
    scores, parts = again(bound)
    if scores.tobytes() != evaluation.scores.tobytes():
        yield f"its recomputed {bound.key} scores differ"
    kept = evaluation.parts
    if (parts is None) != (kept is None) or (
        parts is not None and kept is not None and parts.tobytes() != kept.tobytes()
    ):
        yield f"the recomputed parts of its {bound.key} differ"


@lru_cache(maxsize=1)
def _inputs(database: Database, revision_id: int) -> RevisionInputs:
    """Inputs of the scores under a revision; keys of one revision must follow each other."""
    with database.read() as session:
        return files.inputs(session, revision_id)


def _of(kind: type[Evaluation] | type[Alignment], key: Key) -> ColumnElement[bool]:
    return tuple_(kind.revision_id, kind.run_id, kind.dialect) == key


SCORES_CHECKS = (DamageCheck("scores and hits", "revision, run, dialect", _keys, _stored),)
AGAIN = (DamageCheck("scores computed again", "revision, run, dialect", _keys, _computed_again),)


def _sqlite(database: Database) -> Sequence[None]:
    """One place on SQLite; PostgreSQL checks its pages and references itself."""
    return [None] if database.is_sqlite else []


def _pages(database: Database, _: None) -> Iterator[str]:
    with database.read() as session:
        for row in session.execute(text("PRAGMA integrity_check(100)")):
            if row[0] != "ok":
                yield str(row[0])


def _references(database: Database, _: None) -> Iterator[str]:
    with database.read() as session:
        for table, row_id, referred, _number in session.execute(text("PRAGMA foreign_key_check")):
            yield f"row {row_id} of {table} refers to a missing row of {referred}"


def _acts(database: Database, _: None) -> Iterator[str]:
    with database.read() as session:
        chain = audit.verify(session)
    if chain.broken_at is not None:
        yield f"row {chain.broken_at} does not follow from the row before it: one of them was changed"


WHOLE_CHECKS = (
    DamageCheck("pages and indexes", "the database", _sqlite, _pages),
    DamageCheck("references", "the database", _sqlite, _references),
    DamageCheck("audit log", "the audit log", lambda _: [None], _acts),
)


def all_checks(*, with_scores: bool = False) -> tuple[DamageCheck, ...]:
    """The checks of every kind of stored data; with_scores also computes scores again from rankings."""
    every = (*WHOLE_CHECKS, *runs_checks(), *JUDGMENTS_CHECKS, *SCORES_CHECKS, *KEPT_CHECKS)
    return (*every, *AGAIN) if with_scores else every
