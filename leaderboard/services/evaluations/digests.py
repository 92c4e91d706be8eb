"""Under which digest something that was computed from one run is kept."""

import hashlib
import json

from leaderboard.services.evaluations.shown import Source


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
