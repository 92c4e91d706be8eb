"""Scores of a judge's stored board against the reference in a revision.

SciPy is not imported here because evaluators import this module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.core.kinds import Again, MeasureScores, Plan, RunScores
from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, QrelsRevision, Run, Task
from leaderboard.errors import Conflict, Invalid, NotFound
from leaderboard.judges.ops import sending, store
from leaderboard.judges.ops.field import over_topics
from leaderboard.judges.ops.labels import run_sources
from leaderboard.judges.ops.labels.run_sources import RunSource
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.judges.registry import AgreedTopics, parse
from leaderboard.scoring.ops.agreements import least_of
from leaderboard.scoring.ops.evaluations.shown import Source, source_of
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import Request, WaitingResult
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.judges import topic_agreement
from leaderboard.trec.boards.align import Reference, align
from leaderboard.trec.boards.judge_labels import KeptLabels
from leaderboard.trec.boards.packing import KeptBoard, KeptReference, pack_board


def compute(database: Database, run_id: int, plan: Plan) -> RunScores:
    """All missing scores of the run, by the measures of a plan; raises Damaged."""
    reference, board = _both(plan, _sent(database, run_id, plan), RunSource(database))
    packed = pack_board(board) if plan.lacks_hits and board is not None else None
    return RunScores(scores(reference, board, [measure["key"] for measure in plan.missing]), packed)


def again(database: Database, run_id: int, plan: Plan, stored: bytes | None) -> tuple[Sequence[str], Again]:
    """The problem with the stored board of labels, and a function to compute scores again; raises Damaged."""
    reference, board = _both(plan, _sent(database, run_id, plan), RunSource(database))

    def of(bound: BoundMeasure) -> tuple[FloatArray, FloatArray | None]:
        measure_scores = scores(reference, board, [bound.key])[bound.key]
        return measure_scores.scores, measure_scores.parts

    if stored is None or (board is not None and board.sha256 == store.opened(run_id, stored).sha256):
        return (), of
    return ["the board that its labels make comes out differently"], of


def scores(reference: Reference, kept: KeptBoard | None, keys: Iterable[str]) -> dict[str, MeasureScores]:
    """Key -> scores on the reference's topics in byte order.

    They are all nan if the board lacks a run, and without a board.
    """
    order = sorted(range(len(reference.topics)), key=lambda place: reference.topics[place].encode())
    agreed = agreed_topics(reference, kept) if kept is not None else None
    by_measure = {}
    for key in keys:
        bound = parse(key)
        if agreed is None:
            by_measure[bound.key] = _unknown(bound, reference)
            continue
        values = bound.measure.compute(agreed)[order]
        parts = bound.measure.parts(agreed)[:, order] if bound.measure.parts is not None else None
        by_measure[bound.key] = MeasureScores(values, parts)
    return by_measure


def agreed_topics(reference: Reference, kept: KeptBoard) -> AgreedTopics | None:
    """A judge's board next to the reference; None if it lacks a run, or has no values by topic."""
    aligned = align(kept.board, kept.primary, reference)
    if aligned.missing or not len(aligned.topics):
        return None
    judge = np.full(reference.scores.shape, np.nan)
    judge[:, aligned.topics] = aligned.scores
    shared = reference.scores[:, aligned.topics]
    tau_b, accuracy = np.full((2, len(reference.topics)), np.nan)
    tau_b[aligned.topics] = topic_agreement(shared, aligned.scores, "tau_b")
    accuracy[aligned.topics] = topic_agreement(shared, aligned.scores, "accuracy")
    return AgreedTopics(reference.scores, judge, tau_b, accuracy)


def of_edition(session: Session, task: Task, revision: QrelsRevision) -> list[dict[str, Any]]:
    """The measures of an edition; those by topic with the topics on which the reference ties all runs."""
    reference = sending.of_revision(session, revision.id).reference
    by_topic = zip(reference.topics, reference.scores.T, strict=True)
    tied = [topic for topic, values in by_topic if not np.ptp(values)]
    left_out = {"topics": tied, "boards": list[str]()}
    return [
        {
            "key": key,
            "version": parse(key).measure.version,
            "left_out": left_out[getattr(parse(key).measure, "agreement", "topics")],
        }
        for key in task.measures
    ]


