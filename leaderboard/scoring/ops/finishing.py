"""Completion of an evaluation: store scores, finish job and update board in one transaction."""

from sqlalchemy.orm import Session

from leaderboard.core import events
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.queue import Claim
from leaderboard.core.kinds import RunScores
from leaderboard.scoring.ops.evaluations import editions, score
from leaderboard.scoring.ops.statistics import prepared


def finish(session: Session, claim: Claim, scored: RunScores) -> None:
    """Store the results of an evaluation; raises ClaimLost without storing if the lease was lost."""
    assert claim.edition_id is not None, "an evaluation belongs to an edition"
    queue.finish(session, claim)
    score.store(session, claim.subject_id, claim.edition_id, scored)
    if scored.by_measure:
        # If only a mean was missing, the run was scored before.
        for listener in events.LISTENERS:
            listener.run_scored(session, claim.subject_id, claim.edition_id)
    editions.settle(session, claim.edition_id)
    prepared.prepare(session, editions.task_of(session, claim.edition_id))
