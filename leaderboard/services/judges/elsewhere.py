"""Judges scored on another machine: what a worker is given for it, and a look at what it hands in.

Labels need all runs of the task that the reference is from, which the worker's token is not for. They are
given where everybody may have their files; else the site scores labels by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Job, JudgeBoard, Run, Task
from leaderboard.errors import Damaged, Forbidden, NotFound
from leaderboard.measures.judges.registry import parse
from leaderboard.services import shown_names
from leaderboard.services.evaluations.score import MeasureScores, Plan, RunScores
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import Claim
from leaderboard.services.judges import references, store
from leaderboard.services.judges.labels import run_sources
from leaderboard.services.judges.labels.run_sources import ReferenceBasis
from leaderboard.trec.boards.align import Reference
from leaderboard.trec.boards.packing import BOARD_MAGIC, Origin


@dataclass(frozen=True, slots=True)
class SentJudge:
    """What a judge sent, as it is stored; basis: what labels score the reference's runs with."""

    body: bytes
    basis: ReferenceBasis | None


def given(session: Session, task_id: int) -> ColumnElement[bool]:
    """Which evaluations of a task of judges a worker elsewhere may have: not all labels, see above."""
    labels = store.with_labels(task_id)
    waiting = (
        select(Job.edition_id)
        .join(Edition, Edition.id == Job.edition_id)
        .where(Edition.task_id == task_id, Job.kind == queue.EVALUATE, Job.state == "queued")
        .where(Job.subject_id.in_(labels))
        .distinct()
    )
    held = [edition for edition in session.scalars(waiting) if edition and not _is_open(session, edition)]
    return or_(Job.edition_id.not_in(held), Job.subject_id.not_in(labels))


def sent(session: Session, claim: Claim) -> bytes:
    """What the judge of a job sent, as bytes.

    Raises NotFound where it is gone, Conflict where a run of the reference is, and Forbidden for labels where
    not everybody may have these runs.
    """
    body = session.scalar(select(JudgeBoard.body).where(JudgeBoard.run_id == claim.subject_id))
    if body is None:
        raise NotFound(f"What run {claim.subject_id} said is gone.")
    is_board = body.startswith(BOARD_MAGIC)
    basis = None if is_board else run_sources.basis(session, _open_origin(session, claim))
    return msgspec.msgpack.encode(SentJudge(body, basis))


def opened(packed: bytes) -> SentJudge:
    """What `sent` gave."""
    return msgspec.msgpack.decode(packed, type=SentJudge)


def require_needed(session: Session, claim: Claim, run_id: int) -> None:
    """Raise NotFound where a job needs nothing of the run, Forbidden where not everybody may have it."""
    is_labels = store.has_labels(session, claim.subject_id)
    if not is_labels or run_id not in _open_origin(session, claim).run_ids:
        raise NotFound(f"Job {claim.job_id} needs nothing of run {run_id}.", run=run_id)


def misfits(plan: Plan, scored: RunScores) -> Iterator[str]:
    """What a result says that no judge of the plan's reference can have; nothing where it fits."""
    reference = references.opened(plan.inputs.judgments).reference
    if scored.hits is not None:
        yield from _misfits_of_board(reference, scored.hits)
    has_scores = any(not np.isnan(of.scores).all() for of in scored.by_measure.values())
    if plan.lacks_hits and scored.hits is None and has_scores:
        yield "has scores of labels that made no board."
    for key, of in scored.by_measure.items():
        yield from _misfits_of_parts(reference, key, of)


def _is_open(session: Session, edition_id: int) -> bool:
    """Whether everybody may have the files of the runs of an edition's reference, if it has any here."""
    revision_id = session.get_one(Edition, edition_id).revision_id
    origin = references.of_revision(session, revision_id).origin
    task = session.get(Task, origin.task_id) if origin is not None else None
    if origin is None or task is None:
        return False
    runs = session.scalars(select(Run).where(Run.id.in_(origin.run_ids))).all()
    is_whole = len(runs) == len(set(origin.run_ids))
    return is_whole and shown_names.are_open_to_all(session, task, runs)


def _open_origin(session: Session, claim: Claim) -> Origin:
    assert claim.edition_id is not None, "an evaluation belongs to an edition"
    edition = session.get_one(Edition, claim.edition_id)
    origin = references.of_revision(session, edition.revision_id).origin
    if origin is None or not _is_open(session, edition.id):
        raise Forbidden("Not everybody may have the runs of the reference any more: the site scores labels.")
    return origin


def _misfits_of_board(reference: Reference, hits: bytes) -> Iterator[str]:
    try:
        kept = store.opened(0, hits)
        values = kept.board.values[reference.measure]
        cells = [value for row in values.values() for value in row.values()]
        is_finite = bool(np.isfinite(np.array(cells, dtype=np.float64)).all())
    except (Damaged, KeyError, ValueError, TypeError, AttributeError):
        yield "has a board that cannot be read."
        return
    topics = {topic for row in values.values() for topic in row}
    if kept.primary != reference.measure or not is_finite:
        yield "has a board by another measure, or a value that is no finite number."
    if {*kept.board.runs, *values} - {*reference.runs} or {*kept.board.topics, *topics} - {*reference.topics}:
        yield "has a board of other runs or topics than the reference's."


def _misfits_of_parts(reference: Reference, key: str, of: MeasureScores) -> Iterator[str]:
    has_parts = parse(key).measure.parts is not None
    shape = (2 * len(reference.runs), len(reference.topics)) if has_parts else None
    if (None if of.parts is None else of.parts.shape) != shape:
        yield f"has not what {key} is made of over all topics."
    elif of.parts is not None and not np.isfinite(of.parts).all():
        yield f"has parts of {key} that are no finite numbers."