def _unknown(bound: BoundMeasure, reference: Reference) -> MeasureScores:
    nothing = np.full(len(reference.topics), np.nan)
    shape = (2 * len(reference.runs), len(reference.topics))
    return MeasureScores(nothing, np.zeros(shape) if bound.measure.parts is not None else None)


def _sent(database: Database, run_id: int, plan: Plan) -> store.Sent:
    """A judge's submission.

    For labels of runs on another site, this is the board that they made there.
    """
    with database.read() as session:
        sent = store.sent_labels(session, run_id)
        if sent is None:
            raise NotFound(f"The submission of run {run_id} is missing.")
        if isinstance(sent, KeptBoard) or _reference(plan).origin is not None:
            return sent
        return store.made(session, run_id, plan.revision_id, plan.dialect) or sent


def _reference(plan: Plan) -> KeptReference:
    with belonging_to(plan.inputs.name):
        return sending.opened_reference(plan.inputs.judgments)


def _both(plan: Plan, sent: store.Sent, runs: RunSource) -> tuple[Reference, KeptBoard | None]:
    """The reference and a judge's board; None for labels if the reference has no runs to score."""
    kept = _reference(plan)
    try:
        return kept.reference, _board(runs, kept, sent)
    except (Conflict, Invalid):
        # Another reference was chosen since: the judge has no rank under it, as if it lacked a run.
        return kept.reference, None


def _board(runs: RunSource, kept: KeptReference, sent: store.Sent) -> KeptBoard:
    if isinstance(sent, KeptBoard):
        return sent
    if isinstance(sent, KeptLabels):
        return run_sources.documents_board_of(runs, kept, sent)
    return run_sources.answers_board_of(runs, kept, sent)


PROCEDURE = "judges"
MEASURE, VERSION = "BoardTau", 1


def is_slow(judges: int, runs: int, topics: int) -> bool:
    """Whether judges of a reference with this many runs and topics take too long for a page."""
    return judges * (runs**2 * 3e-5 + runs * topics * 5e-6 + 2e-3) > requests.AT_ONCE_S


def needed(session: Session, edition: Edition, phase_id: int) -> list[Request]:
    """The computation request for the runs of a phase, if their page would have to wait for it."""
    query = select(Run.id, Run.ranking_sha256).where(Run.phase_id == phase_id, Run.withdrawn_at.is_(None))
    runs = {run_id: sha256 for run_id, sha256 in session.execute(query)}
    revision = session.get_one(QrelsRevision, edition.revision_id)
    shape = sending.of_revision(session, revision.id).reference.scores.shape
    if not runs or not is_slow(len(runs), *shape):
        return []
    # Their page is read by organisers, and by others after the close, so it covers all topics.
    return [request_of(source_of(edition, revision, ALL_TOPICS), runs)]


def request_of(source: Source, runs: Mapping[int, str]) -> Request:
    """The computation request for all judges of an edition; runs: id -> digest of the submission."""
    ids = tuple(sorted(runs))
    rankings = tuple(runs[run_id] for run_id in ids)
    return Request(PROCEDURE, "", source, MEASURE, VERSION, ids, rankings)


def find_bounds(
    session: Session, source: Source, runs: Mapping[int, str]
) -> Mapping[int, float | None] | WaitingResult:
    """Run id -> lower bound, None if undefined; or the progress; one statement."""
    request = request_of(source, runs)
    bounds = requests.find(session, request)
    if isinstance(bounds, WaitingResult):
        return bounds
    pairs = zip(request.run_ids, bounds["least"].tolist(), strict=True)
    return {run_id: None if np.isnan(least) else least for run_id, least in pairs}


def compute_bounds(
    session: Session, source: Source, run_ids: Sequence[int], progress: Callable[[float], None]
) -> Arrays:
    """Lower bounds: (judges,), nan if undefined, in the order of the ids."""
    edition = session.get_one(Edition, source.edition_id)
    reference = over_topics(sending.of_revision(session, source.revision_id).reference, source.topics)
    names = session.execute(select(Run.id, Run.name).where(Run.id.in_(run_ids)))
    boards = store.of_runs(session, [(row.id, row.name) for row in names], edition)
    least = np.full(len(run_ids), np.nan)
    for at, run_id in enumerate(run_ids):
        if (kept := boards.get(run_id)) is not None:
            bound = least_of(kept.board, kept.primary, reference)
            least[at] = np.nan if bound is None else bound
        progress((at + 1) / len(run_ids))
    return {"least": least}
