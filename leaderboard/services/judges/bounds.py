"""What holds at least of judges' τ_b, where it takes too long for a page: computed by an evaluator, and kept.

SciPy is not needed here: evaluators import this module.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, QrelsRevision, Run
from leaderboard.services.evaluations.shown import Source, source_of
from leaderboard.services.judges import references, store
from leaderboard.services.judges.agreements import least_of
from leaderboard.services.judges.field import over_topics
from leaderboard.services.phase_rules import ALL_TOPICS
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.requests import Request, WaitingResult
from leaderboard.stats.arrays import Arrays

PROCEDURE = "judges"
MEASURE, VERSION = "BoardTau", 1


def is_slow(judges: int, runs: int, topics: int) -> bool:
    """Whether judges of a reference of so many runs and topics are not for a page to wait for."""
    return judges * (runs**2 * 3e-5 + runs * topics * 5e-6 + 2e-3) > requests.AT_ONCE_S


def needed(session: Session, edition: Edition, phase_id: int) -> list[Request]:
    """The request for the runs of a phase, where their page would wait for it."""
    query = select(Run.id, Run.ranking_sha256).where(Run.phase_id == phase_id, Run.withdrawn_at.is_(None))
    runs = {run_id: sha256 for run_id, sha256 in session.execute(query)}
    revision = session.get_one(QrelsRevision, edition.revision_id)
    shape = references.of_revision(session, revision.id).reference.scores.shape
    if not runs or not is_slow(len(runs), *shape):
        return []
    # Their page is read by organisers, and by others after the close: of all topics.
    return [request_of(source_of(edition, revision, ALL_TOPICS), runs)]


def request_of(source: Source, runs: Mapping[int, str]) -> Request:
    """The request for all judges of an edition; runs: id -> digest of what was sent."""
    ids = tuple(sorted(runs))
    rankings = tuple(runs[run_id] for run_id in ids)
    return Request(PROCEDURE, "", source, MEASURE, VERSION, ids, rankings)


def find(
    session: Session, source: Source, runs: Mapping[int, str]
) -> Mapping[int, float | None] | WaitingResult:
    """Run id -> what holds at least, None where nothing can be said; or how far it is; one statement."""
    request = request_of(source, runs)
    found = requests.find(session, request)
    if isinstance(found, WaitingResult):
        return found
    pairs = zip(request.run_ids, found["least"].tolist(), strict=True)
    return {run_id: None if np.isnan(least) else least for run_id, least in pairs}


def compute(
    session: Session, source: Source, run_ids: Sequence[int], progress: Callable[[float], None]
) -> Arrays:
    """Least: (judges,), nan where nothing can be said, in the order of the ids."""
    edition = session.get_one(Edition, source.edition_id)
    reference = over_topics(references.of_revision(session, source.revision_id).reference, source.topics)
    names = session.execute(select(Run.id, Run.name).where(Run.id.in_(run_ids)))
    boards = store.of_runs(session, [(row.id, row.name) for row in names], edition)
    least = np.full(len(run_ids), np.nan)
    for at, run_id in enumerate(run_ids):
        if (kept := boards.get(run_id)) is not None:
            found = least_of(kept.board, kept.primary, reference)
            least[at] = np.nan if found is None else found
        progress((at + 1) / len(run_ids))
    return {"least": least}
