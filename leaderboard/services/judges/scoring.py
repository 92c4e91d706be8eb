"""Scores of a judge's stored board against the reference that a revision is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from leaderboard.checksums import belonging_to
from leaderboard.db.engine import Database
from leaderboard.errors import Conflict, Invalid, NotFound
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.judges.record import AgreedTopics
from leaderboard.measures.judges.registry import parse
from leaderboard.services.evaluations.plans import MeasureScores, Plan, RunScores
from leaderboard.services.judges import references, store
from leaderboard.services.judges.labels import answers, documents
from leaderboard.services.judges.labels.run_sources import RunSource
from leaderboard.stats.judges.by_topic import topic_agreement
from leaderboard.trec.boards.align import Reference, align
from leaderboard.trec.boards.labels import KeptLabels
from leaderboard.trec.boards.packing import KeptBoard, KeptReference, pack_board


def compute(database: Database, run_id: int, plan: Plan) -> RunScores:
    """All scores that the run lacks, by the measures of a plan; raises Damaged."""
    reference, board = _both(plan, _said(database, run_id, plan), RunSource(database))
    made = pack_board(board) if plan.lacks_hits and board is not None else None
    return RunScores(scores(reference, board, [measure["key"] for measure in plan.missing]), made)


def again(
    database: Database, run_id: int, plan: Plan
) -> Callable[[BoundMeasure], tuple[FloatArray, FloatArray | None]]:
    """What computes a run's scores by a measure anew, from its stored board; raises Damaged."""
    reference, board = _both(plan, _said(database, run_id, plan), RunSource(database))

    def of(bound: BoundMeasure) -> tuple[FloatArray, FloatArray | None]:
        found = scores(reference, board, [bound.key])[bound.key]
        return found.scores, found.parts

    return of


def differing(database: Database, run_id: int, plan: Plan, stored: bytes) -> Iterator[str]:
    """Where the stored board of a judge's labels is not the one that they make again; raises Damaged."""
    _, board = _both(plan, _said(database, run_id, plan), RunSource(database))
    if board is None or board.sha256 != store.opened(run_id, stored).sha256:
        yield "the board that its labels make comes out differently"


def scores(reference: Reference, kept: KeptBoard | None, keys: Iterable[str]) -> dict[str, MeasureScores]:
    """Key -> scores on the reference's topics in byte order.

    They are nan throughout where the board lacks a run, and where there is none.
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
    """A judge's board beside the reference; None where it lacks a run, or has no values by topic."""
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


def measures(reference: Reference, keys: Sequence[str]) -> list[dict[str, Any]]:
    """The measures of an edition; those by topic with the topics on which the reference ties all runs."""
    by_topic = zip(reference.topics, reference.scores.T, strict=True)
    tied = [topic for topic, values in by_topic if not np.ptp(values)]
    left_out = {"topics": tied, "boards": list[str]()}
    return [
        {
            "key": key,
            "version": parse(key).measure.version,
            "left_out": left_out[getattr(parse(key).measure, "agreement", "topics")],
        }
        for key in keys
    ]


def _unknown(bound: BoundMeasure, reference: Reference) -> MeasureScores:
    nothing = np.full(len(reference.topics), np.nan)
    shape = (2 * len(reference.runs), len(reference.topics))
    return MeasureScores(nothing, np.zeros(shape) if bound.measure.parts is not None else None)


def _said(database: Database, run_id: int, plan: Plan) -> store.Sent:
    """What a judge sent.

    Where it is labels of runs that are on another site, the board that they made there is theirs.
    """
    with database.read() as session:
        sent = store.sent(session, run_id)
        if sent is None:
            raise NotFound(f"What run {run_id} said is gone.")
        if isinstance(sent, KeptBoard) or _reference(plan).origin is not None:
            return sent
        return store.made(session, run_id, plan.revision_id, plan.dialect) or sent


def _reference(plan: Plan) -> KeptReference:
    with belonging_to(plan.inputs.name):
        return references.opened(plan.inputs.judgments)


def _both(plan: Plan, sent: store.Sent, runs: RunSource) -> tuple[Reference, KeptBoard | None]:
    """The reference and a judge's board; None of labels where the reference has no runs to score by them."""
    kept = _reference(plan)
    try:
        return kept.reference, _board(runs, kept, sent)
    except (Conflict, Invalid):
        # Another reference was chosen since: the judge has no rank under it, as one that lacks a run.
        return kept.reference, None


def _board(runs: RunSource, kept: KeptReference, sent: store.Sent) -> KeptBoard:
    if isinstance(sent, KeptBoard):
        return sent
    if isinstance(sent, KeptLabels):
        return documents.board_of(runs, kept, sent)
    return answers.board_of(runs, kept, sent)
