"""Scores of runs under unpublished judgments, from stored rankings.

SciPy is not needed here: evaluators import this module.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.db.tables import Qrels, QrelsRevision, Task
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.qrels import files, lines
from leaderboard.scoring.ops.qrels.files import COMPANIONS, MAIN, newest
from leaderboard.scoring.ops.rankings import blocks_of
from leaderboard.stats.arrays import Arrays
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.revision_inputs import RevisionInputs, compiled_inputs, pack_subtopics

PROCEDURE = "revision"
ENTRY_S = 3e-7
"""Estimated time per ranked document for reading, sorting and lookup."""
DEEP = 1000
"""Assumed length of a ranking if only the numbers of runs and topics are known."""


@dataclass(frozen=True, slots=True)
class DraftInputs:
    """The basis of the scores, and its digest."""

    inputs: RevisionInputs
    sha256: str


def seconds(runs: int, topics: int) -> float:
    """Estimated time on one core."""
    return runs * topics * DEEP * ENTRY_S


def draft_inputs(session: Session, revision_id: int) -> DraftInputs:
    """The basis of the scores if a draft were published now."""
    revision = session.get_one(QrelsRevision, revision_id, options=files.WHOLE)
    line = session.get_one(Qrels, revision.qrels_id)
    board = newest(session, line.task_id)
    main = session.scalar(select(Qrels.kind).where(Qrels.task_id == line.task_id, Qrels.name == MAIN))
    prepared = lines.stored(session, revision)
    current = files.inputs(session, board.id) if board is not None else RevisionInputs(b"")
    if line.kind in COMPANIONS and line.kind != main and board is not None:
        is_subtopic = line.kind == "subtopic"
        draft = replace(
            current,
            subtopics=revision.packed if is_subtopic else current.subtopics,
            preferences=current.preferences if is_subtopic else revision.packed,
        )
    else:
        subtopics = pack_subtopics(prepared.subtopics) if line.kind == "subtopic" else current.subtopics
        draft = replace(
            current,
            judgments=prepared.packed,
            subtopics=subtopics,
            distractors=revision.distractors,
            left_out=revision.left_out,
        )
    parts = [draft.judgments, draft.subtopics, draft.preferences, draft.distractors]
    parts += [] if draft.left_out is None else [draft.left_out]
    digests = [hashlib.sha256(part or b"").digest() for part in parts]
    return DraftInputs(draft, hashlib.sha256(b"".join(digests)).hexdigest())


def compute(
    session: Session,
    revision_id: int,
    run_ids: Sequence[int],
    measure: str,
    dialect: int,
    progress: Callable[[float], None],
) -> Arrays:
    """The value of every run by a measure under a draft, over all topics that count, as `value`, (runs,).

    Where the draft leaves documents out, `left_out`, (runs,), is how many of them each run has.
    """
    compiled = compiled_inputs(draft_inputs(session, revision_id).inputs)
    judged = list(compiled.judgments.topics)
    task_id = session.scalars(
        select(Task.id)
        .join(Qrels, Qrels.task_id == Task.id)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(QrelsRevision.id == revision_id)
    ).one()
    counted = set(editions.topic_sets(session, task_id, judged)[ALL_TOPICS]["topics"])
    chosen = np.array([place for place, topic in enumerate(judged) if topic in counted], dtype=np.int64)
    bound = parse(measure)
    values = np.zeros(len(run_ids), dtype=np.float64)
    left_out = np.zeros(len(run_ids), dtype=np.int64)
    for done, run_id in enumerate(run_ids):
        aligner = Aligner(compiled, dialect=dialect)
        for block in blocks_of(session, run_id):
            aligner.add(block)
        seen, left_out[done] = aligner.judged(), aligner.left_out
        scores, parts = bound.compute(seen), bound.parts(seen)
        if len(chosen):
            values[done] = bound.aggregate(scores[chosen], None if parts is None else parts[:, chosen])
        progress((done + 1) / len(run_ids))
    return {"value": values} if compiled.left_out is None else {"value": values, "left_out": left_out}
