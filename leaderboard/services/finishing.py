"""The end of an evaluation: its scores stored, its job done and the board settled, in one transaction."""

from sqlalchemy.orm import Session

from leaderboard.services.evaluations import editions, score
from leaderboard.services.jobs import queue
from leaderboard.services.jobs.queue import Claim
from leaderboard.services.kinds import RunScores
from leaderboard.services.statistics import prepared
from leaderboard.services.webhooks import webhooks


def finish(session: Session, claim: Claim, scored: RunScores) -> None:
    """Store what came of an evaluation; raises ClaimLost where its lease was lost, and nothing is stored."""
    assert claim.edition_id is not None, "an evaluation belongs to an edition"
    queue.finish(session, claim)
    score.store(session, claim.subject_id, claim.edition_id, scored)
    if scored.by_measure:
        # Where nothing was missing but a mean, the run was scored before.
        webhooks.run_scored(session, claim.subject_id, claim.edition_id)
    editions.settle(session, claim.edition_id)
    prepared.prepare(session, editions.task_of(session, claim.edition_id))
